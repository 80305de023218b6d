#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Slurm's short forms: hostlists ("rack[1-2]n[01-03]-ib") and task counts ("2(x3),1"). Expansion is bounded.
// Thread rule: pure functions.
//
//   expand_hostlist("n[8-10]", Compat::kNone)   // n8 n9 n10
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/resolve/resolver.hpp"

namespace tfd::resolve {

inline constexpr std::size_t kMostHosts = std::size_t{1} << 20;
inline constexpr std::int64_t kMostTasks = std::int64_t{1} << 22;

/// The hosts of a list in order, duplicates kept; of several bracket groups the last varies fastest (Slurm's own order
/// differs from three groups on); the width of a range's first number pads with zeros; N-M/STEP and N-M:STEP take every
/// STEPth; items are separated by commas or white space. kInvalidArgument says what is wrong with which part, or that
/// it is more than kMostHosts hosts. Compat::kTensorflow: one group, which ends its item, no steps, only commas, else
/// an error; a range that runs backwards is empty, not an error. Source: expand_hostlist of
/// slurm_cluster_resolver.py, 2.21; hostlist.c of Slurm.
Result<std::vector<std::string>> expand_hostlist(std::string_view text, Compat compat);

/// The same one by one, without a vector of names: with 10 000 names it costs a tenth of tfd-resolve's time.
/// The sink may have been called before an error.
using HostSink = std::function<void(const std::string& host)>;
Result<void> each_host(std::string_view text, Compat compat, const HostSink& sink);

/// The inverse: adjacent names that differ in one number are folded, the order stays. expand(fold(hosts)) == hosts.
std::string fold_hostlist(std::span<const std::string> hosts);

/// "3(x2),2,1" -> 3 3 2 1. No spaces, no signs; M(x0) is nothing. kInvalidArgument as above, also for more than
/// kMostHosts counts.
Result<std::vector<int>> expand_tasks_per_node(std::string_view text);

}  // namespace tfd::resolve
