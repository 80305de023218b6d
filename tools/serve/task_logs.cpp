// SPDX-License-Identifier: Apache-2.0
#include "task_logs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "tfd/base/file.hpp"
#include "tfd/base/text.hpp"

namespace tfd::serve {

std::string log_path(const std::string& directory, const cluster::TaskId& task) {
  std::string job = task.job;
  std::ranges::replace(job, '/', '_');  // a file of this directory
  return fmt::format("{}/{}-{}.log", directory, job, task.index);
}

Result<void> TaskLogs::open(const std::string& path, const cluster::TaskId& task) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  File file{path, process::Fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644))};
  const int code = error ? error.value() : errno;
  if (!file.fd)
    return fail(Code::kSystem, "{}", fail_errno(code, "--log-dir: cannot write " + printable(path)).value().message);
  files_.insert_or_assign(cluster::format_task(task), std::move(file));
  return {};
}

Result<void> TaskLogs::add(const std::string& task, std::string_view line) {
  const auto found = files_.find(task);
  if (found == files_.end()) return {};
  const std::string text = fmt::format("{}\n", line);
  auto left = std::as_bytes(std::span(text));
  if (const int saved_errno = write_all(found->second.fd.get(), left)) {
    const std::string path = found->second.path;
    files_.erase(found);
    return fail_errno(saved_errno, "no further lines are kept: cannot write " + printable(path));
  }
  return {};
}

}  // namespace tfd::serve
