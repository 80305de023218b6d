// SPDX-License-Identifier: Apache-2.0
#include "tfd/cluster/task_id.hpp"

#include <limits>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::cluster {

std::string format_task(const TaskId& task) { return fmt::format("{}:{}", task.job, task.index); }

Result<TaskId> parse_task(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return fail(Code::kInvalidArgument, "'{}' has no index (expected JOB:INDEX)", printable(text));
  if (colon == 0) return fail(Code::kInvalidArgument, "'{}' has no job (expected JOB:INDEX)", printable(text));
  const auto index = parse_integer(text.substr(colon + 1), 0, std::numeric_limits<int>::max());
  if (!index)
    return fail(Code::kInvalidArgument, "'{}': index '{}' is not a number >= 0 (expected JOB:INDEX)", printable(text),
                printable(text.substr(colon + 1)));
  return TaskId{std::string(text.substr(0, colon)), static_cast<int>(*index)};
}

}  // namespace tfd::cluster
