// SPDX-License-Identifier: Apache-2.0
#include "record_reader.hpp"

#include <algorithm>
#include <cstring>

#include "tfd/data/tfrecord.hpp"

namespace tfd::data {
namespace {

constexpr std::size_t kRecordHeader = 12, kRecordFooter = 4;
constexpr std::uint64_t kLongestRecord = std::uint64_t{2} << 30;

template <class T>
T load(const char* from) {
  T value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Whether the bytes begin as zlib's do. Source: RFC 1950.
bool is_zlib(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(bytes[i])); };
  constexpr unsigned kDeflate = 8, kMostWindow = 7;
  return (byte(0) & 0xf) == kDeflate && byte(0) >> 4 <= kMostWindow && (byte(0) << 8 | byte(1)) % 31 == 0;
}

}  // namespace

RecordReader::RecordReader(ByteReader bytes, std::size_t piece_bytes)
    : buffer_(std::move(bytes), std::max(piece_bytes, kRecordHeader)) {}

Result<std::optional<std::size_t>> RecordReader::load_size(std::string_view bytes) const {
  if (bytes.size() < kRecordHeader) return std::optional<std::size_t>();
  const std::string& path = file()->path();
  if (load<std::uint32_t>(bytes.data() + 8) != masked_crc32c(bytes.substr(0, 8))) {
    if (records_ == 0 && is_zlib(bytes))
      return fail(
          Code::kInvalidArgument,
          "{} is compressed by zlib, but only gzip can be read: write it with compression type GZIP, or as it is",
          path);
    if (records_ == 0)
      return fail(Code::kDataLoss, "{}: record 1: the checksum of its length is wrong: not a TFRecord file, or corrupt",
                  path);
    return fail(Code::kDataLoss, "{}: record {}: the checksum of its length is wrong", path, records_ + 1);
  }
  const auto length = load<std::uint64_t>(bytes.data());
  if (length > kLongestRecord)
    return fail(Code::kInvalidArgument, "{}: record {} has {} bytes, more than 2 GiB", path, records_ + 1, length);
  return kRecordHeader + static_cast<std::size_t>(length) + kRecordFooter;
}

Result<std::optional<Piece>> RecordReader::next() {
  while (true) {
    const bool is_more = TFD_TRY(buffer_.fill("record", records_));
    const std::string_view bytes = buffer_.rest();
    std::size_t end = 0;
    std::int64_t count = 0;
    auto size = load_size(bytes);
    while (size && *size && **size <= bytes.size() - end) {
      end += **size;
      ++count;
      size = load_size(bytes.substr(end));
    }
    if (count > 0) {  // an error comes again
      Piece piece = buffer_.cut(end);
      piece.number = records_;
      piece.rows = count;
      records_ += count;
      return piece;
    }
    if (!size) return fail(std::move(size.error()));
    if (!is_more && bytes.empty()) return std::optional<Piece>();
    if (!is_more) return fail(Code::kDataLoss, "{} is cut off after record {}", file()->path(), records_);
    // Memory grows only as bytes arrive: a length alone isn't believed.
    if (bytes.size() == buffer_.capacity()) buffer_.reserve(std::min(**size, 2 * bytes.size()));
  }
}

Result<std::optional<std::string_view>> next_record(Piece& piece) {
  const std::string_view bytes = piece.rest();
  if (bytes.empty()) return std::optional<std::string_view>();
  const auto length = static_cast<std::size_t>(load<std::uint64_t>(bytes.data()));
  piece.at += kRecordHeader + length + kRecordFooter;
  ++piece.number;
  const std::string_view data = bytes.substr(kRecordHeader, length);
  if (load<std::uint32_t>(data.data() + length) != masked_crc32c(data))
    return fail(Code::kDataLoss, "{}: record {}: the checksum of its data is wrong", piece.file->path(), piece.number);
  return data;
}

Result<std::optional<std::string_view>> Records::next() {
  while (piece_.rest().empty()) {
    auto piece = TFD_TRY(reader_.next());
    if (!piece) return std::optional<std::string_view>();
    piece_ = *std::move(piece);
  }
  return next_record(piece_);
}

}  // namespace tfd::data
