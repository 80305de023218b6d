// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/protobuf.hpp"

#include <bit>
#include <cstring>

namespace tfd::protobuf {
namespace {

/// Little endian, as the hosts that tfd runs on are.
template <class T>
void append_fixed(std::string& out, T value) {
  static_assert(std::endian::native == std::endian::little);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

void append_tag(std::string& out, int field, unsigned type) {
  append_varint(out, static_cast<std::uint64_t>(field) << 3 | type);
}

}  // namespace

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void append_number(std::string& out, int field, std::uint64_t value) {
  append_tag(out, field, 0);
  append_varint(out, value);
}

void append_bytes(std::string& out, int field, std::string_view value) {
  append_tag(out, field, 2);
  append_varint(out, value.size());
  out += value;
}

void append_double(std::string& out, int field, double value) {
  append_tag(out, field, 1);
  append_fixed(out, value);
}

void append_float(std::string& out, int field, float value) {
  append_tag(out, field, 5);
  append_fixed(out, value);
}

std::optional<std::uint64_t> Reader::next_long_varint() {
  if (rest_.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  has_failed_ = true;
  return std::nullopt;
}

std::optional<Field> Reader::next() {
  if (rest_.empty() || has_failed_) return std::nullopt;
  has_failed_ = true;  // until there is a whole field
  const auto tag = next_varint();
  if (!tag) return std::nullopt;
  Field field;
  field.number = static_cast<int>(*tag >> 3 & 0x1fffffff);
  field.type = static_cast<int>(*tag & 7);
  if (field.type == 0) {
    const auto value = next_varint();
    if (!value) return std::nullopt;
    field.value = *value;
  } else {
    std::optional<std::uint64_t> size;
    if (field.type == 1) size = 8;
    if (field.type == 2) size = next_varint();
    if (field.type == 5) size = 4;
    const auto bytes = size ? take(*size) : std::nullopt;
    if (!bytes) return std::nullopt;
    field.bytes = *bytes;
  }
  has_failed_ = false;
  return field;
}

std::optional<std::string_view> Reader::take(std::uint64_t size) {
  if (size > rest_.size()) return std::nullopt;
  const std::string_view bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return bytes;
}

}  // namespace tfd::protobuf
