// SPDX-License-Identifier: Apache-2.0
#include "example.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "tfd/base/protobuf.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/native.hpp"

namespace tfd::data {
namespace {

using protobuf::Field;
using tensor::DType;

enum class ListKind { kNone, kBytes, kFloats, kIntegers };  // numbers are those of Feature's fields

// A feature as it lies in the record.
struct Found {
  ListKind kind = ListKind::kNone;
  std::string_view list = {};
};

tl::unexpected<Error> broken_example() { return fail(Code::kDataLoss, "not a tf.Example"); }

// Calls visit(field) for every field of the message.
template <class Visit>
Result<void> walk(std::string_view message, const Visit& visit) {
  protobuf::Reader reader(message);
  while (const auto field = reader.next()) TFD_TRY(visit(*field));
  if (!reader.is_complete()) return broken_example();
  return {};
}

// The last one there is counts, as for every oneof.
Result<Found> parse_feature(std::string_view message) {
  Found found;
  TFD_TRY(walk(message, [&](const Field& field) -> Result<void> {
    if (field.number < 1 || field.number > 3) return {};
    if (field.type != 2) return broken_example();
    found = {static_cast<ListKind>(field.number), field.bytes};
    return {};
  }));
  return found;
}

// Features { map<string, Feature> feature = 1; }, whose entries are messages of a key and a value.
Result<void> find_features(std::string_view message, const std::vector<ExampleFeature>& wanted,
                           std::vector<std::optional<Found>>& found) {
  return walk(message, [&](const Field& entry) -> Result<void> {
    if (entry.number != 1) return {};
    if (entry.type != 2) return broken_example();
    std::string_view key, value;
    TFD_TRY(walk(entry.bytes, [&](const Field& part) -> Result<void> {
      if (part.number > 2) return {};
      if (part.type != 2) return broken_example();
      (part.number == 1 ? key : value) = part.bytes;
      return {};
    }));
    const auto at = std::ranges::find(wanted, key, [](const ExampleFeature& one) { return one.spec.name; });
    if (at != wanted.end()) found[static_cast<std::size_t>(at - wanted.begin())] = TFD_TRY(parse_feature(value));
    return {};
  });
}

// Numbers of a list, packed or not.
Result<std::vector<std::int64_t>> integers_of(std::string_view list) {
  std::vector<std::int64_t> out;
  TFD_TRY(walk(list, [&](const Field& field) -> Result<void> {
    if (field.number != 1) return {};
    if (field.type == 0) return out.push_back(static_cast<std::int64_t>(field.value)), Result<void>();
    if (field.type != 2) return broken_example();
    protobuf::Reader packed(field.bytes);
    while (const auto value = packed.next_varint()) out.push_back(static_cast<std::int64_t>(*value));
    return packed.is_complete() ? Result<void>() : broken_example();
  }));
  return out;
}

Result<std::vector<float>> floats_of(std::string_view list) {
  std::vector<float> out;
  TFD_TRY(walk(list, [&](const Field& field) -> Result<void> {
    if (field.number != 1) return {};
    if ((field.type != 5 && field.type != 2) || field.bytes.size() % sizeof(float) != 0) return broken_example();
    const std::size_t before = out.size();
    out.resize(before + field.bytes.size() / sizeof(float));
    if (!field.bytes.empty()) std::memcpy(out.data() + before, field.bytes.data(), field.bytes.size());
    return {};
  }));
  return out;
}

Result<std::vector<std::string_view>> texts_of(std::string_view list) {
  std::vector<std::string_view> out;
  TFD_TRY(walk(list, [&](const Field& field) -> Result<void> {
    if (field.number != 1) return {};
    if (field.type != 2) return broken_example();
    out.push_back(field.bytes);
    return {};
  }));
  return out;
}

// Where the field's `count` values go.
Result<std::byte*> room_for(std::size_t index, const FieldSpec& field, std::int64_t count, BlockBuilder& out) {
  const auto wrong_count = [&] {
    return fail(Code::kInvalidArgument, "{} value{} instead of {}", count, count == 1 ? "" : "s", format_field(field));
  };
  if (!varies(field)) {
    if (count != tensor::element_count(field.shape)) return wrong_count();
    return out.row()[index];
  }
  const std::int64_t each = tensor::element_count({field.shape.begin() + 1, field.shape.end()});
  if (each == 0 ? count != 0 : count % each != 0) return wrong_count();
  return out.allocate(index, each == 0 ? 0 : count / each);
}

template <class T, class From, class Convert>
Result<void> store_all(const std::vector<From>& values, std::byte* to, const Convert& convert) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = TFD_TRY(convert(values[i]));
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
  return {};
}

Result<void> write_integers(const Found& found, std::size_t index, const FieldSpec& field, BlockBuilder& out) {
  const auto values = TFD_TRY(integers_of(found.list));
  std::byte* to = TFD_TRY(room_for(index, field, static_cast<std::int64_t>(values.size()), out));
  return tensor::with_native(field.dtype, [&](auto type) -> Result<void> {
    using T = decltype(type);
    if constexpr (std::is_integral_v<T>)
      return store_all<T>(values, to, [&](std::int64_t value) -> Result<T> {
        bool fits = false;
        if constexpr (std::is_same_v<T, bool>)
          fits = value == 0 || value == 1;
        else
          fits = std::in_range<T>(value);
        if (!fits) return fail(Code::kInvalidArgument, "{} does not fit {}", value, dtype_name(field.dtype));
        return static_cast<T>(value);
      });
    else
      return fail(Code::kInvalidArgument, "integers (int64_list), but the field is {}", format_field(field));
  });
}

Result<void> write_floats(const Found& found, std::size_t index, const FieldSpec& field, BlockBuilder& out) {
  const auto values = TFD_TRY(floats_of(found.list));
  if (!is_floating(field.dtype))
    return fail(Code::kInvalidArgument, "floats (float_list), but the field is {}", format_field(field));
  std::byte* to = TFD_TRY(room_for(index, field, static_cast<std::int64_t>(values.size()), out));
  switch (field.dtype) {
    case DType::kF64:
      return store_all<double>(values, to, [](float value) -> Result<double> { return value; });
    case DType::kF16:
      return store_all<std::uint16_t>(
          values, to, [](float value) -> Result<std::uint16_t> { return tensor::float_to_half(value); });
    case DType::kBF16:
      return store_all<std::uint16_t>(
          values, to, [](float value) -> Result<std::uint16_t> { return tensor::float_to_bfloat16(value); });
    default:
      if (!values.empty()) std::memcpy(to, values.data(), values.size() * sizeof(float));
      return {};
  }
}

// The values' bytes behind one another: those of one value, or of one for each of the first dimension, all as long.
Result<void> write_bytes(const Found& found, std::size_t index, const FieldSpec& field, BlockBuilder& out) {
  const auto values = TFD_TRY(texts_of(found.list));
  std::size_t bytes = 0;
  for (const std::string_view value : values) {
    bytes += value.size();
    if (value.size() != values.front().size())
      return fail(Code::kInvalidArgument, "texts of {} and of {} bytes in one feature", values.front().size(),
                  value.size());
  }
  const std::size_t each = dtype_size(field.dtype);
  if (bytes % each != 0)
    return fail(Code::kInvalidArgument, "{} bytes, but the field is {}", bytes, format_field(field));
  const auto count = static_cast<std::int64_t>(values.size());
  const auto each_fits = [&] {
    const tensor::Shape rest(field.shape.begin() + 1, field.shape.end());
    return static_cast<std::int64_t>(values.front().size() / each) == tensor::element_count(rest);
  };
  const bool may_be_many = field.shape.size() > 1 && (field.shape[0] == -1 || field.shape[0] == count);
  if (values.size() > 1 && !(may_be_many && each_fits()))
    return fail(Code::kInvalidArgument, "{} texts instead of {}", count, format_field(field));
  std::byte* to = TFD_TRY(room_for(index, field, static_cast<std::int64_t>(bytes / each), out));
  if (field.dtype == DType::kBool)
    for (const std::string_view value : values)
      if (std::ranges::any_of(value, [](char c) { return c != 0 && c != 1; }))
        return fail(Code::kInvalidArgument, "a byte that is neither 0 nor 1, but the field is {}", format_field(field));
  for (const std::string_view value : values) {
    if (!value.empty()) std::memcpy(to, value.data(), value.size());
    to += value.size();
  }
  return {};
}

// Writes the value of a missing feature: the fallback, or nothing for a field that varies.
Result<void> write_fallback(const ExampleFeature& feature, std::size_t index, BlockBuilder& out) {
  if (feature.fallback) {
    const tensor::Tensor& value = *feature.fallback;
    std::byte* to = TFD_TRY(room_for(index, feature.spec, value.size(), out));
    std::memcpy(to, value.data(), value.byte_size());
    return {};
  }
  if (!varies(feature.spec)) return fail(Code::kInvalidArgument, "is missing");
  return out.allocate(index, 0).map([](std::byte*) {});
}

Result<void> write_feature(const std::optional<Found>& found, const ExampleFeature& feature, std::size_t index,
                           BlockBuilder& out) {
  switch (found ? found->kind : ListKind::kNone) {
    case ListKind::kBytes:
      return write_bytes(*found, index, feature.spec, out);
    case ListKind::kFloats:
      return write_floats(*found, index, feature.spec, out);
    case ListKind::kIntegers:
      return write_integers(*found, index, feature.spec, out);
    case ListKind::kNone:
      break;
  }
  return write_fallback(feature, index, out);
}

// --- writing -------------------------------------------------------------------------------------------------------

std::string packed_integers(const tensor::Tensor& tensor) {
  std::string out;
  tensor::with_native(tensor.dtype(), [&](auto type) {
    using T = tensor::StoredNumber<decltype(type)>;
    if constexpr (std::is_integral_v<T>)
      for (const T value : tensor.as<T>())
        protobuf::append_varint(out, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
  });
  return out;
}

std::string packed_floats(const tensor::Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.size()));
  if (tensor.dtype() == DType::kF32)
    std::ranges::copy(tensor.as<float>(), values.begin());
  else
    std::ranges::transform(tensor.as<std::uint16_t>(), values.begin(), [&](std::uint16_t bits) {
      return tensor.dtype() == DType::kF16 ? tensor::half_to_float(bits) : tensor::bfloat16_to_float(bits);
    });
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

ListKind kind_of(const tensor::Tensor& tensor) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::kU64 || dtype == DType::kF64 || (dtype == DType::kU8 && !tensor.shape().empty()))
    return ListKind::kBytes;
  return is_floating(dtype) ? ListKind::kFloats : ListKind::kIntegers;
}

