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
  if (words.size() != 4 || words[2] != "after")
    return fail(Code::kInvalidArgument, "'{}' is no fault: such as kill worker:1 after 5s", printable(text));
  const auto signal = kKinds.find(words[0]);
  const auto kinds = kKinds.names();
  if (!signal)
    return fail(Code::kInvalidArgument, "'{}' is none of kill, stop, cont and term{}", printable(words[0]),
                did_you_mean(words[0], kinds));
  Fault fault{.signal = *signal};
  fault.task = TFD_TRY(cluster::parse_task(words[1]));
  fault.after = TFD_TRY(parse_duration(words[3]));
  return fault;
}

}  // namespace tfd::launch
