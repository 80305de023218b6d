#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The command line of tfd-run. Thread rule: plain value.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "run/tpu_devices.hpp"
#include "tfd/base/units.hpp"
#include "tfd/cli/tool.hpp"
#include "tfd/collective/communicator.hpp"
#include "tfd/strategy/kinds.hpp"
#include "tfd/strategy/run_options.hpp"
#include "training/common.hpp"

namespace tfd::strategy {
struct RunOptions;
}

namespace tfd::run {

struct Asked {
  training::Common common;
  std::string strategy;  // empty: parameter-server if a cluster is given, else everything is in this process
  const strategy::Kind* kind = nullptr;  // the kind of `strategy`; null: not stated
  int replicas = 0;                      // 0: not said
  std::string devices;                   // of the replicas
  std::string batch;                     // value of --batch; empty: global
  std::string step;                      // value of --step; empty: chosen by the platform
  TpuOptions tpu;
  std::string function;
  std::string predict;   // the function
  std::string evaluate;  // the function; "true": train.evaluate's; empty: no evaluation
  std::string output;    // of --predict
  std::string names;     // what --list prints
  std::string dataset;
  std::string reduce;
  std::string axis;  // axis of --reduce: one, or several separated by commas
  std::optional<std::int64_t> gather;
  bool untrained = false;
  bool explain = false;
  bool json = false;  // of --explain
  std::string compat;
  std::string collectives = "auto";
  std::optional<Bytes> bucket_bytes = {};
  std::optional<std::int64_t> verify_every = {};
  std::string workers;  // MIN[:MAX]
  Duration join = std::chrono::seconds(600);
  std::optional<Duration> silence = {};

  bool names_cluster() const {
    return (!common.cluster.empty() && common.cluster != "none") || !common.jobs.empty() || !common.hostfile.empty() ||
           !common.task.empty();
  }
  bool evaluates_by_default() const { return evaluate == "true"; }
  bool trains() const { return function.empty() && evaluate.empty(); }
  bool is_of_one_host() const { return kind != nullptr && kind->is_of_one_host && !has_group(); }
  /// Several processes make each step together; those of a TPU slice with several hosts, where a cluster is stated.
  bool has_group() const {
    return kind == &strategy::kMultiWorkerMirroredKind || (kind == &strategy::kTpuKind && names_cluster());
  }
  bool follows_members() const { return batch == "per-replica"; }
  bool has_topology() const { return kind != nullptr && kind->has_topology; }
};

/// The tool's options; they fill in `asked`, which outlives them.
std::vector<cli::Option> options(Asked& asked);
/// The hosts of a TPU slice whose tasks a tfd-launch has started are its cluster, unless one is stated.
void take_launchers_cluster(Asked& asked, const Environment& env);
/// Checks combinations of options. kUsage: two that exclude each other, or one that doesn't apply.
Result<void> check_options(const Asked& asked);
/// A process of several that were started together would train by itself if its command line names no cluster, or
/// wait for a spec on stdin. kUsage: what makes one training of them. `may_read`: a spec may still come from stdin.
Result<void> check_alone(const Asked& asked, bool may_read, cli::Io& io);
/// Whether a spec is read from stdin: an option asks for a cluster, or the strategy needs one. Not from that of mpirun
/// and srun, which nobody writes to.
bool reads_stdin(const Asked& asked, const Environment& env);
/// The strategy where none is stated, and a launcher or TF_CONFIG has named a cluster: workers alone make each step
/// together. Returns that cluster, whatever its strategy; nullopt: it was not looked for.
Result<std::optional<cluster::ClusterConfig>> choose_strategy(Asked& asked, cli::Io& io);
/// How many workers a group may have.
struct WorkerBounds {
  int least = 0;  // 0: not said
  int most = 0;   // where a tfd-launch may add to the cluster's, and move them; 0: it has these
};
/// MIN:MAX of --workers, else that of a tfd-launch that replaces failed tasks, for a cluster of `workers`.
/// kUsage.
Result<WorkerBounds> worker_bounds(const Asked& asked, int workers, const Environment& env);
/// The engine of --collectives, with the plug-in that TFD_MPI_PLUGIN names, if it is MPI. kUsage: MPI and MIN:MAX.
/// kFailedPrecondition: as collective::load_mpi_plugin().
Result<collective::Engine> find_engine(const Asked& asked, const WorkerBounds& bounds, const Environment& env);
/// The same endpoints; where another process has the port, the error names it.
transport::EndpointFactory name_port_owners(transport::EndpointFactory make_endpoint);
/// How long a worker may be silent: --silence, else that of the tfd-launch (TFD_SILENCE), else the default.
/// kInvalidArgument.
Result<Duration> find_silence(const Asked& asked, const Environment& env);
/// XLA's threads, where the devices are CPUs: PJRT_NPROC, else the processors that this process may use. A group's
/// process under tfd-launch or tfd-serve counts those of the host, which its tasks share (TFD_PROCESSORS), rather than
/// its share of them, which depends on the number of tasks.
strategy::XlaThreads xla_threads(const function::DeviceChoice& devices, bool has_group, const Environment& env);
/// Follows the environment of a tfd-launch: tells it, if it replaces failed tasks, whether this
/// process is of a group, and its current step (on_standing, on_step); and carries out --fault at a step.
/// kInvalidArgument.
Result<void> obey_launcher(strategy::RunOptions& with, const Environment& env);

}  // namespace tfd::run
