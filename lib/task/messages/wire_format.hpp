#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Encoding of message bodies: fixed layouts, little-endian. Numbers are raw, enums and flags a byte, strings and lists
// prefixed by their count (u32). A body is in the message's metadata after a zero byte; a large one is a u8 tensor in
// front of the others, and the metadata is a one byte. Inside the room only; readers get untrusted bytes. Thread rule:
// plain values.
//
//   Writer out;
//   out.put(settle.below);
//   return make_message(Kind::kSettle, std::move(out), {}, settle.epoch);
//
//   Reader in(message, Kind::kSettle);
//   Settle settle{message.epoch, in.number<std::uint64_t>()};
//   TFD_TRY(in.end("settle"));
//   return settle;
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::task {

inline constexpr std::size_t kMostInMetadata = 256 * 1024;       // the transport's limit is 1 MiB
inline constexpr std::size_t kMostBody = std::size_t{64} << 20;  // decoded names need more memory
inline constexpr std::size_t kLeastText = 4;                     // an empty one
inline constexpr std::string_view kBodyBehind{"\0", 1}, kBodyInTensor{"\1", 1};

inline tensor::Tensor bytes_tensor(std::string_view bytes) {
  auto out = tensor::Tensor::uninitialized(tensor::DType::kU8, {static_cast<std::int64_t>(bytes.size())});
  if (!bytes.empty()) std::memcpy(out.mutable_data(), bytes.data(), bytes.size());
  return out;
}

inline bool is_bytes(const tensor::Tensor& tensor) {
  return tensor.has_value() && tensor.dtype() == tensor::DType::kU8 && tensor.shape().size() == 1;
}

/// Text of a bytes_tensor(), borrowed.
inline std::string_view text_of(const tensor::Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data()), tensor.byte_size()};
}

class Writer {
 public:
  template <std::integral T>
  void put(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
  void put(double value) { put(std::bit_cast<std::uint64_t>(value)); }
  template <class E>
  requires std::is_enum_v<E>
  void put(E value) { put(static_cast<std::uint8_t>(value)); }
  void put(std::string_view text) {
    count(text.size());
    bytes_.append(text);
  }
  /// Writes the count of the following elements.
  void count(std::size_t count) { put(static_cast<std::uint32_t>(count)); }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

template <class Kind>
transport::Message make_message(Kind kind, const Writer& body, std::vector<tensor::Tensor> tensors = {},
                                std::uint64_t epoch = 0) {
  transport::Message out{static_cast<std::uint16_t>(kind), {}, std::move(tensors), epoch};
  if (body.bytes().size() > kMostInMetadata) {
    out.meta.push_back(kBodyInTensor.front());  // not an assignment: GCC 12 warns about the inlined code
    out.tensors.insert(out.tensors.begin(), bytes_tensor(body.bytes()));
  } else if (!body.bytes().empty()) {
    out.meta.reserve(1 + body.bytes().size());
    out.meta.append(kBodyBehind).append(body.bytes());
  }
  return out;
}

/// Reads values in sequence; missing or malformed ones are zero or empty, and end() reports it.
class Reader {
 public:
  explicit Reader(std::string_view body) : rest_(body) {}
  /// Borrows the message.
  explicit Reader(const transport::Message& message) : tensors_(message.tensors) {
    const std::string_view meta = message.meta;
    if (meta == kBodyInTensor && !tensors_.empty() && is_bytes(tensors_.front()) &&
        tensors_.front().byte_size() <= kMostBody) {
      rest_ = text_of(tensors_.front());
      tensors_ = tensors_.subspan(1);
    } else if (meta.starts_with(kBodyBehind)) {
      rest_ = meta.substr(1);
    } else {
      is_good_ = meta.empty();
    }
  }
  template <class Kind>
  Reader(const transport::Message& message, Kind kind) : Reader(message) {
    is_good_ = is_good_ && message.kind == static_cast<std::uint16_t>(kind);
  }

  template <std::integral T>
  T number() {
    const std::string_view bytes = take(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    return static_cast<T>(value);
  }
  double real() { return std::bit_cast<double>(number<std::uint64_t>()); }
  bool flag() { return number_up_to(1) != 0; }
  template <class E>
  E choice(E last) {
    return static_cast<E>(number_up_to(static_cast<std::uint8_t>(last)));
  }
  std::string text() { return std::string(take(number<std::uint32_t>())); }
  /// Reads a count of items of at least `least` bytes each, bounded by the bytes that are left.
  std::size_t count(std::size_t least) {
    const auto count = number<std::uint32_t>();
    require(count <= rest_.size() / least);
    return is_good_ ? count : 0;
  }
  tensor::Tensor tensor() {
    require(!tensors_.empty());
    if (!is_good_) return {};
    tensor::Tensor out = tensors_.front();
    tensors_ = tensors_.subspan(1);
    return out;
  }
  std::size_t tensors_left() const { return tensors_.size(); }

  /// Requires a condition on values that were read.
  void require(bool holds) { is_good_ = is_good_ && holds; }
  bool is_good() const { return is_good_; }
  /// Ends reading. kInvalidArgument unless everything was present, and nothing is left over.
  Result<void> end(std::string_view what) const {
    if (is_good_ && rest_.empty() && tensors_.empty()) return {};
    return fail(Code::kInvalidArgument, "malformed {} message", what);
  }

 private:
  std::string_view take(std::size_t size) {
    require(size <= rest_.size());
    if (!is_good_) return {};
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  std::uint8_t number_up_to(std::uint8_t most) {
    const auto number = this->number<std::uint8_t>();
    require(number <= most);
    return is_good_ ? number : std::uint8_t{0};
  }

  std::string_view rest_;
  std::span<const tensor::Tensor> tensors_;
  bool is_good_ = true;
};

inline void put_names(Writer& out, const std::vector<std::string>& names) {
  out.count(names.size());
  for (const std::string& name : names) out.put(name);
}

inline std::vector<std::string> take_names(Reader& in) {
  std::vector<std::string> names;
  const std::size_t count = in.count(kLeastText);
  names.reserve(count);
  for (std::size_t i = 0; i < count; ++i) names.push_back(in.text());
  return names;
}

}  // namespace tfd::task
