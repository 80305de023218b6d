// SPDX-License-Identifier: Apache-2.0
#include "jsonl_row.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tfd/tensor/native.hpp"
#include "tfd/tensor/number.hpp"

namespace tfd::data {
namespace {

using simdjson::dom::element;

// A parser keeps memory of several times its longest line.
constexpr std::size_t kLongestPlainLine = std::size_t{1} << 20;

template <class T>
bool write_number(const element& value, T& out) {
  using simdjson::dom::element_type;
  using tensor::convert_number;
  using tensor::NumberFit;
  switch (value.type()) {
    case element_type::INT64:
      return convert_number(value.get_int64().value_unsafe(), out) == NumberFit::kOk;
    case element_type::UINT64:
      return convert_number(value.get_uint64().value_unsafe(), out) == NumberFit::kOk;
    case element_type::DOUBLE:
      return convert_number(value.get_double().value_unsafe(), out) == NumberFit::kOk;
    default:
      return false;
  }
}

/// Numbers one behind the other, of lists of these sizes.
template <class T>
class Numbers {
 public:
  Numbers(const tensor::Shape& shape, std::byte* to) : shape_(shape), to_(reinterpret_cast<T*>(to)) {}

  bool write(const element& value, std::size_t depth = 0) {
    if (depth == shape_.size()) return write_number(value, *to_++);
    simdjson::dom::array list;
    if (value.get_array().get(list) != simdjson::SUCCESS) return false;
    std::int64_t left = shape_[depth];
    for (const element one : list)
      if (left-- == 0 || !write(one, depth + 1)) return false;
    return left == 0;
  }

 private:
  const tensor::Shape& shape_;
  T* to_;
};

bool write_numbers(const element& value, tensor::DType dtype, const tensor::Shape& shape, std::byte* to) {
  return tensor::with_native(dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      return Numbers<T>(shape, to).write(value);
    else
      return false;
  });
}

/// Where the field goes, whose first dimension is `length` if it varies; null where there is no room.
std::byte* place_of(std::size_t index, std::int64_t length, BlockBuilder& out) {
  if (std::byte* to = out.row()[index]) return to;
  return out.allocate(index, length).value_or(nullptr);
}

bool write_text(std::string_view text, std::size_t index, const FieldSpec& field, BlockBuilder& out) {
  const auto length = static_cast<std::int64_t>(text.size());
  if (field.dtype != tensor::DType::kU8 || field.shape.size() != 1) return false;
  if (field.shape[0] != -1 && field.shape[0] != length) return false;
  std::byte* to = place_of(index, length, out);
  if (to != nullptr) std::memcpy(to, text.data(), text.size());
  return to != nullptr;
}

bool write_field(const element& value, std::size_t index, const FieldSpec& field, BlockBuilder& out) {
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) return write_text(text, index, field, out);
  if (field.is_text) return false;
  if (!varies(field)) return write_numbers(value, field.dtype, field.shape, out.row()[index]);
  simdjson::dom::array list;
  if (value.get_array().get(list) != simdjson::SUCCESS) return false;
  tensor::Shape shape = field.shape;
  shape[0] = std::distance(list.begin(), list.end());
  std::byte* to = place_of(index, shape[0], out);
  return to != nullptr && write_numbers(value, field.dtype, shape, to);
}

}  // namespace

bool write_plain_object(std::string_view line, std::size_t readable, const ElementSpec& spec, BlockBuilder& out) {
  if (line.size() > kLongestPlainLine) return false;
  static thread_local simdjson::dom::parser parser;
  const bool must_copy = readable < line.size() + simdjson::SIMDJSON_PADDING;
  simdjson::dom::object object;
  if (parser.parse(line.data(), line.size(), must_copy).get_object().get(object) != simdjson::SUCCESS) return false;
  static thread_local std::vector<bool> found;
  found.assign(spec.size(), false);
  std::size_t next = 0;  // fields come mostly in their order
  for (const auto& [key, value] : object) {
    for (std::size_t tried = 0; tried < spec.size(); ++tried) {
      const std::size_t index = (next + tried) % spec.size();
      if (spec[index].name != key) continue;
      if (found[index] || !write_field(value, index, spec[index], out)) return false;
      found[index] = true;
      next = index + 1;
      break;
    }
  }
  return std::ranges::find(found, false) == found.end();
}

}  // namespace tfd::data
