#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A file cut into pieces of whole rows (lines, records), so that one thread reads it while others parse what was read.
// Thread rule: a Piece and a PieceReader live on one thread at a time.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "byte_reader.hpp"
#include "tfd/base/error.hpp"

namespace tfd::data {

struct CsvLayout;

/// Unparsed rows of a file; the parser advances `at`.
struct Piece {
  OpenFilePtr file = {};
  std::unique_ptr<char[]> bytes = {};
  std::size_t at = 0, end = 0;                // range of the unparsed bytes
  std::int64_t rows = 0;                      // at most
  std::int64_t number = 0;                    // in the file, of the row before `at`; the first is 1
  std::shared_ptr<const CsvLayout> csv = {};  // of a csv file; shared by its pieces

  std::string_view rest() const { return {bytes.get() + at, end - at}; }
};

/// Reads one file from its beginning.
class PieceReader {
 public:
  virtual ~PieceReader() = default;
  /// The next piece; nullopt at the end. It must not be called again after an error.
  virtual Result<std::optional<Piece>> next() = 0;
  /// Whether there was nothing, not even a header; known at the end.
  virtual bool is_empty() const = 0;
  virtual const OpenFilePtr& file() const = 0;
};

/// Bytes that have been read from a file and don't form a piece yet.
class PieceBuffer {
 public:
  PieceBuffer(ByteReader bytes, std::size_t piece_bytes)
      : bytes_(std::move(bytes)),
        piece_bytes_(piece_bytes),
        capacity_(piece_bytes),
        buffer_(std::make_unique_for_overwrite<char[]>(piece_bytes)) {}

  std::string_view rest() const { return {buffer_.get(), end_}; }
  std::size_t capacity() const { return capacity_; }
  /// Grows it to `bytes` bytes.
  void reserve(std::size_t bytes);
  /// Fills it up as far as there are bytes: false where there are no more. Errors as ByteReader::read()'s.
  Result<bool> fill(std::string_view unit, std::int64_t units);
  /// Its first `size` bytes as a piece; the others stay.
  Piece cut(std::size_t size);
  const OpenFilePtr& file() const { return bytes_.file(); }

 private:
  ByteReader bytes_;
  std::size_t piece_bytes_, capacity_;
  std::unique_ptr<char[]> buffer_;
  std::size_t end_ = 0;  // end of the bytes read
};

}  // namespace tfd::data
