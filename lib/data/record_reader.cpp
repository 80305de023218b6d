// SPDX-License-Identifier: Apache-2.0
#include "record_reader.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "tfd/data/tfrecord.hpp"

namespace tfd::data {
namespace {

constexpr std::size_t kPieceOfRecord = std::size_t{1}
                                       << 20;  // so that no length is believed before its bytes are there
constexpr std::uint64_t kLongestRecord = std::uint64_t{2} << 30;

template <class T>
T load(const char* from) {
  T value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

Result<RecordReader> RecordReader::open(const std::string& path) {
  return RecordReader(TFD_TRY(ByteReader::open(path)));
}

tl::unexpected<Error> RecordReader::cut_off() const {
  return fail(Code::kDataLoss, "{} is cut off after record {}", path(), record_);
}

Result<std::optional<std::uint64_t>> RecordReader::read_length() {
  std::array<char, 12> header{};
  const std::size_t got = TFD_TRY(bytes_.read(header, "record", record_));
  if (got == 0) return std::optional<std::uint64_t>();
  if (got < header.size()) return cut_off();
  const std::string_view length(header.data(), 8);
  if (load<std::uint32_t>(header.data() + 8) != masked_crc32c(length)) {
    if (record_ == 0)
      return fail(Code::kDataLoss, "{}: record 1: the checksum of its length is wrong: not a TFRecord file, or corrupt",
                  path());
    return fail(Code::kDataLoss, "{}: record {}: the checksum of its length is wrong", path(), record_ + 1);
  }
  const auto bytes = load<std::uint64_t>(header.data());
  if (bytes > kLongestRecord)
    return fail(Code::kInvalidArgument, "{}: record {} has {} bytes, more than 2 GiB", path(), record_ + 1, bytes);
  return bytes;
}

Result<void> RecordReader::read_data(std::uint64_t length) {
  const std::size_t wanted = static_cast<std::size_t>(length) + sizeof(std::uint32_t);
  data_.clear();
  while (data_.size() < wanted) {
    const std::size_t done = data_.size();
    data_.resize(std::min(wanted, done + std::max(kPieceOfRecord, done)));
    const std::size_t got = TFD_TRY(bytes_.read(std::span(data_).subspan(done), "record", record_));
    if (got < data_.size() - done) return cut_off();
  }
  return {};
}

Result<std::optional<std::string_view>> RecordReader::next() {
  is_broken_ = true;  // but for what is said below
  const auto length = TFD_TRY(read_length());
  if (!length) return std::optional<std::string_view>();
  TFD_TRY(read_data(*length));
  ++record_;
  is_broken_ = false;
  const std::string_view data = std::string_view(data_).substr(0, static_cast<std::size_t>(*length));
  if (load<std::uint32_t>(data.data() + data.size()) != masked_crc32c(data))
    return fail(Code::kDataLoss, "{}: record {}: the checksum of its data is wrong", path(), record_);
  return data;
}

}  // namespace tfd::data
