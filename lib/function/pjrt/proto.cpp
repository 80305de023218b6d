// SPDX-License-Identifier: Apache-2.0
#include "proto.hpp"

#include "tfd/base/protobuf.hpp"

namespace tfd::function {
namespace {

using protobuf::append_bytes;
using protobuf::append_number;
using protobuf::append_varint;
using protobuf::Field;
using protobuf::Reader;

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

constexpr std::uint64_t kTuple = 13, kC64 = 15, kC128 = 18;

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

/// True if the layout is row-major, up to the positions of dimensions of size 1.
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

/// Fields that both kinds of options have: how to partition, and for which instructions.
void append_common(std::string& build, std::string& options, const std::string& max_isa) {
  append_number(build, 6, 1);   // use_spmd_partitioning
  append_number(build, 19, 1);  // use_shardy_partitioner
  append_bytes(options, 3, build);
  if (!max_isa.empty()) options += encode_option("xla_cpu_max_isa", max_isa);
}

}  // namespace

std::string encode_option(std::string_view name, std::string_view value) {
  std::string field, entry, options;
  append_bytes(field, 1, value);  // string_field
  append_bytes(entry, 1, name);
  append_bytes(entry, 2, field);
  append_bytes(options, 7, entry);  // env_option_overrides
  return options;
}

std::string encode_compile_options(const std::vector<std::vector<int>>& device_ids, const std::string& max_isa) {
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
  append_number(build, 4, replicas);    // num_replicas
  append_number(build, 5, partitions);  // num_partitions
  append_bytes(build, 9, assignment);
  append_common(build, options, max_isa);
  return options;
}

std::string encode_portable_options(const std::string& max_isa) {
  std::string build, options;
  append_number(build, 4, 1);  // num_replicas
  append_number(build, 5, 1);  // num_partitions
  append_common(build, options, max_isa);
  append_number(options, 4, 1);  // compile_portable_executable
  return options;
}

std::optional<ProgramShapes> decode_program_shapes(std::string_view program) {
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
      out.has_complex = out.has_complex || shape.type == kC64 || shape.type == kC128;
      if (out.has_complex) continue;
      const auto dtype = dtype_of_primitive(shape.type);
      if (!dtype) return std::nullopt;
      to->push_back({*dtype, shape.dimensions});
      if (!is_row_major(shape) && !out.not_row_major) out.not_row_major = to->back();
    }
  }
  return out;
}

}  // namespace tfd::function
