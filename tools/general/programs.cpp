// SPDX-License-Identifier: Apache-2.0
#include "general/programs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "tfd/base/descriptors.hpp"
#include "tfd/process/child.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::general {
int become(const std::string& path, std::vector<std::string> arguments, cli::Io& io) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  restore_descriptor_limit();
  ::execvp(path.c_str(), argv.data());
  const int error = errno;
  const Error failure = fail_errno(error, fmt::format("cannot run {}", path)).value();
  (void)io.err.write(cli::error_line("tfd", failure));
  return error == ENOENT ? 127 : 126;
}

std::optional<std::string> output_of(std::vector<std::string> argv, const Environment& env,
                                     std::chrono::seconds patience) {
  auto pipe = process::make_pipe();
  const process::Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!pipe || !null) return std::nullopt;
  auto child = process::Child::start(
      {.argv = std::move(argv), .environment = env, .stdout_fd = pipe->write.get(), .stderr_fd = null.get()});
  pipe->write.reset();
  if (!child) return std::nullopt;
  const Deadline deadline = Deadline::after(patience);
  auto text = process::read_all(pipe->read.get(), deadline, std::size_t{1} << 20);
  const auto status = child->wait(deadline);
  if (!text || !status || status->code != 0) return std::nullopt;
  return *std::move(text);
}

}  // namespace tfd::general
