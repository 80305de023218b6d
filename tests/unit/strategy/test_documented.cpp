// SPDX-License-Identifier: Apache-2.0
//
// Promises of TensorFlow's pages of TPUStrategy and of distributed datasets about the Strategy itself, one test each.
// Those visible on the command line are in tests/cli/t3110-tpu-documented.bats; those of ParameterServerStrategy in
// test_documented_v1.cpp.
#include <condition_variable>
#include <mutex>

#include "strategy_kit.hpp"

namespace tfd::strategy::test {
namespace {

using nlohmann::json;
using program::Reduce;
using tensor::Tensor;
using variable::Aggregation;

data::Plan batches_of_four() {
  return data::parse_plan(nlohmann::ordered_json::parse(R"([{"range": 4}, {"batch": 2}])")).value();
}
std::int64_t first_of(const Tensor& value) { return value.as<std::int64_t>()[0]; }

/// A TPU strategy on one host, whose topology is stated.
std::unique_ptr<Strategy> tpu_strategy(const std::vector<std::int64_t>& mesh) {
  const auto topology = Topology::full(mesh).value();
  std::vector<std::string> names;
  for (const auto& at : topology.device_coordinates().front()) names.push_back(topology.tpu_device(at).value());
  const auto plan = plan_tpu(names, std::nullopt).value();
  return Strategy::make({.kind = &kTpuKind, .devices = {.positions = plan.positions}, .tpu = plan}).value();
}

TEST_CASE("strategy page: the cluster resolver that it was made from is its property; without one there is none") {
  CHECK(make(kMirroredKind, 2)->cluster_resolver() == nullptr);
  cluster::ClusterConfig config;
  config.cluster.add_task("worker", 0, "h1:8470");
  config.task = cluster::TaskId{"worker", 0};
  const auto strategy = Strategy::make({.cluster_resolver = config}).value();
  REQUIRE(strategy->cluster_resolver() != nullptr);
  CHECK(strategy->cluster_resolver()->task->job == "worker");  // as the page's example asks
  CHECK(strategy->cluster_resolver()->cluster.task_address("worker", 0).value() == "h1:8470");
}

TEST_CASE("strategy page: num_replicas_in_sync is the number of replicas over which gradients are aggregated") {
  const auto strategy = tpu_strategy({2, 2, 1, 2});
  CHECK(strategy->num_replicas_in_sync() == 8);
  const auto sum = strategy->run([](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
    return Tensors{TFD_TRY(replica.all_reduce(Reduce::kSum, floats(1)))};
  });
  CHECK(shown(sum.value()[0].on(0)) == 8);
}

TEST_CASE("strategy page: variables created in the scope are replicated across all replicas, and kept in sync") {
  const auto strategy = tpu_strategy({2, 1, 1, 2});
  const Scope scope = strategy->scope().value();
  DistributedVariable* const w = strategy->create_variable("w", floats(10), {.aggregation = Aggregation::kSum}).value();
  CHECK(w->copy_names().size() == 4);
  for (int step = 0; step < 3; ++step)
    REQUIRE(strategy->run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
      TFD_TRY(w->assign_sub(floats(id_of(replica))));  // a gradient of its own
      return Tensors{};
    }));
  CHECK(shown(w->copies().value()) == json{-8, -8, -8, -8});
}

TEST_CASE("strategy page: a custom training loop: a dataset function, iter, next, and run with the element") {
  const auto strategy = tpu_strategy({1, 1, 1, 2});
  const Scope scope = strategy->scope().value();
  DistributedVariable* const w =
      strategy->create_variable("w", floats({0, 0}), {.aggregation = Aggregation::kSum}).value();
  const auto dataset_fn = [](const InputContext&) -> Result<DatasetPtr> {
    return data::instantiate(
        data::parse_plan(
            nlohmann::ordered_json::parse(
                R"([{"tensor_slices": {"fields": {"features": [[1.0, 2.0], [3.0, 4.0]], "labels": [0.5, 1.0]}}},
                                 {"repeat": {}}, {"batch": {"size": 1, "drop_remainder": true}}])"))
            .value(),
        {});
  };
  auto iterator = strategy->distribute_datasets_from_function(dataset_fn).value().iterate().value();
  const auto step_fn = [&](ReplicaContext&, const Tensors& inputs) -> Result<Tensors> {
    REQUIRE(inputs.size() == 2);  // features, labels = inputs
    CHECK(inputs[0].shape() == tensor::Shape{1, 2});
    TFD_TRY(w->assign_sub(inputs[0].reshaped({2})));
    return Tensors{};
  };
  for (int step = 0; step < 5; ++step) {
    const auto element = iterator.next().value();
    REQUIRE(element);
    REQUIRE(strategy->run(step_fn, {*element}));
  }
  CHECK(shown(w->read()) == json{-20, -30});
}

