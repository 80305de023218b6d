// SPDX-License-Identifier: Apache-2.0
#include "sets.hpp"
#include "tfd/variable/partitioner.hpp"
#include "tfd/variable/placement.hpp"
#include "tfd/variable/replicated.hpp"

namespace tfd::vectors {
namespace {

using tensor::DType;
using tensor::Tensor;
using tensor::TensorSpec;
using variable::Aggregation;
using variable::Partitioner;
using variable::WriteOp;

// {"kind": "MinSize", "args": {…}} as tfd writes it.
Result<Partitioner> read_partitioner(const Json& input) {
  const std::string kind = input.at("kind");
  const std::string name = kind == "FixedShards" ? "fixed_shards" : kind == "MinSize" ? "min_size" : "max_size";
  return variable::parse_partitioner(Json{{name, input.value("args", Json::object())}});
}

void run_partitioners(const Json& input, const Json& expected, Report& report) {
  const auto partitioner = read_partitioner(input);
  if (!partitioner) return report.compare(expected, error_record(partitioner.error(), "constructor"), "case");
  const std::string dtype = input.at("dtype");
  const std::int64_t bytes = dtype == "string"
                                 ? partitioner->bytes_per_string
                                 : static_cast<std::int64_t>(dtype_size(tensor::parse_dtype(dtype).value()));
  const auto parts = partitioner->partitions(input.at("shape").get<tensor::Shape>(), bytes);
  if (!parts) return report.compare(expected, error_record(parts.error(), "call"), "case");
  report.compare(expected, Json{{"partitions", *parts}}, "case");
}

std::string device(int ps) { return fmt::format("/job:ps/task:{}/device:CPU:0", ps); }

Json describe_placed(const variable::PlacedVariable& placed, const Json& stated) {
  const std::int64_t count = placed.sharding.count();
  Json out{{"name", placed.name}, {"sharded", count > 1}, {"shape", placed.sharding.shape()}};
  if (count == 1) out["device"] = device(placed.ps[0]);
  for (std::int64_t i = 0; count > 1 && i < count; ++i) {
    Json shard{{"name", variable::shard_name(placed.name, i) + ":0"},
               {"shape", placed.sharding.shard_shape(i)},
               {"device", device(placed.ps[static_cast<std::size_t>(i)])}};
    if (stated.contains("values")) {
      const auto values = stated.at("values").get<std::vector<double>>();
      const auto first = values.begin() + placed.sharding.first_row(i);
      shard["values"] = std::vector<double>(first, first + placed.sharding.rows(i));
    }
    out["shards"].push_back(shard);
  }
  return out;
}

// A partitioner that isn't one of the three returns what it likes.
Json place_raw(const Json& input, int ps_count) {
  Json out = Json::array();
  variable::Placer placer(ps_count);
  const auto parts = input.at("partitioner").at("returns").get<std::vector<std::int64_t>>();
  for (const Json& stated : input.at("variables")) {
    const auto shape = stated.at("shape").get<tensor::Shape>();
    const auto count = variable::shard_count(parts, shape);
    if (!count) {
      Json failed{{"name", stated.at("name")}};
      failed.update(error_record(count.error()));
      out.push_back(failed);
      continue;
    }
    out.push_back(
        describe_placed(placer.place(stated.at("name"), variable::Sharding::make(shape, *count).value()), stated));
  }
  return out;
}

void run_placement(const Json& input, const Json& expected, Report& report) {
  const int ps_count = expected.at("num_ps");
  const Json partitioner = input.value("partitioner", Json());
  if (!partitioner.is_null() && partitioner.at("kind") == "raw")
    return report.compare(expected.at("variables"), place_raw(input, ps_count), "variables");
  std::vector<variable::VariableToPlace> variables;
  for (const Json& stated : input.at("variables")) {
    variables.push_back({stated.at("name"), {DType::kF32, stated.at("shape").get<tensor::Shape>()}, {}, ""});
    if (!partitioner.is_null()) variables.back().partitioner = read_partitioner(partitioner).value();
    variables.back().colocate_with = stated.value("colocate_with", "");
  }
  const auto placed = variable::place_variables(variables, ps_count);
  if (!placed) return report.compare(expected, error_record(placed.error()), "case");
  Json out = Json::array();
  for (std::size_t i = 0; i < placed->size(); ++i)
    out.push_back(describe_placed((*placed)[i], input.at("variables").at(i)));
  report.compare(expected.at("variables"), out, "variables");
}

Tensor scalar_of(const Json& value, DType dtype) {
  if (dtype == DType::kF32) return Tensor::scalar(dtype, value.get<float>());
  if (dtype == DType::kF64) return Tensor::scalar(dtype, value.get<double>());
  if (dtype == DType::kS64) return Tensor::scalar(dtype, value.get<std::int64_t>());
  return Tensor::scalar(DType::kS32, value.get<std::int32_t>());
}

Json number_of(const Tensor& value) {
  switch (value.dtype()) {
    case DType::kF32:
      return static_cast<double>(value.as<float>()[0]);
    case DType::kF64:
      return value.as<double>()[0];
    case DType::kS64:
      return value.as<std::int64_t>()[0];
    default:
      return value.as<std::int32_t>()[0];
  }
}

Json read_json(const variable::ReplicatedVariable& v) {
  const auto read = v.read_across();
  return read ? number_of(*read) : error_record(read.error());
}

Json run_op(const Json& op, DType dtype, variable::ReplicatedVariable& v) {
  const std::string context = op.at(0), name = op.at(1);
  const WriteOp write = name == "assign" ? WriteOp::kAssign : name == "assign_add" ? WriteOp::kAdd : WriteOp::kSubtract;
  Result<void> done;
  if (context == "replica") {
    std::vector<Tensor> values;
    for (const Json& value : op.at(2)) values.push_back(scalar_of(value, dtype));
    done = v.write(write, values);
  } else if (context == "replica_same") {
    done = v.write_same(write, scalar_of(op.at(2), dtype));
  } else {
    done = v.write_across(write, scalar_of(op.at(2), dtype));
    // TensorFlow's assign returns the variable, and reading that is part of the call.
    if (done && !v.read_across()) done = tl::unexpected<Error>(v.read_across().error());
  }
  Json out{{"op", op}};
  if (done)
    out["result"] = "ok";
  else
    out.update(error_record(done.error()));
  for (const Tensor& copy : v.copies()) out["copies"].push_back(number_of(copy));
  out["cross_replica_read"] = read_json(v);
  return out;
}

std::string upper(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return out;
}

void run_variables(const Json& input, const Json& expected, Report& report) {
  const DType dtype = tensor::parse_dtype(input.at("dtype").get<std::string>()).value();
  const auto kind =
      variable::resolve_kind(dtype, variable::parse_synchronization(input.value("synchronization", "AUTO")).value(),
                             variable::parse_aggregation(input.value("aggregation", "NONE")).value(),
                             optional_member<bool>(input, "trainable"));
  if (!kind) return report.compare(expected, error_record(kind.error(), "create"), "case");
  const int replicas = input.at("replicas");
  variable::ReplicatedVariable v(*kind, scalar_of(input.at("initial"), dtype), replicas);
  const bool on_read = kind->synchronization == variable::Synchronization::kOnRead;
  Json out{{"type", on_read ? "SyncOnReadVariable" : "MirroredVariable"},
           {"synchronization", upper(name_of(kind->synchronization))},
           {"aggregation", upper(name_of(kind->aggregation))},
           {"trainable", kind->trainable},
           {"names", Json::array()},
           {"trace", Json::array()}};
  for (int i = 0; i < replicas; ++i) out["names"].push_back(i == 0 ? "v:0" : fmt::format("v/replica_{}:0", i));
  for (const Json& op : input.at("ops")) out["trace"].push_back(run_op(op, dtype, v));
  report.compare(expected, out, "case");
}

}  // namespace

Sets variable_sets() {
  return {{"partitioners", run_partitioners}, {"ps_placement", run_placement}, {"variables", run_variables}};
}

}  // namespace tfd::vectors
