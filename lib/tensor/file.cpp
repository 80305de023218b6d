// SPDX-License-Identifier: Apache-2.0
#include "tfd/tensor/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace tfd::tensor {
namespace {

constexpr std::size_t kMostPerCall = std::size_t{1} << 30;  // Linux moves at most 2 GiB a call

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// A file beside the target that is removed again unless it was renamed.
class TemporaryFile {
 public:
  static Result<TemporaryFile> create(const std::string& target) {
    static std::atomic<unsigned> counter{0};
    for (int attempt = 0; attempt < 1000; ++attempt) {
      std::string path = fmt::format("{}/.tfd-{}-{}.tmp", directory_of(target), ::getpid(), counter++);
      const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd >= 0) return TemporaryFile(std::move(path), fd);
      if (errno != EEXIST) return fail_errno(errno, "cannot write " + target);
    }
    return fail(Code::kAlreadyExists, "cannot write {}: no free temporary name beside it", target);
  }
  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {
    other.path_.clear();
  }
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  /// 0 or an errno, as all of these.
  int write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), std::min(bytes.size(), kMostPerCall));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return errno;
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return 0;
  }
  int sync_and_close() {
    if (::fsync(fd_) != 0) return errno;
    return ::close(std::exchange(fd_, -1)) != 0 ? errno : 0;  // close reports what NFS held back
  }
  int rename_to(const std::string& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0) return errno;
    path_.clear();
    return 0;
  }

 private:
  TemporaryFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_;
};

int sync_directory(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno == EACCES ? 0 : errno;  // a directory that one may write but not list
  const int saved_errno = ::fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP ? errno : 0;
  ::close(fd);
  return saved_errno;
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path) {
  // O_NONBLOCK: a FIFO without a writer would hold us here for ever.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail_errno(errno, "cannot open " + path);
  InputFile file(path, fd, 0);
  struct stat status {};
  if (::fstat(fd, &status) != 0) return fail_errno(errno, "cannot open " + path);
  if (!S_ISREG(status.st_mode)) return fail(Code::kInvalidArgument, "cannot read {}: not a regular file", path);
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> InputFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_, out.data(), std::min(out.size(), kMostPerCall), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "cannot read " + path_);
    if (got == 0)
      return fail(Code::kDataLoss, "{} is cut off: it ends at byte {}, {} more were expected", path_, offset,
                  out.size());
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

Result<std::string> load_file(const std::string& path, std::uint64_t most) {
  const InputFile file = TFD_TRY(InputFile::open(path));
  if (file.size() > most)
    return fail(Code::kResourceExhausted, "{} has {} bytes, at most {} are read", path, file.size(), most);
  std::string content(file.size(), '\0');
  TFD_TRY(file.read_at(0, std::as_writable_bytes(std::span(content))));
  return content;
}

Result<void> write_file_atomically(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  TemporaryFile file = TFD_TRY(TemporaryFile::create(path));
  int saved_errno = 0;
  for (const auto& piece : pieces)
    if ((saved_errno = file.write(piece)) != 0) return fail_errno(saved_errno, "cannot write " + path);
  if ((saved_errno = file.sync_and_close()) != 0) return fail_errno(saved_errno, "cannot write " + path);
  if ((saved_errno = file.rename_to(path)) != 0) return fail_errno(saved_errno, "cannot write " + path);
  if ((saved_errno = sync_directory(directory_of(path))) != 0)
    return fail_errno(saved_errno, "cannot sync the directory of " + path);
  return {};
}

Result<void> write_file_atomically(const std::string& path, std::string_view content) {
  const std::span<const std::byte> piece = std::as_bytes(std::span(content));
  return write_file_atomically(path, std::span(&piece, 1));
}

}  // namespace tfd::tensor
