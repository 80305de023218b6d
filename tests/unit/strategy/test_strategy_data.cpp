// SPDX-License-Identifier: Apache-2.0
//
// Datasets of a strategy: whose rows are whose, and where they end; beyond the vector set input_context.
#include "strategy_kit.hpp"

namespace tfd::strategy::test {
namespace {

using nlohmann::json;
using tensor::Tensor;

data::Plan plan_of(const std::string& text) { return data::parse_plan(nlohmann::ordered_json::parse(text)).value(); }
DatasetPtr dataset_of(const std::string& text) { return data::instantiate(plan_of(text), {}).value(); }

/// The replicas' elements, step by step; the error at the end, if there is one.
json steps_of(const DistributedDataset& dataset, int most = 100) {
  json out = json::array();
  auto iterator = dataset.iterate().value();
  for (int step = 0; step < most; ++step) {
    const auto element = iterator.next();
    if (!element) {
      out.push_back(element.error().message);
      break;
    }
    if (!*element) break;
    out.push_back(shown((*element)->fields.front()));
  }
  return out;
}

json shared(int replicas, const std::string& plan, int most = 100) {
  return steps_of(make(kMirroredKind, replicas)->experimental_distribute_dataset(plan_of(plan), {}).value(), most);
}

TEST_CASE("strategy data: replicas share the rows of a batch, as equal as can be, and nothing is lost") {
  CHECK(shared(2, R"([{"range": 8}, {"batch": 4}])") == json::parse("[[[0,1],[2,3]], [[4,5],[6,7]]]"));
  CHECK(shared(2, R"([{"range": 10}, {"batch": 8}])") == json::parse("[[[0,1,2,3],[4,5,6,7]], [[8],[9]]]"));
  CHECK(shared(4, R"([{"range": 10}, {"batch": 9}])") == json::parse("[[[0,1,2],[3,4],[5,6],[7,8]], [[9],[],[],[]]]"));
  CHECK(shared(4, R"([{"range": 4}, {"batch": 3}])") == json::parse("[[[0],[1],[2],[]], [[3],[],[],[]]]"));
  CHECK(shared(1, R"([{"range": 5}, {"batch": 2}])") == json::parse("[[[0,1]], [[2,3]], [[4]]]"));
  CHECK(shared(2, R"([{"range": 0}, {"batch": 2}])") == json::array());
  CHECK(shared(2, R"([{"range": 5}, {"repeat": {}}, {"batch": 4}])", 3) ==
        json::parse("[[[0,1],[2,3]], [[4,0],[1,2]], [[3,4],[0,1]]]"));
  CHECK(shared(1, R"([{"range": 2}])") == json::parse("[[0], [1]]"));  // one replica needs no rows
  CHECK(make(kMirroredKind, 2)->experimental_distribute_dataset(plan_of(R"([{"range": 4}])"), {}).error().message ==
        "field 'value' of the elements is a scalar, which replicas can't share: batch the dataset");
}

TEST_CASE("strategy data: a distributed dataset says what a replica's elements are") {
  const auto dataset =
      make(kMirroredKind, 2)->experimental_distribute_dataset(plan_of(R"([{"range": 8}, {"batch": 4}])"), {}).value();
  REQUIRE(dataset.element_spec().size() == 1);
  CHECK(dataset.element_spec()[0].dtype == tensor::DType::kS64);
  CHECK(dataset.element_spec()[0].shape == std::vector<std::int64_t>{-1});
}

TEST_CASE("strategy data: of a dataset function each replica takes an element, and none is lost at the end") {
  const auto strategy = make(kMirroredKind, 2);
  std::vector<InputContext> told;
  const auto dataset = [&](const std::string& text) {
    return strategy
        ->distribute_datasets_from_function([&, text](const InputContext& context) -> Result<DatasetPtr> {
          told.push_back(context);
          return dataset_of(text);
        })
        .value();
  };
  CHECK(steps_of(dataset(R"([{"range": 6}, {"batch": 2}])")) == json::parse("[[[0,1],[2,3]], [[4,5],[]]]"));
  CHECK(steps_of(dataset(R"([{"range": 6}, {"batch": {"size": 2, "drop_remainder": true}}])")) ==
        json::parse("[[[0,1],[2,3]], [[4,5],[]]]"));
  CHECK(steps_of(dataset(R"([{"range": 4}])")) == json::parse("[[0,1], [2,3]]"));
  CHECK(
      steps_of(dataset(R"([{"range": 3}])")) ==
      json::parse(R"([[0,1], "the data end with elements for some of 2 replicas: replica 1 has none, and of a scalar )"
                  R"(there is no empty one: batch the dataset"])"));
  REQUIRE(told.size() == 4);
  CHECK(told[0].num_input_pipelines == 1);
  CHECK(told[0].input_pipeline_id == 0);
  CHECK(told[0].num_replicas_in_sync == 2);
  CHECK(told[0].get_per_replica_batch_size(8).value() == 4);
  CHECK(error_of(told[0].get_per_replica_batch_size(7)) ==
        "the `global_batch_size` 7 is not divisible by `num_replicas_in_sync` 2");
}

TEST_CASE("strategy data: workers share a plan, by default nothing is lost, and TensorFlow's way what it loses") {
  const auto over = [](const std::string& plan, const Distribution& distribution) {
    const auto make = [](const data::Plan& one) { return data::instantiate(one, {}); };
    return steps_of(DistributedDataset::of_plan(plan_of(plan), make, distribution).value());
  };
  const std::string ten = R"([{"range": 10}, {"batch": 8}])";
  CHECK(over(ten, {.workers = 2, .replicas = 4}) == json::parse("[[[0,1],[2,3],[4,5],[6,7]], [[8],[9],[],[]]]"));
  CHECK(over(ten, {.workers = 2, .replicas = 4, .compat = Compat::kTensorflow}) ==
        json::parse("[[[0,1],[4,5],[2,3],[6,7]], [[8],[],[9],[]]]"));
  // Pieces of one shape: single client, a step that not all can make is lost; workers that agree on each make it.
  const std::string three = R"([{"range": 3}, {"batch": {"size": 1, "drop_remainder": true}}])";
  CHECK(over(three, {.workers = 2, .replicas = 2}) == json::parse("[[[0],[]], [[1],[]], [[2],[]]]"));
  CHECK(over(three, {.workers = 2, .replicas = 2, .compat = Compat::kTensorflow}) ==
        json::parse("[[[0],[]], [[1],[]], [[2],[]]]"));
  // A shard by hint, which TensorFlow counts as data that never end.
  const std::string hint = R"([{"range": 10}, {"shard": "hint"}, {"batch": 4}, {"options": {"auto_shard": "hint"}}])";
  CHECK(over(hint, {.replicas = 2}) == json::parse("[[[0,1],[2,3]], [[4,5],[6,7]], [[8],[9]]]"));
  CHECK(over(hint, {.replicas = 2, .compat = Compat::kTensorflow}) == json::parse("[[[0,1],[2,3]], [[4,5],[6,7]]]"));
  const auto make = [](const data::Plan& one) { return data::instantiate(one, {}); };
  CHECK(error_of(DistributedDataset::of_plan(plan_of(ten), make, {.workers = 2, .replicas = 3})) ==
        "3 replicas can't be divided by 2 workers: each has the same number of them");
}

TEST_CASE(
    "strategy data: what a training takes in turns under kTensorflow makes the steps that a distributed dataset has") {
  const std::string hint = R"({"options": {"auto_shard": "hint"}})", off = R"({"options": {"auto_shard": "off"}})";
  const std::vector<std::string> plans{R"([{"range": 10}, {"batch": 4}])",
                                       R"([{"range": 11}, {"batch": {"size": 5, "drop_remainder": true}}])",
                                       R"([{"range": 9}, {"batch": 3}, )" + off + "]",
                                       R"([{"range": 13}, {"batch": 6}, {"repeat": 3}, )" + off + "]",
                                       R"([{"range": 7}, {"batch": 2}, {"unbatch": {}}, {"batch": 3}])",
                                       R"([{"range": 10}, {"shard": "hint"}, {"batch": 4}, )" + hint + "]",
                                       R"([{"range": 0}, {"batch": 4}])"};
  const auto make = [](const data::Plan& one) { return data::instantiate(one, {}); };
  for (const std::string& text : plans) {
    for (int replicas = 1; replicas <= 4; ++replicas) {
      CAPTURE(text);
      CAPTURE(replicas);
      const data::Plan plan = plan_of(text);
      const auto whole = make(data::with_hint(plan, {})).value();
      const auto in_turns = data::in_turns_as_tensorflow(plan, *whole, {.replicas = replicas}, true).value();
      const Distribution distribution{.replicas = replicas, .compat = Compat::kTensorflow};
      const auto steps = [&](const data::Plan& of_all) {
        return steps_of(DistributedDataset::of_elements({make(of_all).value()}, replicas));
      };
      CHECK(steps(in_turns) == steps_of(DistributedDataset::of_plan(plan, make, distribution).value()));
      // Every worker of a cluster takes the same.
      CHECK(steps(data::part_of(in_turns, data::Shard{3, 1}).value()) == steps(in_turns));
    }
  }
}

TEST_CASE("strategy data: the next element is for all replicas, so that none of them takes it") {
  const auto strategy = make(kMirroredKind, 2);
  const auto dataset =
      strategy->experimental_distribute_dataset(plan_of(R"([{"range": 8}, {"batch": 4}])"), {}).value();
  auto iterator = dataset.iterate().value();
  const auto result = strategy->run([&](ReplicaContext&, const Tensors&) -> Result<Tensors> {
    TFD_TRY(iterator.next());
    return Tensors{};
  });
  CHECK(result.error().code == Code::kInvalidArgument);
  CHECK(error_of(result) == "next: it gives elements of all replicas, and this is replica 0: pass them to run");
}

TEST_CASE("strategy data: per replica, the function makes a dataset for each") {
  const auto strategy = make(kMirroredKind, 2);
  const DatasetFunction make_dataset = [](const InputContext& context) -> Result<DatasetPtr> {
    CHECK(context.num_input_pipelines == 2);
    return dataset_of(context.input_pipeline_id == 0 ? R"([{"range": 4}, {"batch": 2}])"
                                                     : R"([{"range": [10, 15]}, {"batch": 2}])");
  };
  const auto dataset =
      strategy->distribute_datasets_from_function(make_dataset, InputReplicationMode::kPerReplica).value();
  CHECK(steps_of(dataset) == json::parse("[[[0,1],[10,11]], [[2,3],[12,13]], [[],[14]]]"));
  CHECK(make(kCentralStorageKind, 2)
            ->distribute_datasets_from_function(make_dataset, InputReplicationMode::kPerReplica)
            .error()
            .code == Code::kUnimplemented);
}

}  // namespace
}  // namespace tfd::strategy::test
