#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The codec of base/bytes.hpp for transport::Message. The body is in the metadata after a zero byte; a large one is a
// u8 tensor in front of the others, and the metadata is a one byte. Tensors travel beside the body, in the order in
// which it refers to them, and the epoch in the frame's header:
//
//   template <class Io> void fields(Io& io, Settle& s) { io.epoch(s.epoch); io(s.below, s.unused); }
//
//   return transport::make_message(Kind::kSettle, settle);
//   return transport::read_message<Settle>(message, Kind::kSettle, "settle");
//
// Thread rule: plain values.
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tfd/base/bytes.hpp"
#include "tfd/tensor/tensor.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::transport {

inline constexpr std::size_t kMostInMetadata = 256 * 1024;       // the transport's limit is 1 MiB
inline constexpr std::size_t kMostBody = std::size_t{64} << 20;  // decoded names need more memory
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
inline std::string_view text_of(const tensor::Tensor& tensor) { return as_text(tensor.bytes()); }

class BodyWriter : public BasicByteWriter<BodyWriter> {
 public:
  /// `takes_tensors`: moves them out of what is written.
  template <class Kind>
  explicit BodyWriter(Kind kind, std::uint64_t epoch = 0, bool takes_tensors = false)
      : message_{static_cast<std::uint16_t>(kind), {}, {}, epoch}, takes_tensors_(takes_tensors) {
    bytes_ = kBodyBehind;
  }

  void epoch(std::uint64_t epoch) { message_.epoch = epoch; }
  template <class Kind>
  bool is(Kind kind) const {
    return message_.kind == static_cast<std::uint16_t>(kind);
  }
  void tensor(tensor::Tensor& value) {
    if (takes_tensors_)
      message_.tensors.push_back(std::move(value));
    else
      message_.tensors.push_back(value);
  }
  /// All remaining tensors of the message.
  void tensors(std::vector<tensor::Tensor>& values) {
    reserve_tensors(values.size());
    for (tensor::Tensor& value : values) tensor(value);
  }
  void reserve_tensors(std::size_t count) { message_.tensors.reserve(message_.tensors.size() + count); }

  /// The message, once.
  Message finish() {
    if (bytes_.size() - kBodyBehind.size() > kMostInMetadata) {
      message_.meta.push_back(kBodyInTensor.front());  // not an assignment: GCC 12 warns about the inlined code
      const std::string_view body = bytes_;
      message_.tensors.insert(message_.tensors.begin(), bytes_tensor(body.substr(kBodyBehind.size())));
    } else if (bytes_.size() > kBodyBehind.size()) {
      message_.meta = std::move(bytes_);
    }
    return std::move(message_);
  }

 private:
  Message message_;
  bool takes_tensors_;
};

class BodyReader : public BasicByteReader<BodyReader> {
 public:
  /// Borrows the message.
  explicit BodyReader(const Message& message)
      : BasicByteReader({}), kind_(message.kind), epoch_(message.epoch), tensors_(message.tensors) {
    const std::string_view meta = message.meta;
    if (meta == kBodyInTensor && !tensors_.empty() && is_bytes(tensors_.front()) &&
        tensors_.front().byte_size() <= kMostBody) {
      rest_ = text_of(tensors_.front());
      tensors_ = tensors_.subspan(1);
    } else if (meta.starts_with(kBodyBehind)) {
      rest_ = meta.substr(kBodyBehind.size());
    } else {
      is_good_ = meta.empty();
    }
  }
  template <class Kind>
  BodyReader(const Message& message, Kind kind) : BodyReader(message) {
    require(is(kind));
  }

  void epoch(std::uint64_t& epoch) const { epoch = epoch_; }
  template <class Kind>
  bool is(Kind kind) const {
    return kind_ == static_cast<std::uint16_t>(kind);
  }
  void tensor(tensor::Tensor& value) {
    require(!tensors_.empty());
    value = is_good_ ? tensors_.front() : tensor::Tensor();
    if (is_good_) tensors_ = tensors_.subspan(1);
  }
  void tensors(std::vector<tensor::Tensor>& values) {
    if (!is_good_) return values.clear();
    values.assign(tensors_.begin(), tensors_.end());
    tensors_ = {};
  }
  void reserve_tensors(std::size_t) {}
  std::size_t tensors_left() const { return tensors_.size(); }

  /// Ends reading. kInvalidArgument unless everything was present, and nothing is left over.
  Result<void> end(std::string_view what) const {
    if (is_at_end() && tensors_.empty()) return {};
    return fail(Code::kInvalidArgument, "malformed {} message", what);
  }

 private:
  std::uint16_t kind_;
  std::uint64_t epoch_;
  std::span<const tensor::Tensor> tensors_;
};

/// A message whose body is `value`; tensors of an rvalue are moved. A struct that states its epoch overrides `epoch`.
template <class Kind, class T>
Message make_message(Kind kind, T&& value, std::uint64_t epoch = 0) {
  BodyWriter out(kind, epoch, std::is_rvalue_reference_v<T&&> && !std::is_const_v<std::remove_reference_t<T>>);
  out(value);
  return out.finish();
}
/// A message without a body.
template <class Kind>
Message empty_message(Kind kind, std::uint64_t epoch = 0) {
  return BodyWriter(kind, epoch).finish();
}

/// kInvalidArgument: "malformed `what` message", also for one of another kind.
template <class T, class Kind>
Result<T> read_message(const Message& message, Kind kind, std::string_view what) {
  BodyReader in(message, kind);
  T value = in.read<T>();
  TFD_TRY(in.end(what));
  return value;
}
/// The same of any kind.
template <class T>
Result<T> read_message(const Message& message, std::string_view what) {
  return read_message<T>(message, message.kind, what);
}

}  // namespace tfd::transport
