// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/direct_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tfd/base/file.hpp"

namespace tfd {
namespace {

constexpr std::size_t kAlignment = 4096;             // of memory, positions and sizes: no disk wants more
constexpr std::size_t kKept = std::size_t{1} << 20;  // bytes of a call

}  // namespace

std::span<std::byte> DirectWriter::space() {
  if (!kept_ && !has_no_memory_) {
    kept_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, kKept)));
    has_no_memory_ = kept_ == nullptr;
  }
  return kept_ ? std::span(kept_.get(), kKept).subspan(filled_) : std::span<std::byte>();
}

int DirectWriter::put(std::size_t size) {
  filled_ += size;
  if (filled_ < kKept) return 0;
  filled_ = 0;
  if (!is_direct_ && !is_refused_) is_refused_ = !set_direct(true);
  return write_out({kept_.get(), kKept});
}

int DirectWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::span<std::byte> into = space();
    if (into.empty() || (is_refused_ && filled_ == 0)) return write_out(bytes);
    const std::size_t size = std::min(bytes.size(), into.size());
    std::memcpy(into.data(), bytes.data(), size);
    if (const int saved_errno = put(size)) return saved_errno;
    bytes = bytes.subspan(size);
  }
  return 0;
}

int DirectWriter::finish() {
  if (is_direct_) set_direct(false);  // the end isn't aligned
  if (const int saved_errno = write_out({kept_.get(), filled_})) return saved_errno;
  filled_ = 0;
  return ::fsync(fd_) != 0 ? errno : 0;
}

int DirectWriter::write_out(std::span<const std::byte> bytes) {
  const int saved_errno = write_all(fd_, bytes);
  if (saved_errno != EINVAL || !is_direct_) return saved_errno;
  is_refused_ = true;  // it takes the flag only, or a part was written
  set_direct(false);
  return write_all(fd_, bytes);
}

bool DirectWriter::set_direct(bool is_direct) {
  const int flags = ::fcntl(fd_, F_GETFL);
  if (flags < 0 || ::fcntl(fd_, F_SETFL, is_direct ? flags | O_DIRECT : flags & ~O_DIRECT) != 0) return false;
  is_direct_ = is_direct;
  return true;
}

}  // namespace tfd
