// SPDX-License-Identifier: Apache-2.0
#include "tfd/train/directory_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <thread>
#include <utility>

#include "tfd/base/environment.hpp"
#include "tfd/base/file.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/base/notifier.hpp"
#include "tfd/base/random.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/cluster/json_value.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::train {
namespace {

constexpr int kMostLooks = 100;
constexpr Duration kLook = std::chrono::milliseconds(100);  // between two looks at a beat
constexpr std::size_t kMostOfLock = 64 << 10;
constexpr mode_t kLockMode = 0666;  // less the umask

enum class Locked : std::uint8_t {
  kOurs,
  kElsewhere,  // another process has the lock
  kFree,       // nobody has it, and this process can't take it
  kUnknown     // the file system has no locks
};

/// Locks the file, or says who has it. The lock belongs to the open file: closing another descriptor keeps it.
Locked lock_file(int fd, bool is_writable) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (!is_writable) {
    if (::fcntl(fd, F_OFD_GETLK, &whole) != 0) return Locked::kUnknown;
    return whole.l_type == F_UNLCK ? Locked::kFree : Locked::kElsewhere;
  }
  if (::fcntl(fd, F_OFD_SETLK, &whole) == 0) return Locked::kOurs;
  if (errno == EAGAIN || errno == EACCES) return Locked::kElsewhere;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return Locked::kOurs;
  return errno == EWOULDBLOCK ? Locked::kElsewhere : Locked::kUnknown;
}

/// The holder of a directory, as its lock file names it.
struct Holder {
  std::string host;
  std::string kernel;
  std::int64_t pid = 0;
};

std::optional<Holder> parse_holder(const std::string& text) {
  const auto json = cluster::parse_json(text, kDirectoryLockName);
  if (!json) return std::nullopt;
  const auto text_in = [&](std::string_view key) {
    const cluster::JsonValue* value = json->find(key);
    return value != nullptr ? value->text : std::string();
  };
  const auto pid = parse_integer(text_in("pid"), 1, INT64_MAX);
  if (!pid) return std::nullopt;
  return Holder{.host = text_in("host"), .kernel = text_in("kernel"), .pid = *pid};
}

std::string format_beat(const std::string& kernel, std::int64_t beat) {
  JsonLine line;
  line.add("v", 1).add("host", host_name()).add("pid", static_cast<std::int64_t>(::getpid())).add("kernel", kernel);
  return std::move(line.add("beat", beat)).text();
}

/// The kernel that runs this process: locks are certain among its processes. It has another name after each boot.
std::string name_of_kernel() {
  const auto id = load_file("/proc/sys/kernel/random/boot_id", kMostOfLock);
  return id && !id->empty() ? id->substr(0, id->find('\n')) : host_name();
}

bool is_at(int fd, const std::string& path) {
  struct stat own {};
  struct stat there {};
  return ::fstat(fd, &own) == 0 && ::stat(path.c_str(), &there) == 0 && own.st_dev == there.st_dev &&
         own.st_ino == there.st_ino;
}

/// A lock file as it was found.
struct Seen {
  process::Fd fd;
  Locked locked = Locked::kUnknown;
  std::string text;
  std::optional<Holder> holder;
};

/// nullopt: there can't be one.
std::optional<Seen> look_at(const std::string& path) {
  for (int attempt = 0; attempt < kMostLooks; ++attempt) {
    Seen seen;
    seen.fd = process::Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kLockMode));
    const bool is_writable = static_cast<bool>(seen.fd);
    if (!is_writable && errno == EACCES) seen.fd = process::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!seen.fd) return std::nullopt;
    seen.locked = lock_file(seen.fd.get(), is_writable);
    if (!is_at(seen.fd.get(), path)) continue;  // another process has put its own there
    if (auto text = load_file(path, kMostOfLock)) seen.text = std::move(*text);
    seen.holder = parse_holder(seen.text);
    return seen;
  }
  return std::nullopt;
}

Error refusal(const std::string& directory, const std::optional<Holder>& holder) {
  const std::string who =
      holder ? fmt::format("process {} on {}", holder->pid, printable(holder->host)) : std::string("another process");
  return {Code::kPermissionDenied,
          fmt::format("{} is in use by {}, which trains there and goes on; --take-over takes the directory from it, "
                      "and --set train.checkpoint.dir=DIR trains in another one",
                      directory, who),
          {}};
}

void write_whole(int fd, const std::string& text) {
  (void)!::pwrite(fd, text.data(), text.size(), 0);  // a full disk: the kernel's lock remains
  (void)!::ftruncate(fd, static_cast<off_t>(text.size()));
}

