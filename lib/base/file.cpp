// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "tfd/base/direct_writer.hpp"

namespace tfd {
namespace {

using Piece = std::span<const std::byte>;

constexpr std::size_t kChunk = 64 * 1024;

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// A descriptor, and a file that is removed unless it was renamed. Errors are returned as errno, 0 is none.
class OpenFile {
 public:
  OpenFile(int fd, std::string temporary_path) : fd_(fd), temporary_path_(std::move(temporary_path)) {}
  OpenFile(OpenFile&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), temporary_path_(std::exchange(other.temporary_path_, {})) {}
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
  }

  int get() const { return fd_; }
  int sync() const { return ::fsync(fd_) != 0 ? errno : 0; }
  int close() { return ::close(std::exchange(fd_, -1)) != 0 ? errno : 0; }  // reports what NFS held back
  int rename_to(const std::string& target) {
    if (::rename(temporary_path_.c_str(), target.c_str()) != 0) return errno;
    temporary_path_.clear();
    return 0;
  }

 private:
  int fd_;
  std::string temporary_path_;
};

/// Named after the process, not after the target: that name may be as long as names can be.
Result<OpenFile> make_temporary_beside(const std::string& target, mode_t mode) {
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0; attempt < 1000; ++attempt) {
    std::string path = fmt::format("{}/.tfd-{}-{}.tmp", directory_of(target), ::getpid(), counter++);
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0) return OpenFile(fd, std::move(path));
    if (errno != EEXIST) return fail_errno(errno, "cannot write " + target);
  }
  return fail(Code::kAlreadyExists, "cannot write {}: no free temporary name beside it", target);
}

/// Makes a rename itself survive a crash.
int sync_names_in(const std::string& directory) {
  const OpenFile file(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), {});
  if (file.get() < 0) return errno == EACCES ? 0 : errno;  // a directory that one may write but not list
  const int saved_errno = file.sync();
  return saved_errno == EINVAL || saved_errno == ENOTSUP ? 0 : saved_errno;  // file systems that need it not
}

int write_into(const std::string& path, std::span<const Piece> pieces) {
  OpenFile file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY), {});
  if (file.get() < 0) return errno;
  for (Piece piece : pieces)
    if (const int saved_errno = write_all(file.get(), piece)) return saved_errno;
  return file.close();
}

std::string real_path(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string out(real);
  ::free(real);
  return out;
}

}  // namespace

Result<std::string> load_file(const std::string& path, std::size_t most) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC), {});
  if (file.get() < 0) return fail_errno(errno, "cannot open " + path);
  std::string out;
  struct stat info {};
  if (::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) && static_cast<std::size_t>(info.st_size) <= most)
    out.reserve(static_cast<std::size_t>(info.st_size) + kChunk);  // one more chunk: where the end of file is seen
  for (;;) {
    const std::size_t before = out.size();
    out.resize(before + kChunk);
    const ssize_t got = ::read(file.get(), out.data() + before, kChunk);
    const int saved_errno = errno;
    out.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return out;
    if (got < 0 && saved_errno != EINTR) return fail_errno(saved_errno, "cannot read " + path);
    if (out.size() > most) return fail(Code::kResourceExhausted, "{} is larger than {} bytes", path, most);
  }
}

Result<void> save_file(const std::string& path, std::span<const Piece> pieces, mode_t mode) {
  const auto refused = [&](int saved_errno) { return fail_errno(saved_errno, "cannot write " + path); };
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return refused(EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    if (const int saved_errno = write_into(path, pieces)) return refused(saved_errno);
    return {};
  }
  const std::string target = exists ? real_path(path) : path;
  OpenFile file = TFD_TRY(make_temporary_beside(target, mode));
  DirectWriter writer(file.get());
  int saved_errno = 0;
  for (auto piece = pieces.begin(); piece != pieces.end() && saved_errno == 0; ++piece)
    saved_errno = writer.write(*piece);
  if (saved_errno == 0) saved_errno = writer.finish();
  if (saved_errno == 0) saved_errno = file.close();
  if (saved_errno == 0) saved_errno = file.rename_to(target);
  if (saved_errno == 0) saved_errno = sync_names_in(directory_of(target));
  if (saved_errno != 0) return refused(saved_errno);
  return {};
}

Result<void> save_file(const std::string& path, std::string_view content, mode_t mode) {
  const Piece piece = std::as_bytes(std::span(content));
  return save_file(path, std::span(&piece, 1), mode);
}

Result<void> sync_directory(const std::string& directory) {
  if (const int saved_errno = sync_names_in(directory)) return fail_errno(saved_errno, "cannot sync " + directory);
  return {};
}

}  // namespace tfd
