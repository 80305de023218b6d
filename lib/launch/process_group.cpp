// SPDX-License-Identifier: Apache-2.0
#include "process_group.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>

#include "tfd/base/file.hpp"

namespace tfd::launch {

bool group_lives(pid_t group) {
  while (::waitpid(-group, nullptr, WNOHANG) > 0) {
  }
  return ::kill(-group, 0) == 0 || errno == EPERM;
}

std::string state_of(pid_t pid) {
  const auto text = load_file(fmt::format("/proc/{}/stat", pid), std::size_t{1} << 16);
  const std::size_t after_name = text ? text->rfind(") ") : std::string::npos;
  return after_name == std::string::npos ? "?" : text->substr(after_name + 2, 1);
}

}  // namespace tfd::launch
