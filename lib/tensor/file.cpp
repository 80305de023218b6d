// SPDX-License-Identifier: Apache-2.0
#include "tfd/tensor/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tfd::tensor {
namespace {

constexpr std::size_t kMostPerCall = std::size_t{1} << 30;  // Linux moves at most 2 GiB a call

}  // namespace

Result<InputFile> InputFile::open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO without a writer would block forever.
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
      return fail(Code::kDataLoss, "{} is cut off: it ends at byte {}, but {} more were expected", path_, offset,
                  out.size());
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

}  // namespace tfd::tensor
