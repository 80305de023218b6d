// SPDX-License-Identifier: Apache-2.0
#include "packed.hpp"

#include <cstring>
#include <nlohmann/json.hpp>

namespace tfd::strategy {
namespace {

using PackedJson = nlohmann::ordered_json;
using tensor::Tensor;
using tensor::TensorSpec;

constexpr std::size_t kSmall = 64 << 10;  // bytes of values that go with what they are

tl::unexpected<Error> malformed_values() { return fail(Code::kProtocolMismatch, "malformed values"); }

Result<std::vector<std::int64_t>> parse_dimensions(const PackedJson& json) {
  std::vector<std::int64_t> out;
  if (!json.is_array()) return malformed_values();
  for (const PackedJson& one : json) {
    if (!one.is_number_integer() || one.get<std::int64_t>() < 0) return malformed_values();
    out.push_back(one.get<std::int64_t>());
  }
  return out;
}

Result<TensorSpec> parse_spec(const PackedJson& json) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_string()) return malformed_values();
  TensorSpec spec{TFD_TRY(tensor::parse_dtype(json[0].get<std::string>())), TFD_TRY(parse_dimensions(json[1]))};
  TFD_TRY(tensor::checked_byte_size(spec.dtype, spec.shape));
  return spec;
}

}  // namespace

std::string bytes_of(std::span<const Tensor> values) {
  std::string out;
  for (const Tensor& one : values) out.append(reinterpret_cast<const char*>(one.data()), one.byte_size());
  return out;
}

// A line of JSON, [[dtype, shape], …], then the values.
std::string pack(std::span<const Tensor> values) {
  PackedJson head = PackedJson::array();
  std::size_t bytes = 0;
  for (const Tensor& one : values) {
    head.push_back({tensor::dtype_name(one.dtype()), one.shape()});
    bytes += one.byte_size();
  }
  std::string out = head.dump();
  if (bytes > kSmall) return out;
  return out + "\n" + bytes_of(values);
}

Result<Packed> Packed::parse(std::string_view text) {
  Packed out;
  const std::size_t end = text.find('\n');
  const PackedJson head = PackedJson::parse(text.substr(0, end), nullptr, false);
  if (!head.is_array()) return malformed_values();
  for (const PackedJson& one : head) out.specs_.push_back(TFD_TRY(parse_spec(one)));
  if (end != std::string_view::npos) TFD_TRY(out.set_values(text.substr(end + 1)));
  return out;
}

std::size_t Packed::byte_size() const {
  std::size_t bytes = 0;
  for (const TensorSpec& spec : specs_)
    bytes += tensor::dtype_size(spec.dtype) * static_cast<std::size_t>(tensor::element_count(spec.shape));
  return bytes;
}

Result<void> Packed::set_values(std::string_view bytes) {
  if (bytes.size() != byte_size()) return malformed_values();
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
  PackedJson all = PackedJson::array();
  for (const auto& [name, value] : tensors) all.push_back({name, {tensor::dtype_name(value.dtype()), value.shape()}});
  return PackedJson{{"text", text}, {"tensors", std::move(all)}}.dump();
}

Result<NamedSpecs> parse_named(std::string_view text) {
  const PackedJson json = PackedJson::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("text") || !json.contains("tensors")) return malformed_values();
  if (!json["text"].is_string() || !json["tensors"].is_array()) return malformed_values();
  NamedSpecs out{.text = json["text"].get<std::string>()};
  for (const PackedJson& one : json["tensors"]) {
    if (!one.is_array() || one.size() != 2 || !one[0].is_string()) return malformed_values();
    out.tensors.emplace_back(one[0].get<std::string>(), TFD_TRY(parse_spec(one[1])));
  }
  return out;
}

std::string pack_offer(const StepOffer& offer) {
  PackedJson json{{"has", offer.has}, {"rows", offer.rows}, {"shapes", offer.shapes}};
  if (offer.error) json["error"] = {code_name(offer.error->code), offer.error->message, offer.error->task};
  return json.dump(-1, ' ', false, PackedJson::error_handler_t::replace);
}

Result<StepOffer> parse_offer(std::string_view text) {
  const auto malformed = [] { return fail(Code::kProtocolMismatch, "a malformed offer of a step"); };
  const PackedJson json = PackedJson::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("has") || !json.contains("rows") || !json.contains("shapes"))
    return malformed();
  if (!json["has"].is_array() || !json["rows"].is_number_integer() || !json["shapes"].is_array()) return malformed();
  StepOffer out{.rows = json["rows"].get<std::int64_t>()};
  for (const PackedJson& one : json["has"]) {
    if (!one.is_boolean()) return malformed();
    out.has.push_back(one.get<bool>());
  }
  for (const PackedJson& one : json["shapes"]) out.shapes.push_back(TFD_TRY(parse_dimensions(one)));
  if (!json.contains("error")) return out;
  const PackedJson& error = json["error"];
  if (!error.is_array() || error.size() != 3 || !error[0].is_string() || !error[1].is_string() || !error[2].is_string())
    return malformed();
  out.error = Error{parse_code(error[0].get<std::string>()), error[1].get<std::string>(), error[2].get<std::string>()};
  return out;
}

}  // namespace tfd::strategy