/// True once what the file says has changed; false after the time of a watch.
Result<bool> has_changed(const std::string& path, const Seen& seen, const DirectoryLockOptions& options) {
  const Deadline end = Deadline::after(options.watch);
  while (!end.expired()) {
    if (options.is_stopping && options.is_stopping())
      return fail(Code::kCancelled, "interrupted while waiting for the holder of {}", path);
    std::this_thread::sleep_for(kLook);  // no event tells what another host writes
    const auto now = load_file(path, kMostOfLock);
    if (!now || *now != seen.text) return true;
  }
  return false;
}

/// Replaces the existing lock file by one of this process. Empty if that isn't possible.
process::Fd replace(const std::string& path, const std::string& text) {
  const std::string temporary = fmt::format("{}-{}", path, random_text(4));
  process::Fd fd(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kLockMode));
  if (!fd) return fd;
  (void)lock_file(fd.get(), true);  // without locks the beat remains
  write_whole(fd.get(), text);
  if (::rename(temporary.c_str(), path.c_str()) == 0) return fd;
  ::unlink(temporary.c_str());
  return {};
}

}  // namespace

struct DirectoryLock::Held {
  process::Fd fd;
  DirectoryLockOptions options;
  Notifier ending;
  std::jthread beating;  // last: uses the above

  void write(std::int64_t beat) const {
    write_whole(fd.get(), format_beat(options.kernel, beat));
    const process::Fd sent(::dup(fd.get()));  // closing it has NFS send the written bytes
  }
};

DirectoryLock::DirectoryLock(std::unique_ptr<Held> held) : held_(std::move(held)) {
  held_->beating = std::jthread([held = held_.get()](const std::stop_token& stop) {
    for (std::int64_t beat = 1;; ++beat) {
      held->ending.wait(Deadline::after(held->options.beat));
      if (stop.stop_requested()) return;
      held->write(beat);
    }
  });
}

DirectoryLock::~DirectoryLock() {
  held_->beating.request_stop();
  held_->ending.notify();
  held_->beating.join();
  (void)!::ftruncate(held_->fd.get(), 0);  // nobody holds it: the next one needn't watch
}

Result<std::unique_ptr<DirectoryLock>> DirectoryLock::acquire(const std::string& directory, Claim claim,
                                                              DirectoryLockOptions options) {
  const std::string path = fmt::format("{}/{}", directory, kDirectoryLockName);
  if (options.kernel.empty()) options.kernel = name_of_kernel();
  std::optional<std::string> still;  // what the file said all through a watch
  for (int attempt = 0; attempt < kMostLooks; ++attempt) {
    auto seen = look_at(path);
    if (!seen) return nullptr;
    const bool is_certain = !seen->holder || seen->holder->kernel == options.kernel;  // what the kernel's lock says
    const bool is_free = is_certain && (seen->locked == Locked::kOurs || seen->locked == Locked::kFree ||
                                        (seen->locked == Locked::kUnknown && seen->text.empty()));
    if (is_free || claim == Claim::kTake || still == seen->text) {
      const std::string own = format_beat(options.kernel, 0);
      if (seen->locked == Locked::kOurs)
        write_whole(seen->fd.get(), own);
      else
        seen->fd = replace(path, own);
      if (!seen->fd) return nullptr;
      auto held = std::make_unique<Held>();
      held->fd = std::move(seen->fd);
      held->options = std::move(options);
      return std::unique_ptr<DirectoryLock>(new DirectoryLock(std::move(held)));
    }
    if (seen->locked == Locked::kElsewhere && seen->text.empty() && attempt + 1 < kMostLooks) {
      std::this_thread::sleep_for(kLook / 10);  // it is about to write its name, or to end
      continue;
    }
    const bool is_watched = claim == Claim::kWatchAll ||
                            (claim == Claim::kWatchHosts && !(is_certain && seen->locked == Locked::kElsewhere));
    if (!is_watched) return fail(refusal(directory, seen->holder));
    if (options.say && seen->holder)
      options.say(fmt::format("{} was held by process {} on {}: watching for {} whether it still trains", directory,
                              seen->holder->pid, printable(seen->holder->host), format_duration(options.watch)));
    const bool has_moved = TFD_TRY(has_changed(path, *seen, options));
    const auto now = load_file(path, kMostOfLock);
    if (has_moved && now && !now->empty()) return fail(refusal(directory, parse_holder(*now)));
    if (!has_moved) still = std::move(seen->text);
  }
  return fail(refusal(directory, std::nullopt));
}

}  // namespace tfd::train
