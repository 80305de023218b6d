#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads at an offset, for npy, safetensors and checkpoints. Whole files: tfd/base/file.hpp. Thread rule: InputFile is
// thread-compatible (reads at an offset share no position).
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
  /// Opens a file. kNotFound, kPermissionDenied; kInvalidArgument if it isn't a regular file (its size must be known
  /// before memory is taken).
  static Result<InputFile> open(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  /// Size in bytes when it was opened.
  std::uint64_t size() const { return size_; }
  /// Fills `out` from `offset` on. kDataLoss when the file ends before.
  Result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  InputFile(std::string path, int fd, std::uint64_t size) : path_(std::move(path)), fd_(fd), size_(size) {}
  std::string path_;
  int fd_;
  std::uint64_t size_;
};

}  // namespace tfd::tensor
