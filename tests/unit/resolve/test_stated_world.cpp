// SPDX-License-Identifier: Apache-2.0
//
// Worlds of several processes, as launchers, controllers and schedulers state them.
#include <doctest/doctest.h>

#include "tfd/resolve/stated_world.hpp"

using namespace tfd;
using namespace tfd::resolve;

namespace {

using Values = std::map<std::string, std::string, std::less<>>;

/// "PET_NNODES=2:4: 4 hosts: tfd-launch …".
std::string stated(Values values) {
  const auto world = find_stated_world(Environment(std::move(values)));
  if (!world) return "none";
  return fmt::format("{}={}: {} {}: {}", world->variable, world->value, world->count, world->members,
                     world->kind.empty() ? world->launcher : "--cluster " + world->kind);
}

}  // namespace

TEST_CASE("stated world: MPI's and Slurm's ranks") {
  CHECK(stated({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}) ==
        "OMPI_COMM_WORLD_SIZE=2: 2 processes: --cluster mpi");
  CHECK(stated({{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "0"}}) ==
        "PMI_SIZE=3: 3 processes: --cluster mpi");
  const Values step{{"SLURM_STEP_ID", "0"},
                    {"SLURM_STEP_NODELIST", "n[1-2]"},
                    {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                    {"SLURM_PROCID", "3"}};
  CHECK(stated(step) == "SLURM_STEP_TASKS_PER_NODE=2(x2): 4 processes: --cluster slurm");
  Values counted = step;
  counted["SLURM_NTASKS"] = "4";
  CHECK(stated(counted) == "SLURM_NTASKS=4: 4 processes: --cluster slurm");
  counted["SLURM_STEP_NUM_TASKS"] = "4";
  CHECK(stated(counted) == "SLURM_STEP_NUM_TASKS=4: 4 processes: --cluster slurm");
}

TEST_CASE("stated world: launchers and controllers meet at the address that they give") {
  CHECK(stated({{"WORLD_SIZE", "3"}, {"RANK", "1"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "23456"}}) ==
        "WORLD_SIZE=3: 3 processes: tfd-launch --rendezvous $MASTER_ADDR:$MASTER_PORT --nnodes $WORLD_SIZE");
  CHECK(stated({{"WORLD_SIZE", "3"}}) ==
        "WORLD_SIZE=3: 3 processes: tfd-launch --rendezvous HOST:PORT --nnodes $WORLD_SIZE");
  CHECK(stated({{"PET_NNODES", "2:4"}, {"PET_MASTER_ADDR", "h"}, {"PET_MASTER_PORT", "29500"}}) ==
        "PET_NNODES=2:4: 4 hosts: tfd-launch --rendezvous $PET_MASTER_ADDR:$PET_MASTER_PORT --nnodes $PET_NNODES");
  CHECK(stated({{"PET_NNODES", "3"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "1"}, {"WORLD_SIZE", "3"}}) ==
        "PET_NNODES=3: 3 hosts: tfd-launch --rendezvous $MASTER_ADDR:$MASTER_PORT --nnodes $PET_NNODES");
  CHECK(stated({{"JAX_NUM_PROCESSES", "2"}, {"JAX_COORDINATOR_ADDRESS", "h:29500"}}) ==
        "JAX_NUM_PROCESSES=2: 2 processes: tfd-launch --rendezvous $JAX_COORDINATOR_ADDRESS --nnodes "
        "$JAX_NUM_PROCESSES");
  CHECK(stated({{"NUM_PROCESSES", "2"}, {"COORDINATOR_ADDRESS", "h"}, {"COORDINATOR_PORT", "6666"}}) ==
        "NUM_PROCESSES=2: 2 processes: tfd-launch --rendezvous $COORDINATOR_ADDRESS:$COORDINATOR_PORT --nnodes "
        "$NUM_PROCESSES");
  CHECK(stated({{"LWS_GROUP_SIZE", "4"}, {"LWS_LEADER_ADDRESS", "lws-0.lws.ns"}}) ==
        "LWS_GROUP_SIZE=4: 4 pods: tfd-launch --rendezvous $LWS_LEADER_ADDRESS:29400 --nnodes $LWS_GROUP_SIZE");
  CHECK(stated({{"VC_MASTER_NUM", "1"}, {"VC_MASTER_HOSTS", "j-master-0.j"}, {"VC_WORKER_NUM", "2"}}) ==
        "VC_MASTER_NUM and VC_WORKER_NUM=1 and 2: 3 pods: tfd-launch --rendezvous j-master-0.j:29400 --nnodes 3");
  CHECK(stated({{"VC_WORKER_NUM", "2"}, {"VC_WORKER_HOSTS", "j-worker-0.j,j-worker-1.j"}}) ==
        "VC_WORKER_NUM=2: 2 pods: tfd-launch --rendezvous j-worker-0.j:29400 --nnodes 2");
}

TEST_CASE("stated world: torchrun's place is tfd-launch's") {
  Values torchrun{{"TORCHELASTIC_RUN_ID", "none"}, {"WORLD_SIZE", "2"},          {"LOCAL_WORLD_SIZE", "2"},
                  {"GROUP_WORLD_SIZE", "1"},       {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "1"}};
  CHECK(stated(torchrun) == "WORLD_SIZE=2: 2 processes: tfd-launch -n 2");
  torchrun["WORLD_SIZE"] = "8";
  torchrun["GROUP_WORLD_SIZE"] = "4";
  CHECK(stated(torchrun) == "WORLD_SIZE=8: 8 processes: tfd-launch --rendezvous HOST:PORT --nnodes 4 -n 2");
}

TEST_CASE("stated world: clouds and batch systems") {
  CHECK(stated({{"SKYPILOT_NUM_NODES", "2"}, {"SKYPILOT_NODE_IPS", "10.0.0.1\n10.0.0.2"}}) ==
        "SKYPILOT_NUM_NODES=2: 2 hosts: tfd-launch --rendezvous 10.0.0.1:29400 --nnodes $SKYPILOT_NUM_NODES");
  CHECK(stated({{"DSTACK_NODES_NUM", "2"}, {"DSTACK_MASTER_NODE_IP", "10.0.0.1"}}) ==
        "DSTACK_NODES_NUM=2: 2 hosts: tfd-launch --rendezvous $DSTACK_MASTER_NODE_IP:29400 --nnodes $DSTACK_NODES_NUM");
  CHECK(stated({{"AWS_BATCH_JOB_NUM_NODES", "2"}}) ==
        "AWS_BATCH_JOB_NUM_NODES=2: 2 hosts: tfd-launch --rendezvous HOST:PORT --nnodes $AWS_BATCH_JOB_NUM_NODES");
  CHECK(stated({{"SM_HOSTS", R"(["algo-1","algo-2"])"}}) ==
        R"(SM_HOSTS=["algo-1","algo-2"]: 2 hosts: tfd-launch --rendezvous algo-1:29400 --nnodes 2)");
  CHECK(stated({{"FLUX_JOB_SIZE", "2"}, {"FLUX_TASK_RANK", "1"}}) ==
        "FLUX_JOB_SIZE=2: 2 processes: tfd-launch --rendezvous HOST:PORT --nnodes $FLUX_JOB_SIZE");
  CHECK(stated({{"HOROVOD_SIZE", "4"}, {"HOROVOD_RANK", "0"}}) ==
        "HOROVOD_SIZE=4: 4 processes: tfd-launch --rendezvous HOST:PORT --nnodes $HOROVOD_SIZE");
}

TEST_CASE("stated world: hosts and slices of a TPU") {
  CHECK(stated({{"TPU_WORKER_HOSTNAMES", "t-0,t-1"}, {"TPU_WORKER_ID", "1"}}) ==
        "TPU_WORKER_HOSTNAMES=t-0,t-1: 2 hosts: --cluster tpu");
  CHECK(stated({{"TPU_PROCESS_ADDRESSES", "localhost:8476,localhost:8477"}}) ==
        "TPU_PROCESS_ADDRESSES=localhost:8476,localhost:8477: 2 processes: --cluster tpu");
  CHECK(stated({{"TPU_WORKER_HOSTNAMES", "x,y"},
                {"MEGASCALE_NUM_SLICES", "2"},
                {"MEGASCALE_SLICE_ID", "1"},
                {"MEGASCALE_COORDINATOR_ADDRESS", "z:8080"}}) ==
        "MEGASCALE_NUM_SLICES=2: 2 slices: tfd-launch --rendezvous z:29400 --nnodes 4");
}

TEST_CASE("stated world: one process, a value that can't be read, and processes that are on their own") {
  for (const Values& alone :
       std::vector<Values>{{},
                           {{"WORLD_SIZE", "1"}, {"RANK", "0"}},
                           {{"WORLD_SIZE", ""}},
                           {{"WORLD_SIZE", "two"}},
                           {{"WORLD_SIZE", "-2"}},
                           {{"PET_NNODES", "1"}},
                           {{"PET_NNODES", "1:1"}},
                           {{"PET_NNODES", ":"}},
                           {{"NUM_PROCESSES", "8"}},  // of a data loader, say: no coordinator is beside it
                           {{"NUM_PROCESSES", "8"}, {"COORDINATOR_ADDRESS", ""}},
                           {{"TPU_WORKER_HOSTNAMES", "localhost"}, {"TPU_WORKER_ID", "0"}},
                           {{"TPU_PROCESS_ADDRESSES", "local"}},
                           {{"MEGASCALE_NUM_SLICES", "1"}},
                           {{"SM_HOSTS", R"(["algo-1"])"}},
                           {{"SM_HOSTS", R"(["algo-1", )"}},
                           {{"VC_WORKER_NUM", "1"}},
                           {{"VC_NUM", "3"}},
                           {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}},
                           {{"PMIX_RANK", "0"}},  // doesn't say of how many
                           // A batch script, and a step of one task in a job of four.
                           {{"SLURM_JOB_NODELIST", "n[1-2]"},
                            {"SLURM_TASKS_PER_NODE", "2(x2)"},
                            {"SLURM_NTASKS", "4"},
                            {"SLURM_PROCID", "0"}},
                           {{"SLURM_STEP_ID", "0"},
                            {"SLURM_STEP_NODELIST", "n1"},
                            {"SLURM_STEP_TASKS_PER_NODE", "1"},
                            {"SLURM_NTASKS", "1"},
                            {"SLURM_PROCID", "0"}},
                           {{"JOB_COMPLETION_INDEX", "3"}},
                           // A command of tfd-exec, and a task of tfd-launch.
                           {{"TFD_SEQ", "7"}, {"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}},
                           {{"TFD_TASK", "worker:1"}, {"WORLD_SIZE", "2"}, {"RANK", "1"}}})
    CHECK(stated(alone) == "none");
}

TEST_CASE("stated world: the error names the variable, what makes one training, and the way out") {
  const auto world = find_stated_world(Environment(Values{{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}));
  REQUIRE(world);
  const Error error = alone_in(*world, "--strategy multi-worker-mirrored");
  CHECK(error.code == Code::kUsage);
  CHECK(error.message ==
        "PMI_SIZE is 2: 2 processes were started together, but nothing names their cluster: --strategy "
        "multi-worker-mirrored --cluster mpi makes one training of them; --cluster none trains in each by itself");
}

TEST_CASE("stated index: a number without a count") {
  const auto index = find_stated_index(Environment(Values{{"JOB_COMPLETION_INDEX", "3"}}));
  REQUIRE(index);
  CHECK(index->variable == "JOB_COMPLETION_INDEX");
  CHECK(index->value == "3");
  CHECK(find_stated_index(Environment(Values{{"PMIX_RANK", "1"}}))->variable == "PMIX_RANK");
  CHECK_FALSE(find_stated_index(Environment()));
  CHECK_FALSE(find_stated_index(Environment(Values{{"TFD_TASK", "worker:0"}, {"JOB_COMPLETION_INDEX", "3"}})));
}
