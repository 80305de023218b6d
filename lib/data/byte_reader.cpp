// SPDX-License-Identifier: Apache-2.0
#include "byte_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tfd/base/text.hpp"

namespace tfd::data {
namespace {

constexpr unsigned kGzipBuffer = 256U << 10;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // what gzread counts in an int

}  // namespace

Result<ByteReader> ByteReader::open(const std::string& path) {
  ByteReader reader;
  reader.path_ = path;
  // Not to be caught waiting for a FIFO's writer.
  reader.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (reader.fd_ < 0) return fail_errno(errno, "cannot open " + path);
  reader.file_.reset(gzdopen(reader.fd_, "rb"));
  if (!reader.file_) {
    ::close(reader.fd_);
    return fail(Code::kResourceExhausted, "cannot open {}: out of memory", path);
  }
  reader.stamp_ = TFD_TRY(load_stamp(reader.fd_, path));
  gzbuffer(reader.file_.get(), kGzipBuffer);
  return reader;
}

Result<std::size_t> ByteReader::read(std::span<char> out, std::string_view unit, std::int64_t units) {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto wanted = static_cast<unsigned>(std::min(out.size() - done, kMostAtOnce));
    const int got = gzread(file_.get(), out.data() + done, wanted);
    if (got > 0) {
      done += static_cast<std::size_t>(got);
      continue;
    }
    int code = Z_OK;
    const int saved_errno = errno;
    const std::string why = gzerror(file_.get(), &code);
    if (code == Z_ERRNO) return fail_errno(saved_errno, "cannot read " + path_);
    if (code != Z_OK && code != Z_STREAM_END) TFD_TRY(check_unchanged());
    if (code == Z_BUF_ERROR) return fail(Code::kDataLoss, "{} is cut off after {} {}", path_, unit, units);
    if (got < 0) return fail(Code::kDataLoss, "{} is corrupt after {} {}: {}", path_, unit, units, printable(why));
    break;
  }
  return done;
}

Result<void> ByteReader::check_unchanged() const {
  if (TFD_TRY(load_stamp(fd_, path_)) == stamp_) return {};
  return fail(Code::kDataLoss, "{} has changed while it was read", path_);
}

std::uint64_t ByteReader::most_bytes() const { return gzdirect(file_.get()) != 0 ? stamp_.size : stamp_.size * 1032; }

}  // namespace tfd::data
