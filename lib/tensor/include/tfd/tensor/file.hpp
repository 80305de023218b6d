#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Files that are there whole or not at all, and bounded reads at an offset: what npy, safetensors, checkpoints and the
// compile cache stand on. Thread rule: InputFile is thread-compatible (reads at an offset share no position).
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tfd/base/error.hpp"

namespace tfd::tensor {

/// A regular file open for reading. Every error names the file.
class InputFile {
 public:
  /// kNotFound, kPermissionDenied; kInvalidArgument for what is no regular file (its size must be known before memory
  /// is taken).
  static Result<InputFile> open(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  /// Bytes when it was opened.
  std::uint64_t size() const { return size_; }
  /// Fills `out` from `offset` on. kDataLoss when the file ends before.
  Result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  InputFile(std::string path, int fd, std::uint64_t size) : path_(std::move(path)), fd_(fd), size_(size) {}
  std::string path_;
  int fd_;
  std::uint64_t size_;
};

/// The whole file as bytes; kResourceExhausted when it has more than `most`.
Result<std::string> load_file(const std::string& path, std::uint64_t most);

/// Writes the pieces one after another to a temporary file in the same directory, syncs it, renames it to `path` and
/// syncs the directory: a reader, or the next start after a crash, sees the old file or the new one. On an error
/// (kNotFound: no such directory, kPermissionDenied, kResourceExhausted: the disk is full) nothing is left behind and
/// an older file of that name is as it was.
Result<void> write_file_atomically(const std::string& path, std::span<const std::span<const std::byte>> pieces);
Result<void> write_file_atomically(const std::string& path, std::string_view content);

}  // namespace tfd::tensor
