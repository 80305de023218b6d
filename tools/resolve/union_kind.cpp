// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "kinds.hpp"
#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/text.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/resolve/spec_source.hpp"
#include "tfd/resolve/union.hpp"

namespace tfd::tool_resolve {

namespace {

// Waits until one of several files may have changed: written and closed, or replaced by a rename, as tools and
// Kubernetes' ConfigMaps do.

class FileWatch {
 public:
  /// Starts watching. Only regular files can change: can_change() is false if one is a pipe, or "-".
  static Result<FileWatch> start(const std::vector<std::string>& files);
  bool can_change() const { return static_cast<bool>(inotify_); }
  /// Returns true after an event in one of their directories; false at the deadline.
  Result<bool> wait(Deadline deadline);

 private:
  process::Fd inotify_;
};

bool is_regular(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<FileWatch> FileWatch::start(const std::vector<std::string>& files) {
  FileWatch watch;
  if (!std::all_of(files.begin(), files.end(), is_regular)) return watch;
  process::Fd fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!fd) return fail_errno(errno, "cannot watch files");
  for (const std::string& file : files) {
    const std::string folder = folder_of(file);
    if (::inotify_add_watch(fd.get(), folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO) < 0)
      return fail_errno(errno, fmt::format("cannot watch {}", printable(folder)));
  }
  watch.inotify_ = std::move(fd);
  return watch;
}

Result<bool> FileWatch::wait(Deadline deadline) {
  pollfd wanted{inotify_.get(), POLLIN, 0};
  while (true) {
    const int ready = ::poll(&wanted, 1, deadline.poll_ms());
    if (ready > 0) break;
    if (ready < 0 && errno != EINTR) return fail_errno(errno, "cannot watch files");
    if (deadline.expired()) return false;
  }
  std::array<char, 4096> events;
  while (::read(inotify_.get(), events.data(), events.size()) > 0) {
  }
  return true;
}

struct Specs {
  std::vector<cluster::ClusterConfig> configs;
  std::vector<std::string> sources;  // of each, for messages
};

/// Reads all documents up to the end of file.
Result<void> read_specs(resolve::InputReader& reader, const std::string& name, Deadline deadline, const Log& log,
                        Specs& specs) {
  for (int count = 1;; ++count) {
    const auto text = TFD_TRY(reader.next_document(deadline, [&](const WaitReport& report) {
      log.warning("{}", report.line(fmt::format("cluster specs on {}, up to its end", name)));
    }));
    if (!text) return {};
    const std::string source = count == 1 ? name : fmt::format("{} (spec {})", name, count);
    specs.configs.push_back(TFD_TRY(cluster::cluster_config_from_json(*text, source)));
    specs.sources.push_back(source);
  }
}

Result<Specs> read_all_specs(const std::vector<std::string>& files, int stdin_fd, Deadline deadline, const Log& log) {
  Specs specs;
  for (const std::string& file : files) {
    if (file == "-") {
      resolve::InputReader reader(stdin_fd);
      TFD_TRY(read_specs(reader, "stdin", deadline, log, specs));
      continue;
    }
    const process::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return fail_errno(errno, fmt::format("cannot open {}", printable(file)));
    resolve::InputReader reader(fd.get(), printable(file));
    TFD_TRY(read_specs(reader, printable(file), deadline, log, specs));
  }
  return specs;
}

class Union : public resolve::Resolver {
 public:
  Union(std::vector<std::string> files, resolve::UnionOptions options, Deadline stdin_deadline, bool watched,
        const cli::Io& io)
      : files_(std::move(files)),
        options_(std::move(options)),
        stdin_deadline_(stdin_deadline),
        watched_(watched),
        io_(io) {}

  Result<cluster::ClusterConfig> resolve(Deadline) override {
    if (watched_ && !watch_) watch_ = TFD_TRY(FileWatch::start(files_));
    Specs specs = TFD_TRY(read_all_specs(files_, io_.in_fd, stdin_deadline_, io_.log));
    options_.sources = std::move(specs.sources);
    return resolve::resolve_union(specs.configs, options_);
  }
  Result<bool> wait_change(Deadline deadline) override {
    if (!watch_ || !watch_->can_change()) return false;
    return watch_->wait(deadline);
  }

 private:
  std::vector<std::string> files_;
  resolve::UnionOptions options_;
  Deadline stdin_deadline_;
  bool watched_;
  const cli::Io& io_;
  std::optional<FileWatch> watch_;
};

}  // namespace

Made make_union(const Context& context) {
  const Asked& a = context.asked;
  resolve::UnionOptions options;
  if (const auto task = TFD_TRY(task_of(a))) {
    options.task_type = task->job;
    options.task_id = task->index;
  }
  options.rpc_layer = a.rpc_layer;
  options.compat = compat_of(a);
  std::vector<std::string> files = a.arguments;
  if (files.empty()) files.emplace_back("-");
  // No deadline by default: their writer may be waiting for a cluster to start.
  const Deadline deadline = a.timeout ? Deadline::after(*a.timeout) : Deadline::never();
  return std::make_unique<Union>(std::move(files), std::move(options), deadline, a.watch, context.io);
}

}  // namespace tfd::tool_resolve
