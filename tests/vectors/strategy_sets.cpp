// SPDX-License-Identifier: Apache-2.0
#include "sets.hpp"
#include "tfd/strategy/strategy.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::vectors {
namespace {

using strategy::DistributedValue;
using strategy::ReplicaContext;
using strategy::Strategy;
using tensor::Tensor;
using Tensors = std::vector<Tensor>;

std::unique_ptr<Strategy> mirrored(int replicas) {
  return Strategy::make({.kind = &strategy::kMirroredKind, .devices = function::first_devices(replicas)}).value();
}

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

DistributedValue read_value(const Json& input, Strategy& on) {
  const auto dtype = tensor::parse_dtype(input.at("dtype").get<std::string>()).value();
  if (input.contains("single")) return read_values(Json::array({input.at("single")}), dtype)[0];
  if (!input.value("mirrored", false)) return DistributedValue::per_replica(read_values(input.at("values"), dtype));
  const auto one = read_values(Json::array({input.at("mirrored_value")}), dtype)[0];
  return on.create_variable("v", one).value()->copies().value();
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

void run_reduce(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"replicas", "values", "single", "mirrored", "mirrored_value", "dtype", "op", "axis"});
  const auto on = mirrored(input.at("replicas"));
  std::optional<std::vector<std::int64_t>> axes;
  if (const Json axis = input.value("axis", Json()); axis.is_array())
    axes = axis.get<std::vector<std::int64_t>>();
  else if (!axis.is_null())
    axes.emplace({axis.get<std::int64_t>()});
  const auto how = strategy::parse_reduce(input.at("op").get<std::string>());
  if (!how) return report.compare(expected, error_record(how.error()), "case");
  report.compare(expected, describe(on->reduce(*how, read_value(input, *on), axes)), "case");
}

void run_gather(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"replicas", "values", "single", "dtype", "axis"});
  const auto on = mirrored(input.at("replicas"));
  report.compare(expected, describe(on->gather(read_value(input, *on), input.at("axis"))), "case");
}

void run_all_reduce(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"replicas", "values", "dtype", "op", "axis"});
  const auto on = mirrored(input.at("replicas"));
  const std::string op = input.at("op");
  const auto each = [&](ReplicaContext& replica, const Tensors& args) -> Result<Tensors> {
    if (op == "GATHER") return Tensors{TFD_TRY(replica.all_gather(args[0], input.value("axis", 0)))};
    return Tensors{TFD_TRY(replica.all_reduce(TFD_TRY(strategy::parse_reduce(op)), args[0]))};
  };
  const auto results = on->run(each, {read_value(input, *on)});
  if (!results) return report.compare(expected, error_record(results.error()), "case");
  Json all = Json::array();
  for (std::size_t replica = 0; replica < input.at("replicas").get<std::size_t>(); ++replica)
    all.push_back(describe(results->front().on(replica)));
  report.compare(expected, Json{{"per_replica", all}}, "case");
}

Tensor number(std::int64_t value) { return Tensor::scalar(tensor::DType::kS64, value); }

/// What the case's strategy makes.
DistributedValue local_value(const std::string& kind, const Json& input, Strategy& on) {
  const Tensor stated = number(input.value("value", 0));
  if (kind == "plain") return stated;
  if (kind == "from_function")
    return on
        .experimental_distribute_values_from_function([&](const strategy::ValueContext& context) -> Result<Tensor> {
          return number((context.replica_id_in_sync_group + 1) * input.at("mul").get<int>());
        })
        .value();
  const bool is_constant = kind == "run_python_constant";
  return on
      .run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
        return Tensors{is_constant ? stated : number(replica.replica_id_in_sync_group())};
      })
      .value()
      .front();
}

void run_local_results(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"replicas", "kind", "mul", "value"});
  const auto on = mirrored(input.at("replicas"));
  const std::string kind = input.at("kind");
  Json local = Json::array();
  if (kind == "nested") {  // {"x": of each replica, "y": a constant}
    for (const Tensors& one :
         strategy::local_results({local_value("run_replica_id", input, *on), local_value("plain", input, *on)}))
      local.push_back({{"x", Json(tensor::tensor_to_json(one[0]))}, {"y", Json(tensor::tensor_to_json(one[1]))}});
    return report.compare(expected, Json{{"local", local}}, "case");
  }
  const DistributedValue value = local_value(kind, input, *on);
  for (const Tensor& one : strategy::local_results(value)) local.push_back(Json(tensor::tensor_to_json(one)));
  Json actual{{"local", local}};
  if (expected.contains("type")) actual["type"] = value.is_plain() ? "int" : "PerReplica";
  report.compare(expected, actual, "case");
}

void run_input_context(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"context", "global_batch_size"});
  const Json& stated = input.at("context");
  check_keys(stated, {"num_input_pipelines", "input_pipeline_id", "num_replicas_in_sync"});
  strategy::InputContext context;
  context.num_input_pipelines = stated.value("num_input_pipelines", context.num_input_pipelines);
  context.input_pipeline_id = stated.value("input_pipeline_id", context.input_pipeline_id);
  context.num_replicas_in_sync = stated.value("num_replicas_in_sync", context.num_replicas_in_sync);
  // How Python shows it, which is no text of tfd's.
  const std::string shown = fmt::format("tf.distribute.InputContext(input pipeline id {}, total: {})",
                                        context.input_pipeline_id, context.num_input_pipelines);
  const auto size = context.get_per_replica_batch_size(input.at("global_batch_size"));
  report.compare(expected, Json{{"per_replica", to_json(size)}, {"str", shown}}, "case");
}

