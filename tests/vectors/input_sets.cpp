// SPDX-License-Identifier: Apache-2.0
//
// Datasets: rebatched, sharded, distributed over replicas and workers, as TensorFlow does it.
#include "pipelines.hpp"
#include "tfd/strategy/strategy.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::vectors {
namespace {

using tensor::Tensor;

Result<strategy::DatasetPtr> make_dataset(const data::Plan& plan) { return data::instantiate(plan, context()); }

constexpr std::size_t kMostElements = 1000;

Json elements_of(const Result<data::Plan>& plan) {
  if (!plan) return error_record(plan.error());
  const auto dataset = make_dataset(*plan);
  if (!dataset) return error_record(dataset.error());
  const auto iterator = (*dataset)->iterate();
  if (!iterator) return error_record(iterator.error());
  Json elements = Json::array();
  while (elements.size() < kMostElements) {
    const auto element = (*iterator)->next();
    if (!element) return error_record(element.error());
    if (!*element) break;
    elements.push_back(value_of(**element));
  }
  return elements;
}

/// `expected` where the case has an error; else under this key.
Json keyed(const char* key, Json value) {
  return value.is_object() && value.contains("error") ? value : Json{{key, std::move(value)}};
}

void run_rebatch_sizes(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"global_batch_size", "num_workers", "replicas_per_worker", "worker_index"});
  const auto sizes = data::batch_sizes_for_worker(input.at("global_batch_size"), input.at("num_workers"),
                                                  input.at("replicas_per_worker"), input.at("worker_index"));
  report.compare(expected, Json{{"batch_sizes", sizes}}, "case");
}

void run_rebatch_kernels(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"pipeline"});
  const TextFiles files;
  report.compare(expected, keyed("elements", elements_of(read_plan(input.at("pipeline"), files))), "case");
}

void run_compute_batch_size(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"pipeline"});
  const TextFiles files;
  const auto plan = read_plan(input.at("pipeline"), files).value();
  const auto size = data::compute_batch_size(plan, make_dataset(data::with_hint(plan, {})).value()->spec());
  report.compare(expected, size ? Json{{"batch_size", *size}} : error_record(size.error()), "case");
}

void run_autoshard(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"num_shards", "indices", "pipeline"});
  const TextFiles files;
  const auto plan = read_plan(input.at("pipeline"), files).value();
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < input.at("num_shards").get<std::int64_t>(); ++i) indices.push_back(i);
  if (input.contains("indices")) indices = input.at("indices").get<std::vector<std::int64_t>>();
  Json shards = Json::array();
  for (const std::int64_t index : indices) {
    const data::Reader reader{input.at("num_shards"), index, 1};
    Json shard = keyed("elements", elements_of(data::auto_shard(plan, reader, data::policy_of(plan))));
    shard["index"] = index;
    shards.push_back(std::move(shard));
  }
  report.compare(expected, Json{{"shards", shards}}, "case");
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

/// Per replica, step by step; the error of the first step that has one.
Json steps_of(const Result<strategy::DistributedDataset>& dataset, std::size_t most) {
  if (!dataset) return error_record(dataset.error(), "distribute");
  auto iterator = dataset->iterate();
  if (!iterator) return error_record(iterator.error());
  Json steps = Json::array();
  while (steps.size() < most) {
    const auto element = iterator->next();
    if (!element) return error_record(element.error());
    if (!*element) break;
    Json replicas = Json::array();
    for (std::size_t replica = 0; replica < (*element)->fields.front().components().size(); ++replica)
      replicas.push_back(value_of((*element)->on(replica)));
    steps.push_back(replicas);
  }
  return steps;
}

Json steps_of(const Json& input, const strategy::Distribution& distribution) {
  const TextFiles files;
  const auto plan = read_plan(input.at("pipeline"), files).value();
  const auto dataset = strategy::DistributedDataset::of_plan(plan, make_dataset, distribution);
  return steps_of(dataset, input.value("max_steps", kMostElements));
}

