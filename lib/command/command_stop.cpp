// SPDX-License-Identifier: Apache-2.0
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "tfd/command/command.hpp"

namespace tfd::command {

CommandStop::CommandStop() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void CommandStop::request() const {
  constexpr std::uint64_t kOnce = 1;
  [[maybe_unused]] const auto written = ::write(event_.get(), &kOnce, sizeof kOnce);
}

void CommandStop::clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(event_.get(), &count, sizeof count);
}

}  // namespace tfd::command
