#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Placement of variables on parameter servers. Thread rule: plain values.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tfd/program/program.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/variable/placement.hpp"

namespace tfd::task {

/// The parameter servers of a run and what each of them holds. Every task gets it with the program.
struct Placement {
  std::vector<std::pair<std::string, std::string>> ps;     // ("ps:0", "127.0.0.1:4123"), ascending
  std::map<std::string, int> variables;                    // name -> position in `ps` of its first shard
  std::map<std::string, variable::PlacedVariable> placed;  // all shards of each variable
};
/// Places shards round-robin in creation order; a colocated variable is placed with the other one, all copies of a
/// variable where it would be.
Placement place_variables(const program::Program& program, std::vector<std::pair<std::string, std::string>> ps,
                          const step::ReplicaCopies& copies = {});

}  // namespace tfd::task
