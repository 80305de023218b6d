// SPDX-License-Identifier: Apache-2.0
#include "sets.hpp"
#include "tfd/strategy/values.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::vectors {
namespace {

using strategy::DistributedValue;
using tensor::Tensor;

/// A list of one for each replica, each of its own shape.
std::vector<Tensor> read_values(const Json& stated, tensor::DType dtype) {
  std::vector<Tensor> out;
  for (const Json& one : stated) {
    tensor::Shape shape;
    for (const Json* level = &one; level->is_array(); level = &level->front()) {
      shape.push_back(static_cast<std::int64_t>(level->size()));
      if (level->empty()) break;
    }
    out.push_back(tensor::tensor_from_json(nlohmann::json(one), {dtype, shape}).value());
  }
  return out;
}

DistributedValue read_value(const Json& input) {
  const auto dtype = tensor::parse_dtype(input.at("dtype").get<std::string>()).value();
  if (input.contains("single")) return read_values(Json::array({input.at("single")}), dtype)[0];
  if (!input.value("mirrored", false)) return DistributedValue::per_replica(read_values(input.at("values"), dtype));
  const auto one = read_values(Json::array({input.at("mirrored_value")}), dtype)[0];
  return DistributedValue::mirrored(std::vector<Tensor>(input.at("replicas").get<std::size_t>(), one));
}

std::string numpy_name(tensor::DType dtype) {
  const std::string name(tensor::dtype_name(dtype));
  static const std::map<char, std::string> kKinds{{'f', "float"}, {'s', "int"}, {'u', "uint"}};
  const auto kind = kKinds.find(name[0]);
  return name == "bf16" ? "bfloat16" : kind == kKinds.end() ? name : kind->second + name.substr(1);
}

Json describe(const Tensor& tensor) {
  const auto value = tensor::tensor_to_json(tensor);
  return {{"dtype", numpy_name(tensor.dtype())},
          {"shape", tensor.shape()},
          {"value", value.is_object() ? Json(value.at("data")) : Json(value)}};
}

Json describe(const Result<Tensor>& result) { return result ? describe(*result) : error_record(result.error()); }

Result<Tensor> reduce_case(const Json& input) {
  const auto how = TFD_TRY(strategy::parse_reduce(input.at("op").get<std::string>()));
  std::optional<std::vector<std::int64_t>> axes;
  if (const Json axis = input.value("axis", Json()); axis.is_array())
    axes = axis.get<std::vector<std::int64_t>>();
  else if (!axis.is_null())
    axes.emplace({axis.get<std::int64_t>()});
  return strategy::reduce(how, read_value(input), axes, input.at("replicas"));
}

void run_reduce(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"replicas", "values", "single", "mirrored", "mirrored_value", "dtype", "op", "axis"});
  report.compare(expected, describe(reduce_case(input)), "case");
}

void run_gather(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"replicas", "values", "single", "dtype", "axis"});
  report.compare(expected, describe(strategy::gather(read_value(input), input.at("axis"))), "case");
}

/// Every replica gets what reduce() or gather() gives outside of them.
void run_all_reduce(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"replicas", "values", "dtype", "op", "axis"});
  const bool gathers = input.at("op") == "GATHER";
  const auto result = gathers ? strategy::gather(read_value(input), input.value("axis", 0)) : reduce_case(input);
  if (!result) return report.compare(expected, error_record(result.error()), "case");
  const Json each(input.at("replicas").get<std::size_t>(), describe(*result));
  report.compare(expected, Json{{"per_replica", each}}, "case");
}

Tensor number(std::int64_t value) { return Tensor::scalar(tensor::DType::kS64, value); }

/// Of every replica what make(its id) gives.
template <class F>
DistributedValue value_of(int replicas, F make) {
  std::vector<Tensor> components;
  for (int replica = 0; replica < replicas; ++replica) components.push_back(number(make(replica)));
  return DistributedValue::per_replica(std::move(components));
}

void run_local_results(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"replicas", "kind", "mul", "value"});
  const std::string kind = input.at("kind");
  const int replicas = input.at("replicas"), stated = input.value("value", 0);
  Json local = Json::array();
  if (kind == "nested") {
    const auto id = [](int replica) { return replica; };
    for (const auto& one : strategy::local_results(std::map<std::string, DistributedValue>{
             {"x", value_of(replicas, id)}, {"y", DistributedValue(number(stated))}})) {
      local.push_back(Json::object());
      for (const auto& [name, tensor] : one) local.back()[name] = Json(tensor::tensor_to_json(tensor));
    }
    return report.compare(expected, Json{{"local", local}}, "case");
  }
  // A constant of the caller's is no replica's.
  const bool is_constant = kind == "plain" || kind == "run_python_constant";
  const int multiplier = kind == "from_function" ? input.at("mul").get<int>() : 1;
  const int first = kind == "from_function" ? 1 : 0;
  const DistributedValue value = is_constant
                                     ? DistributedValue(number(stated))
                                     : value_of(replicas, [&](int replica) { return (replica + first) * multiplier; });
  for (const Tensor& one : strategy::local_results(value)) local.push_back(Json(tensor::tensor_to_json(one)));
  Json actual{{"local", local}};
  if (expected.contains("type")) actual["type"] = value.is_plain() ? "int" : "PerReplica";
  report.compare(expected, actual, "case");
}

}  // namespace

Sets strategy_sets() {
  return {{"reduce", run_reduce},
          {"gather", run_gather},
          {"gather_errors", run_gather},
          {"all_reduce", run_all_reduce},
          {"local_results", run_local_results}};
}

}  // namespace tfd::vectors
