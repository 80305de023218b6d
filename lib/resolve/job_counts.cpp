// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/resolve/hostlist.hpp"
#include "tfd/resolve/resolver.hpp"

namespace tfd::resolve {

Result<JobCounts> parse_job_counts(std::string_view text) {
  JobCounts jobs;
  if (text.empty()) return fail(Code::kInvalidArgument, "no jobs, NAME=COUNT,… expected");
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Code::kInvalidArgument, "'{}' is not NAME=COUNT", printable(part));
    const std::string name = part.substr(0, equals);
    const auto count = parse_integer(part.substr(equals + 1), 0, kMostTasks);
    if (!count)
      return fail(Code::kInvalidArgument, "job '{}': '{}' is not a number of tasks from 0 to {}", printable(name),
                  printable(part.substr(equals + 1)), kMostTasks);
    if (std::any_of(jobs.begin(), jobs.end(), [&](const auto& job) { return job.first == name; }))
      return fail(Code::kInvalidArgument, "job '{}' is given twice", printable(name));
    jobs.emplace_back(name, static_cast<int>(*count));
  }
  return jobs;
}

}  // namespace tfd::resolve
