// SPDX-License-Identifier: Apache-2.0
#include "tfd/variable/partitioner.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tfd/base/text.hpp"
#include "tfd/tensor/json_object.hpp"

namespace tfd::variable {
namespace {

// Rounded up, without overflow.
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

std::int64_t min_size_shards(const Partitioner& p, const tensor::Shape& shape, std::int64_t element_bytes) {
  const std::int64_t total = tensor::element_count(shape) * element_bytes;
  return std::max<std::int64_t>(1, std::min({shape[0], p.max_shards, ceil_div(total, p.min_shard_bytes)}));
}

/// The number of shards for the largest size; the variable isn't empty.
std::int64_t max_size_shards(const Partitioner& p, const tensor::Shape& shape, std::int64_t element_bytes) {
  const std::int64_t row = tensor::element_count(shape) / shape[0] * element_bytes;
  const std::int64_t rows = std::max<std::int64_t>(1, p.max_shard_bytes / row);
  const std::int64_t shards = ceil_div(shape[0], rows);
  return p.max_shards > 0 ? std::min(p.max_shards, shards) : shards;
}

}  // namespace

Result<std::vector<std::int64_t>> Partitioner::partitions(const tensor::Shape& shape,
                                                          std::int64_t element_bytes) const {
  if (shape.empty()) return fail(Code::kInvalidArgument, "cannot partition along dimension 0: the shape is only []");
  TFD_TRY(tensor::checked_byte_size(tensor::DType::kU8, shape));
  std::vector<std::int64_t> out(shape.size(), 1);
  switch (kind) {
    case Kind::kFixedShards:
      out[0] = std::min(num_shards, shape[0]);
      break;
    case Kind::kMinSize:
      out[0] = min_size_shards(*this, shape, element_bytes);
      break;
    case Kind::kMaxSize:
      if (tensor::element_count(shape) == 0)
        return fail(Code::kInvalidArgument, "max_size can't cut [{}]: its rows have no bytes", fmt::join(shape, ", "));
      out[0] = max_size_shards(*this, shape, element_bytes);
      break;
  }
  return out;
}

Result<Partitioner> parse_partitioner(const nlohmann::ordered_json& json) {
  const auto [name, body] = TFD_TRY(tensor::JsonValue(json, "").only_member(R"({"fixed_shards": {"num_shards": 2}})"));
  tensor::JsonObject settings(body);
  Partitioner out;
  if (name == "fixed_shards") {
    out.num_shards = settings.required_integer("num_shards", 1);
  } else if (name == "min_size") {
    out.kind = Partitioner::Kind::kMinSize;
    out.min_shard_bytes = settings.nullable_integer("min_shard_bytes", 1).value_or(out.min_shard_bytes);
    out.max_shards = settings.nullable_integer("max_shards", 1).value_or(1);
    out.bytes_per_string = settings.nullable_integer("bytes_per_string", 1).value_or(out.bytes_per_string);
  } else if (name == "max_size") {
    out.kind = Partitioner::Kind::kMaxSize;
    out.max_shard_bytes = settings.required_integer("max_shard_bytes", 1);
    out.max_shards = settings.nullable_integer("max_shards", 0).value_or(0);
    out.bytes_per_string = settings.nullable_integer("bytes_per_string", 1).value_or(out.bytes_per_string);
  } else {
    const std::vector<std::string> names{"fixed_shards", "min_size", "max_size"};
    const std::string hint = did_you_mean(name, names);
    return fail(Code::kInvalidArgument, "{}: no such partitioner{}", printable(name),
                hint.empty() ? fmt::format(" (available: {})", join_words(names)) : hint);
  }
  TFD_TRY(settings.finish());
  return out;
}

nlohmann::ordered_json to_json(const Partitioner& partitioner) {
  if (partitioner.kind == Partitioner::Kind::kFixedShards)
    return {{"fixed_shards", {{"num_shards", partitioner.num_shards}}}};
  const bool is_min = partitioner.kind == Partitioner::Kind::kMinSize;
  nlohmann::ordered_json body = {{"max_shards", partitioner.max_shards},
                                 {"bytes_per_string", partitioner.bytes_per_string}};
  if (is_min)
    body["min_shard_bytes"] = partitioner.min_shard_bytes;
  else
    body["max_shard_bytes"] = partitioner.max_shard_bytes;
  return {{is_min ? "min_size" : "max_size", std::move(body)}};
}

Result<std::int64_t> shard_count(const std::vector<std::int64_t>& partitions, const tensor::Shape& shape) {
  const bool cuts_rows_only = !partitions.empty() && partitions[0] > 0 &&
                              std::all_of(partitions.begin() + 1, partitions.end(), [](auto n) { return n == 1; });
  if (!cuts_rows_only || shape.empty())
    return fail(Code::kInvalidArgument, "partitions must be 1 except for the first, which must not be 0: [{}]",
                fmt::join(partitions, ", "));
  if (shape[0] == 0 && partitions[0] > 1)
    return fail(Code::kInvalidArgument, "[{}] has no rows to split into {} shards", fmt::join(shape, ", "),
                partitions[0]);
  return std::min(partitions[0], std::max<std::int64_t>(shape[0], 1));
}

}  // namespace tfd::variable
