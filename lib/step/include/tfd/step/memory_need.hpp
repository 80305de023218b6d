#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How much memory a program's variables take, with their slots, and whether a task has it. It is asked before memory is
// taken: the system grants what it doesn't have, and kills whoever uses it. Thread rule: plain values.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/memory.hpp"
#include "tfd/program/program.hpp"

namespace tfd::step {

struct MemoryNeed {
  std::size_t variables = 0;  // or shards of them
  std::uint64_t values = 0;   // bytes
  std::uint64_t slots = 0;    // bytes that the optimizer keeps beside the values
  std::uint64_t passing = 0;  // bytes of the host's memory through which they come
  std::string largest;        // the variable that takes most, with its slots
  std::uint64_t largest_size = 0;

  std::uint64_t total() const { return values + slots + passing; }
};

/// Of all variables in one process.
MemoryNeed need_of(const program::Program& program);
/// What all variables need on so many replicas, whose memory is the host's, at the most: when the last value or slot is
/// on its way to them.
MemoryNeed need_of_replicas(const program::Program& program, int replicas);
/// Of the variables that every worker has one of.
MemoryNeed need_of_worker(const program::Program& program);
/// Of what is on the parameter server at that position, of variables that are placed so.
MemoryNeed need_of_server(const program::Program& program,
                          const std::map<std::string, variable::PlacedVariable>& placed, int position);
/// Of each of so many parameter servers, of which there may be none.
std::vector<MemoryNeed> needs_of_servers(const program::Program& program, int count);

/// kResourceExhausted: "variable 'v' needs 80 TB on ps:0, where 14 GB are free". `where`: "on ps:0", "here".
Result<void> check_memory(const MemoryNeed& need, std::string_view where,
                          std::optional<Bytes> free = find_free_memory());
/// "3 variables, 1.2 GB, 0.8 GB of it slots".
std::string describe_need(const MemoryNeed& need);

}  // namespace tfd::step