/// nullopt: of something that tfd's pipelines don't have.
std::optional<data::Plan> read_pipeline(const Json& stated) {
  check_keys(stated, {"source", "ops", "policy"});
  const Json& source = stated.at("source");
  if (!source.contains("range") && !source.contains("slices")) return std::nullopt;
  Json plan = Json::array();
  if (source.contains("range"))
    plan.push_back({{"range", source.at("range")}});
  else
    plan.push_back({{"tensor_slices", {{"fields", {{"rows", source.at("slices")}}}}}});
  for (const Json& op : stated.at("ops")) {
    const std::string name = op.at(0);
    if (name == "batch")
      plan.push_back({{"batch", {{"size", op.at(1)}, {"drop_remainder", op.size() > 2 && op.at(2).get<bool>()}}}});
    else if (name == "repeat")
      plan.push_back({{"repeat", op.size() > 1 ? Json{{"count", op.at(1)}} : Json::object()}});
    else
      return std::nullopt;
  }
  const auto read = data::parse_plan(plan);
  if (!read) throw std::runtime_error(read.error().message);
  return *read;
}

/// Per replica, step by step; the error of the first step that has one.
Json steps_of(const strategy::DistributedDataset& dataset, int most) {
  Json steps = Json::array();
  auto iterator = dataset.iterate().value();
  for (int step = 0; step < most; ++step) {
    const auto element = iterator.next();
    if (!element) return error_record(element.error(), "distribute");
    if (!*element) break;
    Json replicas = Json::array();
    for (const Tensor& one : (*element)->fields.front().components()) {
      const auto value = tensor::tensor_to_json(one);
      replicas.push_back(value.is_object() ? Json(value.at("data")) : Json(value));
    }
    steps.push_back(replicas);
  }
  return steps;
}

/// How many rows each replica has in TensorFlow: pieces of one size, as far as they go. tfd's are as equal as can be.
bool are_equal_shares(const Json& steps) {
  for (const Json& step : steps) {
    std::size_t most = 0, least = step.empty() ? 0 : step[0].size();
    for (const Json& share : step) {
      most = std::max(most, share.size());
      least = std::min(least, share.size());
    }
    if (most > least + 1) return false;
    for (std::size_t i = 1; i < step.size(); ++i)
      if (step[i].size() > step[i - 1].size()) return false;
  }
  return true;
}

void run_dataset_mirrored(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"replicas", "pipeline", "max_steps"});
  const auto plan = read_pipeline(input.at("pipeline"));
  if (!plan) return report.not_implemented("a pipeline that tfd doesn't have");
  if (!are_equal_shares(expected.value("steps", Json::array())))
    return report.not_implemented("shares that aren't as equal as can be, as TensorFlow's are");
  const auto on = mirrored(input.at("replicas"));
  const auto dataset = on->experimental_distribute_dataset(*plan, {}).value();
  Json steps = steps_of(dataset, input.value("max_steps", 1000));
  report.compare(expected, steps.is_array() ? Json{{"steps", std::move(steps)}} : std::move(steps), "case");
}

void run_dataset_from_function(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"replicas", "pipeline", "pipelines", "per_replica"});
  std::vector<data::Plan> plans;
  for (const Json& one : input.contains("pipelines") ? input.at("pipelines") : Json::array({input.at("pipeline")})) {
    plans.push_back(read_pipeline(one).value());
    const auto* batch = std::get_if<data::Batch>(&plans.back().stages.back());
    if (batch != nullptr && batch->drop_remainder)
      return report.not_implemented("data that are lost where shapes are static");
  }
  const auto on = mirrored(input.at("replicas"));
  Json contexts = Json::array();
  const auto make = [&](const strategy::InputContext& context) -> Result<strategy::DatasetPtr> {
    contexts.push_back({{"num_input_pipelines", context.num_input_pipelines},
                        {"input_pipeline_id", context.input_pipeline_id},
                        {"num_replicas_in_sync", context.num_replicas_in_sync}});
    return data::instantiate(plans[static_cast<std::size_t>(context.input_pipeline_id) % plans.size()], {});
  };
  const bool is_per_replica = expected.at("input_contexts").size() > 1;
  const auto dataset = on->distribute_datasets_from_function(
      make, is_per_replica ? strategy::InputReplicationMode::kPerReplica : strategy::InputReplicationMode::kPerWorker);
  report.compare(expected, Json{{"steps", steps_of(dataset.value(), 1000)}, {"input_contexts", contexts}}, "case");
}

}  // namespace

Sets strategy_sets() {
  return {{"reduce", run_reduce},
          {"gather", run_gather},
          {"gather_errors", run_gather},
          {"all_reduce", run_all_reduce},
          {"local_results", run_local_results},
          {"input_context", run_input_context},
          {"dataset_mirrored", run_dataset_mirrored},
          {"dataset_from_function", run_dataset_from_function}};
}

}  // namespace tfd::vectors
