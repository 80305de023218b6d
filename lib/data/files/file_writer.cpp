// SPDX-License-Identifier: Apache-2.0
#include "file_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "tfd/data/dataset.hpp"

namespace tfd::data {
namespace {

constexpr unsigned kWriteBuffer = 256U << 10;
constexpr std::size_t kMostWritten = std::size_t{1} << 30;

bool is_special(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

std::string link_of(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

// A file in the same directory that has no name yet and so goes with this process, however that ends. -1 where there is
// no such thing.
int open_unnamed(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path();
  const int fd = ::open(parent.empty() ? "." : parent.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0 || ::access(link_of(fd).c_str(), F_OK) == 0) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

Result<std::unique_ptr<FileWriter>> FileWriter::create(const std::string& path, bool compressed) {
  const bool as_it_is = is_special(path);
  std::unique_ptr<FileWriter> writer(
      new FileWriter(path, as_it_is ? path : fmt::format("{}.{:016x}", path, draw_seed())));
  if (!as_it_is) writer->fd_ = open_unnamed(path);
  writer->is_named_ = writer->fd_ < 0;
  if (writer->is_named_)
    writer->fd_ = ::open(writer->temporary_.c_str(), O_WRONLY | O_CLOEXEC | (as_it_is ? 0 : O_CREAT | O_EXCL), 0666);
  if (writer->fd_ < 0) return fail_errno(errno, "cannot write " + path);
  const int own = ::fcntl(writer->fd_, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return fail_errno(errno, "cannot write " + path);
  writer->stream_ = gzdopen(own, compressed ? "wb" : "wbT");
  if (writer->stream_ == nullptr) {
    ::close(own);
    return fail(Code::kResourceExhausted, "cannot write {}: out of memory", path);
  }
  gzbuffer(writer->stream_, kWriteBuffer);
  return writer;
}

FileWriter::~FileWriter() {
  if (stream_ != nullptr) gzclose_w(stream_);
  if (fd_ < 0) return;
  ::close(fd_);
  if (is_named_ && temporary_ != path_) ::unlink(temporary_.c_str());
}

Result<void> FileWriter::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kMostWritten);
    errno = EIO;
    if (gzwrite(stream_, piece.data(), static_cast<unsigned>(piece.size())) <= 0)
      return fail_errno(errno, "cannot write " + path_);
    bytes.remove_prefix(piece.size());
  }
  return {};
}

Result<void> FileWriter::finish() {
  errno = EIO;
  if (gzclose_w(std::exchange(stream_, nullptr)) != Z_OK) return fail_errno(errno, "cannot write " + path_);
  if (temporary_ == path_) return {};
  if (::fsync(fd_) != 0) return fail_errno(errno, "cannot write " + path_);
  if (!is_named_)
    is_named_ = ::linkat(AT_FDCWD, link_of(fd_).c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) == 0;
  if (!is_named_ || ::rename(temporary_.c_str(), path_.c_str()) != 0) return fail_errno(errno, "cannot write " + path_);
  ::close(std::exchange(fd_, -1));
  return {};
}

}  // namespace tfd::data
