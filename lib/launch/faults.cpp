// SPDX-License-Identifier: Apache-2.0
#include "tfd/launch/faults.hpp"

#include <csignal>
#include <string>
#include <vector>

#include "tfd/base/names.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::launch {
namespace {

constexpr NameTable<int, 4> kKinds{{{{SIGKILL, "kill"}, {SIGSTOP, "stop"}, {SIGCONT, "cont"}, {SIGTERM, "term"}}}};

}  // namespace

Result<Fault> parse_fault(std::string_view text) {
  std::vector<std::string> words = split(text, ' ');
  std::erase(words, "");
  const bool has_time = words.size() == 4 && words[2] == "after";
  const bool has_step = words.size() == 5 && words[2] == "at" && words[3] == "step";
  if (!has_time && !has_step)
    return fail(Code::kInvalidArgument,
                "'{}' is no fault: such as kill worker:1 after 5s, or kill worker:1 at step 412", printable(text));
  const auto signal = kKinds.find(words[0]);
  const auto kinds = kKinds.names();
  if (!signal)
    return fail(Code::kInvalidArgument, "'{}' is none of kill, stop, cont and term{}", printable(words[0]),
                did_you_mean(words[0], kinds));
  Fault fault{.signal = *signal};
  fault.task = TFD_TRY(cluster::parse_task(words[1]));
  if (has_time) {
    fault.after = TFD_TRY(parse_duration(words[3]));
    return fault;
  }
  if (*signal == SIGCONT) return fail(Code::kInvalidArgument, "cont: a task that is stopped makes no step");
  fault.step = TFD_TRY(parse_integer(words[4], 1, INT64_MAX));
  return fault;
}

std::string format_fault(const Fault& fault) {
  return fmt::format("{} {} at step {}", kKinds.name(fault.signal), cluster::format_task(fault.task),
                     fault.step.value_or(0));
}

}  // namespace tfd::launch
