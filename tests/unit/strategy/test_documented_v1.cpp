// SPDX-License-Identifier: Apache-2.0
//
// Every sentence of TensorFlow's page of ParameterServerStrategy (tf.compat.v1) that promises something, and its
// meaning here. Single decisions, and the vectors, are in test_parameter_server.cpp; TF_CONFIG and the command line
// in tests/cli/t3000-run.bats.
#include <condition_variable>
#include <future>
#include <set>

#include "bed.hpp"

namespace tfd::strategy::test {
namespace {

/// Each replica counts itself, and its gradient is what its element says.
Parts counting(const std::string& train, const std::string& dataset, const kit::Body& body) {
  return {R"({"v": 1,
    "variables": {"w": {"shape": [], "init": {"zeros": {}}}, "n": {"shape": [], "dtype": "s32", "init": {"zeros": {}}, "aggregation": "sum"},
                  "first": {"shape": [], "dtype": "s32", "init": {"zeros": {}}, "aggregation": "only_first_replica"}},
    "optimizer": {"sgd": {"learning_rate": 1.0}},
    "datasets": {"points": )" +
              dataset + R"(},
    "functions": {"step": {"module": ["step.mlir", "two.mlir"], "inputs": [{"variable": "w"}, {"dataset": "points", "field": "x"}, "replica_id"],
                           "outputs": [{"gradient": "w"}, {"assign_add": "n"}, {"assign_add": "first"}, {"metric": "loss"}]}},
    "train": )" +
              train + "}",
          {{"step.mlir",
            "(%w: tensor<f32>, %x: tensor<1xf32>, %r: tensor<i32>) -> (tensor<f32>, tensor<i32>, tensor<i32>, "
            "tensor<f32>)"},
           {"two.mlir",
            "(%w: tensor<f32>, %x: tensor<2xf32>, %r: tensor<i32>) -> (tensor<f32>, tensor<i32>, tensor<i32>, "
            "tensor<f32>)"}},
          {{"step.mlir", body}, {"two.mlir", body}}};
}

const char* const kEndless =
    R"([{"tensor_slices": {"fields": {"x": [1.5, 3.5]}}}, {"repeat": {}}, {"batch": {"size": 1, "drop_remainder": true}}])";
// A part of it for each worker.
const char* const kEndlessParts =
    R"([{"tensor_slices": {"fields": {"x": [1.5, 3.5]}}}, {"repeat": {}}, {"batch": {"size": 1, "drop_remainder": true}},
    {"options": {"auto_shard": "data"}}])";

Tensors results_of(const Tensors& in, std::int32_t counted = 1) {
  return {number(in[1].as<float>()[0]), Tensor::scalar(DType::kS32, counted), Tensor::scalar(DType::kS32, counted),
          number(0)};
}
const kit::Body kCount = [](const Tensors& in) -> Result<Tensors> { return results_of(in); };

std::int32_t count(const Tensor& value) { return value.as<std::int32_t>()[0]; }

TEST_CASE("page: variables and updates to them are assigned to parameter servers, other operations to workers") {
  std::atomic<int> calls{0};
  Bed bed(counting(R"({"function": "step", "steps": 5})", kEndless,
                   [&](const Tensors& in) -> Result<Tensors> {
                     ++calls;
                     return results_of(in);
                   }),
          1, 2);  // its servers have no engine to run anything with
  CHECK(well(bed.train(0)).step == 5);
  CHECK(calls == 5);
  CHECK(count(bed.read("n")) == 5);
}

