#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Numbers and texts as little-endian bytes, and back. Thread rule: plain values.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tfd::collective {

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

template <std::integral T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i)));
}
inline void put(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

/// Reads values in sequence. Missing bytes read as zero or empty, and make is_good() false.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) {
      is_good_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  template <std::integral T>
  T number() {
    const std::string_view bytes = take(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    return static_cast<T>(value);
  }
  std::string_view text() { return take(number<std::uint32_t>()); }
  std::string_view rest() const { return rest_; }
  bool is_good() const { return is_good_; }
  bool is_at_end() const { return is_good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool is_good_ = true;
};

}  // namespace tfd::collective
