#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Variables that state other processes started together with this one: by mpirun or srun, by
// torchrun, by controllers of Kubernetes, by schedulers of clouds. One table has all variables (stated_world.cpp). Its
// purpose is that no process trains alone by mistake. Thread rule: pure functions.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tfd/base/environment.hpp"
#include "tfd/base/error.hpp"

namespace tfd::resolve {

/// A world of more than one process.
struct StatedWorld {
  std::string variable;       // "PET_NNODES"
  std::string value;          // as it is set: "2:4"
  std::string members;        // "hosts", "processes": the unit of `count`
  std::int64_t count = 0;     // at least 2; of a range the larger number
  std::string kind = {};      // the --cluster that makes one training of all: "mpi"; empty: `launcher` does
  std::string launcher = {};  // "tfd-launch --rendezvous $MASTER_ADDR:29400 --nnodes $WORLD_SIZE"
  bool has_rank = false;      // mpirun or srun started this process: its stdin is no pipe of the user's
};
/// The first world that a row of the table finds; nullopt: none is stated, or of one process, or its variable can't be
/// read. Commands of tfd-exec are on their own (TFD_SEQ), and tfd-launch tells its tasks of their world (TFD_TASK):
/// neither is a stated world here.
std::optional<StatedWorld> find_stated_world(const Environment& env);

/// kUsage: the commands that make one training of this world, or one per process. `strategy` is a further option
/// that they need, such as "--strategy multi-worker-mirrored"; may be empty.
Error alone_in(const StatedWorld& world, std::string_view strategy);

/// This process' number, where nothing says among how many.
struct StatedIndex {
  std::string variable;
  std::string value;
  std::string together;  // the command that makes one training of all
};
/// nullopt: there is none.
std::optional<StatedIndex> find_stated_index(const Environment& env);

}  // namespace tfd::resolve
