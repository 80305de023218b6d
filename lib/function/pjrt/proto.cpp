// SPDX-License-Identifier: Apache-2.0
#include "proto.hpp"

namespace tfd::function {
namespace {

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void append_number(std::string& out, int field, std::uint64_t value) {
  append_varint(out, static_cast<std::uint64_t>(field) << 3);
  append_varint(out, value);
}
void append_bytes(std::string& out, int field, std::string_view value) {
  append_varint(out, static_cast<std::uint64_t>(field) << 3 | 2);
  append_varint(out, value.size());
  out += value;
}

struct Field {
  int number = 0;
  std::uint64_t value = 0;  // of a number
  std::string_view bytes;   // of a string, a message or packed numbers
};

/// Walks over the fields of a message; stops at its end and at the first byte that makes no sense.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::optional<std::uint64_t> next_varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }
  std::optional<Field> next() {
    const auto tag = next_varint();
    if (!tag) return std::nullopt;
    Field field;
    field.number = static_cast<int>(*tag >> 3 & 0x1fffffff);
    switch (*tag & 7) {
      case 0: {
        const auto value = next_varint();
        if (!value) return std::nullopt;
        field.value = *value;
        return field;
      }
      case 1:
        return take(8) ? std::optional(field) : std::nullopt;
      case 5:
        return take(4) ? std::optional(field) : std::nullopt;
      case 2: {
        const auto size = next_varint();
        if (!size) return std::nullopt;
        const auto bytes = take(*size);
        if (!bytes) return std::nullopt;
        field.bytes = *bytes;
        return field;
      }
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<std::string_view> take(std::uint64_t size) {
    if (size > rest_.size()) return std::nullopt;
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  std::string_view rest_;
};

/// A repeated number arrives packed or one by one.
void read_numbers(const Field& field, std::vector<std::int64_t>& out) {
  if (field.bytes.empty()) return out.push_back(static_cast<std::int64_t>(field.value));
  Reader packed(field.bytes);
  while (const auto value = packed.next_varint()) out.push_back(static_cast<std::int64_t>(*value));
}

std::string_view find_message(std::string_view message, int number) {
  Reader reader(message);
  while (const auto field = reader.next())
    if (field->number == number) return field->bytes;
  return {};
}

// xla.PrimitiveType (xla_data.proto): PJRT_Buffer_Type differs from BF16 on.
std::optional<tensor::DType> dtype_of_primitive(std::uint64_t type) {
  using tensor::DType;
  constexpr DType kByNumber[] = {DType::kBool, DType::kS8,  DType::kS16, DType::kS32, DType::kS64, DType::kU8,
                                 DType::kU16,  DType::kU32, DType::kU64, DType::kF16, DType::kF32, DType::kF64};
  if (type >= 1 && type <= 12) return kByNumber[type - 1];
  if (type == 16) return DType::kBF16;
  return std::nullopt;
}

constexpr std::uint64_t kTuple = 13;

struct HloShape {
  std::uint64_t type = 0;
  std::vector<std::int64_t> dimensions, minor_to_major;
  std::vector<std::string_view> elements;  // of a tuple
};

HloShape decode_shape(std::string_view message) {
  HloShape shape;
  Reader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 2) shape.type = field->value;
    if (field->number == 3) read_numbers(*field, shape.dimensions);
    if (field->number == 4) shape.elements.push_back(field->bytes);
    if (field->number == 5) {
      Reader layout(field->bytes);
      while (const auto inner = layout.next())
        if (inner->number == 1) read_numbers(*inner, shape.minor_to_major);
    }
  }
  return shape;
}

/// Row-major as far as it shows: dimensions of size 1 may stand anywhere.
bool is_row_major(const HloShape& shape) {
  std::int64_t before = static_cast<std::int64_t>(shape.dimensions.size());
  for (const std::int64_t dimension : shape.minor_to_major) {
    if (dimension < 0 || dimension >= static_cast<std::int64_t>(shape.dimensions.size())) return false;
    if (shape.dimensions[static_cast<std::size_t>(dimension)] <= 1) continue;
    if (dimension >= before) return false;
    before = dimension;
  }
  return true;
}

Result<std::optional<tensor::TensorSpec>> spec_of(const HloShape& shape) {
  const auto dtype = dtype_of_primitive(shape.type);
  if (!dtype) return std::nullopt;
  tensor::TensorSpec spec{*dtype, shape.dimensions};
  if (!is_row_major(shape))
    return fail(Code::kUnimplemented, "a layout of {} that isn't row-major is not supported",
                tensor::format_spec(spec));
  return spec;
}

}  // namespace

std::string encode_compile_options(const std::vector<std::vector<int>>& device_ids) {
  const std::size_t replicas = device_ids.size(), partitions = device_ids.front().size();
  std::string assignment, build, options;
  append_number(assignment, 1, replicas);    // replica_count
  append_number(assignment, 2, partitions);  // computation_count
  for (std::size_t partition = 0; partition < partitions; ++partition) {
    std::string ids, computation_device;
    for (const auto& of_replica : device_ids) append_varint(ids, static_cast<std::uint64_t>(of_replica[partition]));
    append_bytes(computation_device, 1, ids);  // replica_device_ids
    append_bytes(assignment, 3, computation_device);
  }
  append_number(build, 4, replicas);               // num_replicas
  append_number(build, 5, partitions);             // num_partitions
  if (partitions > 1) append_number(build, 6, 1);  // use_spmd_partitioning
  append_bytes(build, 9, assignment);
  append_number(build, 19, 1);  // use_shardy_partitioner
  append_bytes(options, 3, build);
  return options;
}

std::string encode_portable_options() {
  std::string build, options;
  append_number(build, 4, 1);   // num_replicas
  append_number(build, 5, 1);   // num_partitions
  append_number(build, 19, 1);  // use_shardy_partitioner
  append_bytes(options, 3, build);
  append_number(options, 4, 1);  // compile_portable_executable
  return options;
}

Result<std::optional<ProgramShapes>> decode_program_shapes(std::string_view program) {
  // HloModuleProtoWithConfig.hlo_module (1) . host_program_shape (4) { parameters (1), result (2) }
  const std::string_view host_program_shape = find_message(find_message(program, 1), 4);
  if (host_program_shape.empty()) return std::nullopt;
  std::vector<HloShape> arguments, results;
  Reader reader(host_program_shape);
  while (const auto field = reader.next()) {
    if (field->number == 1) arguments.push_back(decode_shape(field->bytes));
    if (field->number != 2) continue;
    const HloShape result = decode_shape(field->bytes);
    if (result.type != kTuple) results.push_back(result);
    for (const std::string_view element : result.elements) results.push_back(decode_shape(element));
  }
  ProgramShapes out;
  for (const auto& [from, to] : {std::pair(&arguments, &out.arguments), std::pair(&results, &out.results)}) {
    for (const HloShape& shape : *from) {
      auto spec = TFD_TRY(spec_of(shape));
      if (!spec) return std::nullopt;
      to->push_back(std::move(*spec));
    }
  }
  return out;
}

}  // namespace tfd::function
