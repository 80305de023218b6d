#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Lines of a text file, gzipped or not. Strips LF or CRLF and a UTF-8 byte order mark.
// Thread rule: lives on one thread at a time.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "byte_reader.hpp"
#include "tfd/base/error.hpp"

namespace tfd::data {

class LineReader {
 public:
  static Result<LineReader> open(const std::string& path);

  /// nullopt at the end. The view is valid until the next call. kDataLoss for gzip data that is corrupt or cut off: the
  /// piece of a line before the cut is never returned. kInvalidArgument for a line above 64 MiB.
  Result<std::optional<std::string_view>> next();
  /// Of the line that next() returned last; the first is 1.
  std::int64_t line() const { return line_; }
  const ByteReader& bytes() const { return bytes_; }
  const std::string& path() const { return bytes_.path(); }

 private:
  explicit LineReader(ByteReader bytes) : bytes_(std::move(bytes)) {}
  /// More bytes behind those that are left; false at the end.
  Result<bool> refill();

  ByteReader bytes_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // what is left of the buffer
  std::int64_t line_ = 0;
  bool at_end_ = false;
};

}  // namespace tfd::data
