#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Records of a TFRecord file, gzipped or not; their checksums are checked. Thread rule: lives on one thread at a time.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "byte_reader.hpp"
#include "tfd/base/error.hpp"

namespace tfd::data {

class RecordReader {
 public:
  static Result<RecordReader> open(const std::string& path);

  /// nullopt at the end. The view is valid until the next call. kDataLoss for a file that is cut off and for a wrong
  /// checksum; kInvalidArgument for a record above 2 GiB.
  Result<std::optional<std::string_view>> next();
  /// Behind an error: whether the rest of the file can't be read. It can behind a record whose own checksum is wrong.
  bool is_broken() const { return is_broken_; }
  /// Of the record that next() returned last; the first is 1.
  std::int64_t record() const { return record_; }
  const ByteReader& bytes() const { return bytes_; }
  const std::string& path() const { return bytes_.path(); }

 private:
  explicit RecordReader(ByteReader bytes) : bytes_(std::move(bytes)) {}
  /// nullopt at the end; kDataLoss within a header.
  Result<std::optional<std::uint64_t>> read_length();
  Result<void> read_data(std::uint64_t length);
  tl::unexpected<Error> cut_off() const;

  ByteReader bytes_;
  std::string data_;  // and its checksum
  std::int64_t record_ = 0;
  bool is_broken_ = false;
};

}  // namespace tfd::data