std::string encode_feature(const tensor::Tensor& tensor) {
  std::string list, feature;
  const ListKind kind = kind_of(tensor);
  if (kind == ListKind::kBytes)
    protobuf::append_bytes(list, 1, {reinterpret_cast<const char*>(tensor.data()), tensor.byte_size()});
  else
    protobuf::append_bytes(list, 1, kind == ListKind::kFloats ? packed_floats(tensor) : packed_integers(tensor));
  protobuf::append_bytes(feature, static_cast<int>(kind), list);
  return feature;
}

}  // namespace

Result<void> parse_example(std::string_view bytes, const std::vector<ExampleFeature>& features, BlockBuilder& out) {
  std::vector<std::optional<Found>> found(features.size());
  TFD_TRY(walk(bytes, [&](const Field& field) -> Result<void> {
    if (field.number != 1) return {};
    if (field.type != 2) return broken_example();
    return find_features(field.bytes, features, found);
  }));
  for (std::size_t i = 0; i < features.size(); ++i) {
    auto written = write_feature(found[i], features[i], i, out);
    if (!written)
      return fail(std::move(written.error()).within(fmt::format("feature '{}'", printable(features[i].spec.name))));
  }
  return {};
}

std::string encode_example(const ElementSpec& spec, const Element& element) {
  std::string features, example;
  for (std::size_t i = 0; i < spec.size(); ++i) {
    std::string entry;
    protobuf::append_bytes(entry, 1, spec[i].name);
    protobuf::append_bytes(entry, 2, encode_feature(element[i]));
    protobuf::append_bytes(features, 1, entry);
  }
  protobuf::append_bytes(example, 1, features);
  return example;
}

}  // namespace tfd::data
