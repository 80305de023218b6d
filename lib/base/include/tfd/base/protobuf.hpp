#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The wire format of protocol buffers: fields are appended to a message, or walked over. A few messages of a dozen
// fields don't pay for a library and its compiler. Source: https://protobuf.dev/programming-guides/encoding/.
// Thread rule: free functions on plain values.
//
//   std::string event;
//   protobuf::append_double(event, 1, wall_time);
//   protobuf::append_number(event, 2, step);
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tfd::protobuf {

void append_varint(std::string& out, std::uint64_t value);
/// A field of type int32, int64, uint64, bool or an enum.
void append_number(std::string& out, int field, std::uint64_t value);
/// A string, bytes, a message, or packed numbers.
void append_bytes(std::string& out, int field, std::string_view value);
void append_double(std::string& out, int field, double value);
void append_float(std::string& out, int field, float value);

struct Field {
  int number = 0;
  int type = 0;                 // 0: a number; 1: 8 bytes, a double; 2: of any length; 5: 4 bytes, a float
  std::uint64_t value = 0;      // of a number
  std::string_view bytes = {};  // content of a string, a message or packed numbers; the bytes of a double or float
};

/// Walks over the fields of a message; stops at its end and at the first byte that makes no sense.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::optional<std::uint64_t> next_varint() {
    if (rest_.empty() || static_cast<unsigned char>(rest_.front()) >= 0x80) return next_long_varint();
    const auto value = static_cast<unsigned char>(rest_.front());  // most are of one byte
    rest_.remove_prefix(1);
    return value;
  }
  std::optional<Field> next();
  /// After the last field: true if the reader stopped at the end of the message, false at malformed bytes.
  bool is_complete() const { return !has_failed_ && rest_.empty(); }

 private:
  std::optional<std::uint64_t> next_long_varint();
  std::optional<std::string_view> take(std::uint64_t size);
  std::string_view rest_;
  bool has_failed_ = false;
};

}  // namespace tfd::protobuf
