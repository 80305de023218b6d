#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Writes a new file from its beginning to its end; a large one past the page cache (O_DIRECT, where the file system has
// it): what nobody reads soon costs a tenth of the processor time that way, takes no memory from others, and is on disk
// as it is written. Thread rule: one thread at a time.
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

namespace tfd {

class DirectWriter {
 public:
  /// `fd`: of an empty regular file, open for writing; it stays the caller's.
  explicit DirectWriter(int fd) : fd_(fd) {}

  /// Writes bytes, or keeps them until there are more. 0, or an errno.
  int write(std::span<const std::byte> bytes);
  /// Where the next bytes may be put, which saves a copy; empty: there was no memory.
  std::span<std::byte> space();
  /// Writes the first bytes of space(), like write().
  int put(std::size_t size);
  /// Writes the kept bytes, and syncs the file. 0, or an errno.
  int finish();

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };

  int write_out(std::span<const std::byte> bytes);
  bool set_direct(bool is_direct);

  int fd_;
  bool is_direct_ = false;
  bool is_refused_ = false;  // the file system has no O_DIRECT
  bool has_no_memory_ = false;
  std::unique_ptr<std::byte, Free> kept_;  // aligned bytes
  std::size_t filled_ = 0;                 // how many of them
};

}  // namespace tfd
