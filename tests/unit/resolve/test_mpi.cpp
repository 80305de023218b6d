// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <map>

#include "tfd/resolve/mpi.hpp"

using namespace tfd;
using namespace tfd::resolve;

namespace {

using Files = std::map<std::string, std::string>;
using Values = std::map<std::string, std::string, std::less<>>;

ResolverEnvironment around(Values values, std::string hostname, Files files = {}) {
  ResolverEnvironment out;
  out.env = Environment(std::move(values));
  out.hostname = std::move(hostname);
  out.load_file = [files](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return fail(Code::kNotFound, "cannot open {}", path);
    return found->second;
  };
  return out;
}

Values open_mpi(int rank, int size, int local, int local_size, Values more = {}) {
  more.merge(Values{{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
                    {"OMPI_COMM_WORLD_SIZE", std::to_string(size)},
                    {"OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(local)},
                    {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(local_size)}});
  return more;
}

std::string spec_or_error(const Result<cluster::ClusterConfig>& config) {
  if (!config) return config.error().message;
  return cluster_spec_to_json(config->cluster) + (config->task ? " " + format_task(*config->task) : "");
}

constexpr const char* kHint = "give --hostfile FILE with a line 'HOST slots=N' for each host, in mpirun's order";

}  // namespace

TEST_CASE("mpi: all ranks around one are on the loopback") {
  MpiOptions options;
  options.port_base = 7000;
  options.jobs = {{"worker", 2}, {"chief", 1}};
  CHECK(spec_or_error(resolve_mpi(around(open_mpi(2, 3, 2, 3), "h1"), options)) ==
        R"({"chief": ["127.0.0.1:7000"], "worker": ["127.0.0.1:7001", "127.0.0.1:7002"]} worker:1)");
}

TEST_CASE("mpi: Hydra's variables, Intel's and MVAPICH's, and PMIx alone") {
  MpiOptions options;
  options.port_base = 1;
  const std::string expected = R"({"worker": ["127.0.0.1:1", "127.0.0.1:2"]} worker:1)";
  CHECK(spec_or_error(resolve_mpi(
            around({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}}, "h1"),
            options)) == expected);
  CHECK(spec_or_error(resolve_mpi(around({{"MV2_COMM_WORLD_RANK", "1"},
                                          {"MV2_COMM_WORLD_SIZE", "2"},
                                          {"MV2_COMM_WORLD_LOCAL_RANK", "1"},
                                          {"MV2_COMM_WORLD_LOCAL_SIZE", "2"}},
                                         "h1"),
                                  options)) == expected);
  CHECK(spec_or_error(resolve_mpi(around({{"PMIX_RANK", "1"}}, "h1"), options)) ==
        "PMIX_RANK gives the rank, but nothing gives the number of ranks: give --jobs");
  options.hostfile = "hosts";
  CHECK(spec_or_error(resolve_mpi(around({{"PMIX_RANK", "1"}}, "b", {{"hosts", "a\nb\n"}}), options)) ==
        R"({"worker": ["a:1", "b:1"]} worker:1)");
}

TEST_CASE("mpi: ranks fill the slots of a hostfile in order") {
  MpiOptions options;
  options.hostfile = "hosts";
  options.port_base = 5000;
  for (const char* hosts : {"# two\na slots=2 max-slots=8\n\nb.example slots=4  # more\n", "a:2\nb.example:2\n",
                            "a\na\nb.example\nb.example", "me@a cpu=2\r\nb.example count=2\r\n"}) {
    CAPTURE(hosts);
    CHECK(spec_or_error(resolve_mpi(around(open_mpi(2, 4, 0, 2), "b", {{"hosts", hosts}}), options)) ==
          R"({"worker": ["a:5000", "a:5001", "b.example:5000", "b.example:5001"]} worker:2)");
  }
  CHECK(spec_or_error(resolve_mpi(around(open_mpi(0, 2, 0, 2), "h", {{"hosts", "::1 slots=2"}}), options)) ==
        R"({"worker": ["[::1]:5000", "[::1]:5001"]} worker:0)");
}

TEST_CASE("mpi: the batch system's lists of hosts") {
  MpiOptions options;
  options.port_base = 1;
  const std::string expected = R"({"worker": ["a:1", "a:2", "b:1"]} worker:2)";
  const auto check = [&](Values more, Files files = {}) {
    CHECK(spec_or_error(resolve_mpi(around(open_mpi(2, 3, 0, 1, std::move(more)), "b", std::move(files)), options)) ==
          expected);
  };
  check({{"PBS_NODEFILE", "/pbs"}}, {{"/pbs", "a\na\nb\nb\n"}});
  check({{"LSB_DJOB_HOSTFILE", "/lsf"}, {"LSB_MCPU_HOSTS", "x 9"}}, {{"/lsf", "a\na\nb\n"}});
  check({{"LSB_MCPU_HOSTS", "a 2 b 2"}});
  check({{"PE_HOSTFILE", "/sge"}}, {{"/sge", "a 2 q@a UNDEFINED\nb 1 q@b UNDEFINED\n"}});
  check({{"SLURM_JOB_NODELIST", "a,b"}, {"SLURM_TASKS_PER_NODE", "2,1"}});
  // The view of a rank that mpirun's daemon started, which srun started once on each node.
  check({{"SLURM_JOB_NODELIST", "a,b"},
         {"SLURM_TASKS_PER_NODE", "1(x2)"},
         {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
         {"SLURM_JOB_CPUS_PER_NODE", "2(x2)"},
         {"SLURM_PROCID", "1"}});
}

TEST_CASE("mpi: a rank that isn't where the slots put it says both") {
  MpiOptions options;
  options.hostfile = "hosts";
  const Files files{{"hosts", "a slots=2\nb slots=2\n"}};
  CHECK(
      spec_or_error(resolve_mpi(around(open_mpi(1, 4, 0, 2), "b", files), options)) ==
      std::string("rank 1 should be on a by the slots of --hostfile, but runs on b: use mpirun's --map-by slot, or ") +
          kHint);
  CHECK(spec_or_error(resolve_mpi(around(open_mpi(1, 4, 0, 2), "a", files), options)) ==
        std::string("rank 1 should be number 1 on a by the slots of --hostfile, but its local rank is 0: use mpirun's "
                    "--map-by slot, or ") +
            kHint);
  CHECK(spec_or_error(resolve_mpi(around(open_mpi(0, 3, 0, 1), "a", files), options)) ==
        std::string("2 ranks should be on a by the slots of --hostfile, but 1 are: ") + kHint);
}

TEST_CASE("mpi: what can't be known, or doesn't add up, is one clear error") {
  MpiOptions options;
  CHECK(spec_or_error(resolve_mpi(around({}, "a"), options)) ==
        "none of OMPI_COMM_WORLD_RANK, MV2_COMM_WORLD_RANK, PMI_RANK and PMIX_RANK is set: not started by mpirun or "
        "mpiexec?");
  CHECK(spec_or_error(resolve_mpi(around(open_mpi(0, 4, 0, 2), "a"), options)) ==
        std::string("nothing here says which hosts the 4 ranks are on: ") + kHint);
  CHECK(spec_or_error(resolve_mpi(around(open_mpi(4, 4, 0, 2), "a"), options)) ==
        "OMPI_COMM_WORLD_RANK is 4, but OMPI_COMM_WORLD_SIZE is 4");
  CHECK(spec_or_error(resolve_mpi(around({{"PMI_RANK", "one"}, {"PMI_SIZE", "2"}}, "a"), options)) ==
        "PMI_RANK: 'one' is not an integer from 0 to 4194304");
  CHECK(spec_or_error(resolve_mpi(around(open_mpi(0, 3, 0, 1, {{"LSB_MCPU_HOSTS", "a 1 b 1"}}), "a"), options)) ==
        std::string("LSB_MCPU_HOSTS has 2 slots, but there are 3 ranks: ") + kHint);
  CHECK(spec_or_error(resolve_mpi(around(open_mpi(0, 2, 0, 1, {{"LSB_MCPU_HOSTS", "a"}}), "a"), options)) ==
        "LSB_MCPU_HOSTS: 'a' is not a list of hosts and numbers");
  options.jobs = {{"worker", 3}};
  CHECK(spec_or_error(resolve_mpi(around(open_mpi(0, 2, 0, 2), "a"), options)) ==
        "the jobs have 3 tasks together, but mpirun started 2 ranks");
  options = {};
  options.hostfile = "hosts";
  const auto with = [&](const char* hosts) {
    return spec_or_error(resolve_mpi(around(open_mpi(0, 2, 0, 1), "a", {{"hosts", hosts}}), options));
  };
  CHECK(with("a slots=x\n") == "--hostfile: line 1: 'x' is not a number of slots from 0 to 4194304");
  CHECK(with("\na slots 2\n") == "--hostfile: line 2: 'slots' is neither slots=N nor another KEY=VALUE");
  CHECK(with("[::1 slots=2\n") == "--hostfile: line 1: '[::1': a '[' without ']'");
  CHECK(with("# nobody\n") == "--hostfile: hosts does not name a host");
  options.hostfile = "elsewhere";
  CHECK(with("") == "--hostfile: cannot open elsewhere");
}

TEST_CASE("mpi: ports are the same for all ranks of a run, and differ between runs") {
  const auto first_port = [](Values more) {
    const auto config = resolve_mpi(around(open_mpi(0, 1, 0, 1, std::move(more)), "a"), {});
    return config->cluster.task_address("worker", 0).value_or("");
  };
  const std::string one = first_port({{"PMIX_NAMESPACE", "190840833"}, {"SLURM_JOB_ID", "7"}});
  CHECK(one == first_port({{"PMIX_NAMESPACE", "190840833"}, {"SLURM_JOB_ID", "7"}}));
  CHECK(one != first_port({{"PMIX_NAMESPACE", "190906369"}, {"SLURM_JOB_ID", "7"}}));
  CHECK(first_port({{"PBS_JOBID", "12.server"}}) != first_port({{"PBS_JOBID", "13.server"}}));
  CHECK(first_port({}) == "127.0.0.1:8888");
}