std::unique_ptr<strategy::Strategy> mirrored(int replicas) {
  return strategy::Strategy::make({.kind = &strategy::kMirroredKind,
                                   .devices = function::first_devices(replicas),
                                   .compat = Compat::kTensorflow})
      .value();
}

void run_dataset_mirrored(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"replicas", "pipeline", "max_steps"});
  const TextFiles files;
  const auto plan = read_plan(input.at("pipeline"), files).value();
  const auto dataset = mirrored(input.at("replicas"))->experimental_distribute_dataset(plan, context());
  report.compare(expected, keyed("steps", steps_of(dataset, input.value("max_steps", kMostElements))), "case");
}

strategy::Distribution over_workers(const Json& input, bool between_graph) {
  return {.workers = input.at("workers"),
          .replicas = input.at("replicas"),
          .compat = Compat::kTensorflow,
          .between_graph = between_graph};
}

void run_dataset_multi_host(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"replicas", "workers", "pipeline", "max_steps"});
  report.compare(expected, keyed("steps", steps_of(input, over_workers(input, false))), "case");
}

void run_dataset_between_graph(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"replicas", "workers", "pipeline", "max_steps"});
  const auto distribution = over_workers(input, true);
  Json steps = steps_of(input, distribution);
  if (steps.is_object()) {  // the error of a worker, which its message begins with
    const std::string message = steps.at("error").at("message");
    constexpr std::string_view kWorker = "input pipeline ";
    if (message.starts_with(kWorker)) steps["error"]["worker"] = std::stoi(message.substr(kWorker.size()));
    return report.compare(expected, steps, "case");
  }
  Json by_worker = Json::array();
  for (const Json& step : steps) {
    Json workers = Json::array();
    for (std::size_t replica = 0; replica < step.size(); ++replica) {
      if (replica % static_cast<std::size_t>(distribution.replicas / distribution.workers) == 0)
        workers.push_back(Json::array());
      workers.back().push_back(step[replica]);
    }
    by_worker.push_back(workers);
  }
  report.compare(expected, Json{{"steps", by_worker}}, "case");
}

void run_dataset_from_function(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"replicas", "pipeline", "pipelines", "per_replica", "max_steps"});
  const TextFiles files;
  std::vector<data::Plan> plans;
  for (const Json& one : input.contains("pipelines") ? input.at("pipelines") : Json::array({input.at("pipeline")}))
    plans.push_back(read_plan(one, files).value());
  Json contexts = Json::array();
  const auto make = [&](const strategy::InputContext& context) -> Result<strategy::DatasetPtr> {
    contexts.push_back({{"num_input_pipelines", context.num_input_pipelines},
                        {"input_pipeline_id", context.input_pipeline_id},
                        {"num_replicas_in_sync", context.num_replicas_in_sync}});
    return make_dataset(plans[static_cast<std::size_t>(context.input_pipeline_id) % plans.size()]);
  };
  const bool is_per_replica = expected.contains("input_contexts") && expected.at("input_contexts").size() > 1;
  const auto dataset =
      mirrored(input.at("replicas"))
          ->distribute_datasets_from_function(make, is_per_replica ? strategy::InputReplicationMode::kPerReplica
                                                                   : strategy::InputReplicationMode::kPerWorker);
  Json actual = keyed("steps", steps_of(dataset, input.value("max_steps", kMostElements)));
  if (!actual.contains("error")) actual["input_contexts"] = contexts;
  report.compare(expected, actual, "case");
}

}  // namespace

Sets input_sets() {
  return {{"rebatch_sizes", run_rebatch_sizes},
          {"rebatch_kernels", run_rebatch_kernels},
          {"compute_batch_size", run_compute_batch_size},
          {"autoshard", run_autoshard},
          {"input_context", run_input_context},
          {"dataset_mirrored", run_dataset_mirrored},
          {"dataset_multi_host", run_dataset_multi_host},
          {"dataset_between_graph", run_dataset_between_graph},
          {"dataset_from_function", run_dataset_from_function}};
}

}  // namespace tfd::vectors