TEST_CASE("page: operations are replicated on all devices of a worker; variables are not") {
  std::mutex mutex;
  std::multiset<std::int32_t> replicas;
  Bed bed(counting(R"({"function": "step", "steps": 4})", kEndless,
                   [&](const Tensors& in) -> Result<Tensors> {
                     const std::scoped_lock lock(mutex);
                     replicas.insert(count(in[2]));
                     return results_of(in);
                   }),
          1, 1);
  CHECK(well(bed.train(0, 3)).step == 4);
  for (const int replica : {0, 1, 2}) CHECK(replicas.count(replica) == 4);
  int values = 0;
  for (const auto& [name, value] : bed.state()) values += name.starts_with("w") && !name.starts_with("worker") ? 1 : 0;
  CHECK(values <= 2);  // w, and how often it was updated
  CHECK(count(bed.read("n")) == 12);
}

TEST_CASE("page: each worker synchronously computes a single gradient update across all its devices") {
  Bed bed(counting(R"({"function": "step", "steps": 6})", kEndless, kCount), 1, 1);
  (void)well(bed.train(0, 2));
  CHECK(number(bed.read("w")) == -15);  // six times the mean of 1.5 and 3.5, not of each
  for (const auto& [name, value] : bed.state())
    if (name == ".iterations") CHECK(value.as<std::int64_t>()[0] >= 6);
}

TEST_CASE("page: each worker runs the same code independently, updates between workers proceed asynchronously") {
  std::mutex mutex;
  std::condition_variable changed;
  bool goes_on = false;
  std::atomic<int> held{0};
  // Whoever gets the element 3.5, which is worker 1, waits in its first step until the other has come far.
  Bed bed(counting(R"({"function": "step", "steps": 40, "log_every": 1})", kEndlessParts,
                   [&](const Tensors& in) -> Result<Tensors> {
                     if (in[1].as<float>()[0] == 3.5F) {
                       ++held;
                       std::unique_lock lock(mutex);
                       changed.wait_for(lock, std::chrono::seconds(20), [&] { return goes_on; });
                     }
                     return results_of(in);
                   }),
          2, 1);
  bed.on_event = [&](const json& event) {
    if (event["event"] != "step" || event["task"] != "worker:0" || event["step"] < 20 || held == 0) return;
    const std::scoped_lock lock(mutex);
    goes_on = true;
    changed.notify_all();
  };
  auto other = std::async(std::launch::async, [&] { return bed.train(1); });
  const auto chief = well(bed.train(0));
  const auto last = well(other.get());
  CHECK(chief.step >= 40);
  std::int64_t updates = 0;
  for (const json& end : bed.events_of("end")) updates += end["updates"].get<std::int64_t>();
  CHECK(updates == chief.step);  // lost nothing
  CHECK(count(bed.read("n")) == chief.step);
}

TEST_CASE("page: what occurs only on the first replica occurs on the first replica of every worker") {
  Bed bed(counting(R"({"function": "step", "steps": 20})", kEndless, kCount), 2, 1);
  auto other = std::async(std::launch::async, [&] { return bed.train(1, 3); });
  const auto chief = well(bed.train(0, 3));
  (void)well(other.get());
  CHECK(count(bed.read("first")) == chief.step);  // once a step of a worker, as the global step
  CHECK(count(bed.read("n")) == 3 * chief.step);  // and not once a replica
}

TEST_CASE("page: every replica on a worker dequeues one batch of inputs every step, of its worker's own part") {
  std::mutex mutex;
  std::vector<float> seen;
  const char* const eight =
      R"([{"tensor_slices": {"fields": {"x": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]}}}, {"batch": {"size": 1, "drop_remainder": true}},
      {"options": {"auto_shard": "data"}}])";
  Bed bed(counting(R"({"function": "step"})", eight,
                   [&](const Tensors& in) -> Result<Tensors> {
                     const std::scoped_lock lock(mutex);
                     seen.push_back(in[1].as<float>()[0]);
                     return results_of(in);
                   }),
          2, 1);
  auto other = std::async(std::launch::async, [&] { return bed.train(1, 1); });
  const auto chief = well(bed.train(0, 2));
  (void)well(other.get());
  CHECK(chief.reason == "end_of_data");
  std::sort(seen.begin(), seen.end());
  CHECK(seen == std::vector<float>{0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5});  // neither batched anew nor read twice
  for (const json& end : bed.events_of("end")) CHECK(end["updates"] == (end["task"] == "worker:0" ? 2 : 4));
}

