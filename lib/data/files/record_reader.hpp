#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Records of a TFRecord file, gzipped or not; their checksums are checked. Thread rule: lives on one thread at a time.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "piece.hpp"
#include "tfd/base/error.hpp"

namespace tfd::data {

/// Whole records, whose lengths and their checksums are right.
class RecordReader {
 public:
  RecordReader(ByteReader bytes, std::size_t piece_bytes);

  /// nullopt at the end. kDataLoss for a file that is cut off and for a wrong checksum of a length; kInvalidArgument
  /// for a record above 2 GiB.
  Result<std::optional<Piece>> next();
  /// How many records were returned.
  std::int64_t records() const { return records_; }
  const OpenFilePtr& file() const { return buffer_.file(); }

 private:
  /// The size, with header and checksums, of the record that `bytes` begin with; nullopt where its header isn't
  /// complete.
  Result<std::optional<std::size_t>> load_size(std::string_view bytes) const;

  PieceBuffer buffer_;
  std::int64_t records_ = 0;
};

/// The next record of a piece, and its number there; nullopt at its end. kDataLoss for a wrong checksum of the data,
/// behind which the next one can be read.
Result<std::optional<std::string_view>> next_record(Piece& piece);

/// Records one by one.
class Records {
 public:
  explicit Records(RecordReader reader) : reader_(std::move(reader)) {}
  /// nullopt at the end. The view is valid until the next call. Errors as RecordReader's and next_record()'s.
  Result<std::optional<std::string_view>> next();
  /// Number of the record that next() returned last; the first is 1.
  std::int64_t record() const { return piece_.number; }
  const std::string& path() const { return reader_.file()->path(); }

 private:
  RecordReader reader_;
  Piece piece_;
};

}  // namespace tfd::data