TEST_CASE("strategy page: extended has the devices of the workers, colocation, updates and value containers") {
  const auto strategy = tpu_strategy({1, 1, 1, 2});
  CHECK(strategy->worker_devices().value() == std::vector<std::string>{"/job:localhost/replica:0/task:0/device:TPU:0",
                                                                       "/job:localhost/replica:0/task:0/device:TPU:1"});
  DistributedVariable* const w = strategy->create_variable("w", floats(1)).value();
  DistributedVariable* const slot = strategy->create_variable("slot", floats(0), {.colocate_with = w}).value();
  REQUIRE(strategy->update(*slot, [&](const Tensor&, const Tensors& args) -> Result<Tensor> { return args[0]; },
                           {w->copies().value()}));
  CHECK(shown(slot->copies().value()) == json{1, 1});
  CHECK(strategy->value_container("slot/replica_1") == slot);
}

TEST_CASE(
    "datasets page: the example of experimental_distribute_dataset: each replica doubles its share of the batch") {
  const auto strategy = make(kMirroredKind, 2);
  const auto dataset = strategy->experimental_distribute_dataset(batches_of_four(), {}).value();
  const auto replica_fn = [](ReplicaContext&, const Tensors& input) -> Result<Tensors> {
    return Tensors{tensor::tensor_from_json(json{first_of(input[0]) * 2}, input[0].spec()).value()};
  };
  json result = json::array();
  auto iterator = dataset.iterate().value();
  for (;;) {
    const auto x = iterator.next().value();
    if (!x) break;
    result.push_back(shown(strategy->run(replica_fn, {*x}).value()[0]));
  }
  CHECK(result == json::parse("[[[0], [2]], [[4], [6]]]"));
}

TEST_CASE("datasets page: it is rebatched to the global batch over the number of replicas in sync") {
  const auto strategy = make(kMirroredKind, 2);
  auto iterator = strategy->experimental_distribute_dataset(batches_of_four(), {}).value().iterate().value();
  const auto element = iterator.next().value();
  REQUIRE(element);
  for (const Tensor& one : element->fields[0].components()) CHECK(one.shape() == tensor::Shape{1});
}

TEST_CASE("datasets page: one can look at element_spec, and make iterators, as often as one likes") {
  const auto dataset = make(kMirroredKind, 2)->experimental_distribute_dataset(batches_of_four(), {}).value();
  CHECK(dataset.element_spec()[0].shape == std::vector<std::int64_t>{-1});
  for (int pass = 0; pass < 2; ++pass) {
    auto iterator = dataset.iterate().value();
    CHECK(first_of(iterator.next().value()->fields[0].on(1)) == 1);
  }
}

TEST_CASE("datasets page: as many batches are prefetched as there are replicas in sync") {
  std::mutex mutex;
  std::condition_variable changed;
  int made = 0;
  data::DatasetContext context;
  context.find_function = [&](const std::string&, const data::ElementSpec& input,
                              const std::vector<std::string>&) -> Result<data::MapFunction> {
    return data::MapFunction{input, [&](const data::Element& element) -> Result<data::Element> {
                               const std::scoped_lock lock(mutex);
                               ++made;
                               changed.notify_all();
                               return element;
                             }};
  };
  const auto plan = data::parse_plan(
      nlohmann::ordered_json::parse(R"([{"range": 12}, {"batch": 2}, {"map": {"function": "count"}}])"));
  auto iterator =
      make(kMirroredKind, 2)->experimental_distribute_dataset(plan.value(), context).value().iterate().value();
  REQUIRE(iterator.next().value());
  std::unique_lock lock(mutex);
  CHECK(changed.wait_for(lock, std::chrono::seconds(20), [&] { return made >= 3; }));  // two ahead of the first
}

TEST_CASE("datasets page: a dataset function batches by itself, is called once, and every replica dequeues a batch") {
  const auto strategy = make(kMirroredKind, 2);
  int calls = 0;
  const auto dataset_fn = [&](const InputContext& context) -> Result<DatasetPtr> {
    ++calls;
    const auto size = TFD_TRY(context.get_per_replica_batch_size(4));
    return data::instantiate(data::parse_plan({{{"range", 8}}, {{"batch", size}}}).value(), {});
  };
  auto iterator = strategy->distribute_datasets_from_function(dataset_fn).value().iterate().value();
  CHECK(shown(iterator.next().value()->fields[0]) == json::parse("[[0, 1], [2, 3]]"));
  CHECK(shown(iterator.next().value()->fields[0]) == json::parse("[[4, 5], [6, 7]]"));
  CHECK_FALSE(iterator.next().value());
  CHECK(calls == 1);
}

TEST_CASE("datasets page: an infinite dataset is sharded by replicas of it that differ only in their random seed") {
  const auto strategy = make(kMirroredKind, 2);
  const auto dataset_fn = [](const InputContext& context) -> Result<DatasetPtr> {
    const nlohmann::ordered_json plan{{{"range", 100}},
                                      {{"shuffle", {{"buffer", 100}, {"seed", 7 + context.input_pipeline_id}}}},
                                      {{"repeat", nlohmann::ordered_json::object()}},
                                      {{"batch", 10}}};
    return data::instantiate(data::parse_plan(plan).value(), {});
  };
  auto iterator = strategy->distribute_datasets_from_function(dataset_fn, InputReplicationMode::kPerReplica)
                      .value()
                      .iterate()
                      .value();
  const auto element = iterator.next().value();
  REQUIRE(element);
  CHECK_FALSE(tensor::same_bytes(element->fields[0].on(0), element->fields[0].on(1)));
}

}  // namespace
}  // namespace tfd::strategy::test
