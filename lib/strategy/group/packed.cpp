// SPDX-License-Identifier: Apache-2.0
#include "packed.hpp"

#include <algorithm>
#include <cstring>

#include "value_bytes.hpp"

namespace tfd::strategy {

template <class Io>
void fields(Io& io, NamedSpecs& named) {
  io(named.text, named.tensors);
}
template <class Io>
void fields(Io& io, StepOffer& offer) {
  io(offer.has, offer.rows, offer.shapes, offer.error);
  for (const tensor::Shape& shape : offer.shapes)
    io.require(std::ranges::all_of(shape, [](std::int64_t dimension) { return dimension >= 0; }));
}

namespace {

using tensor::Tensor;
using tensor::TensorSpec;

constexpr std::size_t kSmall = 64 << 10;  // bytes of values that go with what they are

}  // namespace

std::string bytes_of(std::span<const Tensor> values) {
  std::string out;
  for (const Tensor& one : values) out += as_text(one.bytes());
  return out;
}

// The specs, whether the values follow, and the values.
std::string pack(std::span<const Tensor> values) {
  std::vector<TensorSpec> specs;
  std::size_t bytes = 0;
  for (const Tensor& one : values) {
    specs.push_back(one.spec());
    bytes += one.byte_size();
  }
  const bool has_values = bytes <= kSmall;
  ValueWriter out;
  out(specs, has_values);
  if (has_values) out.raw(bytes_of(values));
  return out.take_bytes();
}

Result<Packed> Packed::parse(std::string_view text) {
  ValueReader in(text);
  Packed out;
  bool has_values = false;
  in(out.specs_, has_values);
  if (!in.is_good() || (!has_values && !in.is_at_end())) return fail(Code::kProtocolMismatch, "malformed values");
  if (has_values) TFD_TRY(out.set_values(in.rest()));
  return out;
}

std::size_t Packed::byte_size() const {
  std::size_t bytes = 0;
  for (const TensorSpec& spec : specs_)
    bytes += tensor::dtype_size(spec.dtype) * static_cast<std::size_t>(tensor::element_count(spec.shape));
  return bytes;
}

Result<void> Packed::set_values(std::string_view bytes) {
  if (bytes.size() != byte_size()) return fail(Code::kProtocolMismatch, "malformed values");
  for (const TensorSpec& spec : specs_) {
    Tensor value = Tensor::uninitialized(spec.dtype, spec.shape);
    if (value.byte_size() > 0) std::memcpy(value.mutable_data(), bytes.data(), value.byte_size());
    bytes.remove_prefix(value.byte_size());
    values_.push_back(std::move(value));
  }
  has_values_ = true;
  return {};
}

std::string format_named(std::string_view text, const tensor::NamedTensors& tensors) {
  NamedSpecs named{.text = std::string(text), .tensors = {}};
  for (const auto& [name, value] : tensors) named.tensors.emplace_back(name, value.spec());
  return format_value(named);
}

Result<NamedSpecs> parse_named(std::string_view text) { return parse_value<NamedSpecs>(text, "values"); }

std::string pack_offer(const StepOffer& offer) { return format_value(offer); }

Result<StepOffer> parse_offer(std::string_view text) { return parse_value<StepOffer>(text, "offer of a step"); }

}  // namespace tfd::strategy
