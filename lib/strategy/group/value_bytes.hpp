#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Values that the members of a group send each other, as bytes (base/bytes.hpp), with the bytes of tensors among them.
// All members are of one build, or rejected when they join. Private to the room. Thread rule: pure functions.
#include <cstring>
#include <string>
#include <string_view>

#include "tfd/base/bytes.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::strategy {

class ValueWriter : public BasicByteWriter<ValueWriter> {
 public:
  void tensor(const tensor::Tensor& value) {
    (*this)(value.has_value());
    if (!value.has_value()) return;
    (*this)(value.spec());
    raw(as_text(value.bytes()));
  }
};

class ValueReader : public BasicByteReader<ValueReader> {
 public:
  using BasicByteReader::BasicByteReader;
  void tensor(tensor::Tensor& value) {
    value = {};
    if (!read<bool>()) return;
    auto spec = read<tensor::TensorSpec>();
    const std::string_view bytes = raw(
        is_good() ? static_cast<std::size_t>(tensor::element_count(spec.shape)) * tensor::dtype_size(spec.dtype) : 0);
    if (!is_good()) return;
    value = tensor::Tensor::uninitialized(spec.dtype, std::move(spec.shape));
    if (!bytes.empty()) std::memcpy(value.mutable_data(), bytes.data(), bytes.size());
  }
};

template <class T>
std::string format_value(const T& value) {
  ValueWriter out;
  out(value);
  return out.take_bytes();
}

/// kProtocolMismatch: "malformed `what`".
template <class T>
Result<T> parse_value(std::string_view bytes, std::string_view what) {
  ValueReader in(bytes);
  T value = in.read<T>();
  if (!in.is_at_end()) return fail(Code::kProtocolMismatch, "malformed {}", what);
  return value;
}

}  // namespace tfd::strategy