TEST_CASE("page: distributing a dataset rebatches it to the global batch over the number of replicas in sync") {
  // The page's example: range(4).batch(2) on two replicas is [0], [1], then [2], [3].
  std::mutex mutex;
  std::map<std::int32_t, std::vector<float>> seen;
  const char* const four =
      R"([{"tensor_slices": {"fields": {"x": [0.5, 1.5, 2.5, 3.5]}}}, {"batch": {"size": 2, "drop_remainder": true}}])";
  Bed bed(counting(R"({"function": "step", "replicas": "split"})", four,
                   [&](const Tensors& in) -> Result<Tensors> {
                     const std::scoped_lock lock(mutex);
                     seen[count(in[2])].push_back(in[1].as<float>()[0]);
                     return results_of(in);
                   }),
          1, 1);
  CHECK(well(bed.train(0, 2)).step == 2);
  CHECK(seen[0] == std::vector<float>{0.5, 2.5});
  CHECK(seen[1] == std::vector<float>{1.5, 3.5});
}

TEST_CASE("page: as many elements as there are replicas in sync are prefetched") {
  std::mutex mutex;
  std::condition_variable changed;
  int made = 0;
  bool waited = false;
  const char* const mapped = R"([{"tensor_slices": {"fields": {"y": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]}}},
      {"map": {"function": "same", "fields": ["x"]}}, {"batch": {"size": 1, "drop_remainder": true}}])";
  Parts parts = counting(R"({"function": "step", "steps": 2})", mapped, [&](const Tensors& in) -> Result<Tensors> {
    std::unique_lock lock(mutex);
    // The first step ends once the elements of the second one are ready: nobody has asked for them yet.
    if (in[1].as<float>()[0] == 0.5F)
      waited = changed.wait_for(lock, std::chrono::seconds(20), [&] { return made >= 4; });
    return results_of(in);
  });
  const auto at = parts.document.find("\"functions\": {") + std::string("\"functions\": {").size();
  parts.document.insert(at, R"("same": {"module": "same.mlir", "inputs": [{"arg": 0}], "outputs": [{"result": 0}]},)");
  parts.modules["same.mlir"] = "(%y: tensor<f32>) -> tensor<f32>";
  parts.bodies["same.mlir"] = [&](const Tensors& in) -> Result<Tensors> {
    const std::scoped_lock lock(mutex);
    ++made;
    changed.notify_all();
    return in;
  };
  Bed bed(std::move(parts), 1, 1);
  CHECK(well(bed.train(0, 2)).step == 2);
  CHECK(waited);
}

TEST_CASE("page: a single-worker strategy has no cluster resolver of a cluster, and trains all the same") {
  Bed bed(counting(R"({"function": "step", "steps": 3})", kEndless, kCount), 1, 1);
  CHECK(ParameterServerStrategy::make({}, {}).value().cluster_resolver().cluster.empty());
  CHECK(well(bed.train_locally(2)).step == 3);
}

TEST_CASE("page: colocating is by the strategy's own means, and a device scope changes no variable's place") {
  // There is no device to state for a variable: only beside which other one it is to be.
  auto strategy = ParameterServerStrategy::make(
                      Bed(counting(R"({"function": "step", "steps": 1})", kEndless, kCount), 1, 3).config(0), {})
                      .value();
  const auto place = [&](const char* name, const char* beside) {
    return strategy.create_variable(name, variable::Aggregation::kNone, beside).value().device;
  };
  CHECK(place("a", "") == "/job:ps/task:0");
  CHECK(place("b", "") == "/job:ps/task:1");
  CHECK(place("beside a", "a") == "/job:ps/task:0");
  CHECK(place("c", "") == "/job:ps/task:2");
}

}  // namespace
}  // namespace tfd::strategy::test
