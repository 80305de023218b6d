// SPDX-License-Identifier: Apache-2.0
//
// State that functions read and assign: differences to read values, and variables that are synchronized on read:
// every replica has a copy of them.
#include "client/sharded_state.hpp"
#include "small_cluster.hpp"
#include "tfd/step/replica_copies.hpp"

using namespace tfd;
using namespace tfd::task;
using namespace tfd::task::test;
using program::Replicas;

namespace {

Tensor one_number(float value) { return Tensor::scalar(DType::kF32, value); }
/// "grow" makes c into c + 10 * (replica + 1) and returns the c that it has read; `more` is what c states besides.
Parts growing_parts(const std::string& more, const std::string& apply = "") {
  Parts out;
  out.document = R"({"v": 1,
    "variables": {"before": {"shape": [], "init": {"zeros": {}}},
                  "c": {"shape": [3], "init": {"ones": {}}, "trainable": false)" +
                 more + R"(}, "after": {"shape": [], "init": {"zeros": {}}}},
    "datasets": {"one": [{"tensor_slices": {"fields": {"x": [1.0]}}}]},
    "functions": {
      "grow": {"module": "grow.mlir", "inputs": ["replica_id", {"variable": "c"}],
               "outputs": [{"assign": "c")" +
                 apply + R"(}, {"result": 0}]},
      "add": {"module": "add.mlir", "inputs": [{"arg": 0}], "outputs": [{"assign_add": "c"}], "returns": ["c"]},
      "set": {"module": "add.mlir", "inputs": [{"arg": 0}], "outputs": [{"assign": "c"}], "returns": ["c"]},
      "read": {"module": "none.mlir", "outputs": [], "returns": ["c"]},
      "eval": {"module": "eval.mlir", "inputs": [{"variable": "c"}, {"dataset": "one"}], "outputs": [{"metric": "c"}]}}})";
  out.modules["grow.mlir"] = "(%r: tensor<i32>, %c: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)";
  out.modules["add.mlir"] = "(%x: tensor<3xf32>) -> tensor<3xf32>";
  out.modules["none.mlir"] = "()";
  out.modules["eval.mlir"] = "(%c: tensor<3xf32>, %x: tensor<f32>) -> tensor<f32>";
  out.bodies["grow.mlir"] = [](const Tensors& in) -> Result<Tensors> {
    const auto by = static_cast<float>(10 * (in[0].as<std::int32_t>()[0] + 1));
    const auto c = floats(in[1]);
    return Tensors{floats({3}, {c[0] + by, c[1] + by, c[2] + by}), in[1]};
  };
  out.bodies["add.mlir"] = [](const Tensors& in) -> Result<Tensors> { return Tensors{in[0]}; };
  out.bodies["none.mlir"] = [](const Tensors&) -> Result<Tensors> { return Tensors{}; };
  out.bodies["eval.mlir"] = [](const Tensors& in) -> Result<Tensors> {
    return Tensors{one_number(in[0].as<float>()[2])};
  };
  return out;
}

std::string on_read(const std::string& aggregation, const std::string& more = "") {
  return R"(, "synchronization": "on_read", "aggregation": ")" + aggregation + "\"" + more;
}

ClosureOutcome ran(Result<ClosureOutcome> outcome) {
  if (!outcome) FAIL(outcome.error().message);
  return std::move(*outcome);
}

using Threes = std::vector<float>;

Tensor threes(float value) { return floats({3}, {value, value, value}); }

std::uint64_t other_sequence() {  // none of the cluster's own
  static std::atomic<std::uint64_t> next{1000};
  return next++;
}

}  // namespace

TEST_CASE("copies: each replica reads and assigns its own, and who is outside sees them aggregated") {
  struct Case {
    std::string aggregation;
    float outside;  // of 21 and 41
  };
  for (const Case& one : {Case{"sum", 62}, Case{"mean", 31}, Case{"only_first_replica", 21}}) {
    INFO(one.aggregation);
    SmallCluster cluster(growing_parts(on_read(one.aggregation)), 2, 2);
    CHECK(floats(ran(cluster.run_on_replicas("grow", Replicas::kEach)).results[0]) == Threes{1, 1, 1, 1, 1, 1});
    const auto second = ran(cluster.run_on_replicas("grow", Replicas::kEach));
    CHECK(floats(second.results[0]) == Threes{11, 11, 11, 21, 21, 21});  // what each has read
    CHECK(floats(*cluster.read(1, "c/.replica/0-of-2")) == Threes{21, 21, 21});
    CHECK(floats(*cluster.read(1, "c/.replica/1-of-2")) == Threes{41, 41, 41});
    CHECK_FALSE(cluster.read(1, "c"));
    CHECK(cluster.placement.placed.at("after").ps == std::vector<int>{0});  // the copies count as one variable
    const auto metrics = cluster.ask<std::vector<step::Metric>>([&](Deadline deadline, auto done) {
      cluster.worker().evaluate("eval", 1, 0, std::nullopt, SmallCluster::kEpoch, 0, deadline, done);
    });
    REQUIRE(metrics);
    CHECK(metrics->at(0).value == one.outside);
    // A closure that runs once is outside, too.
    CHECK(floats(ran(cluster.run("grow")).results[0]) == Threes(3, one.outside));
  }
}

TEST_CASE("copies: what is assigned outside of replicas goes to each, of a sum its share, to which nothing is added") {
  SmallCluster sum(growing_parts(on_read("sum")), 1, 2);
  CHECK(floats(ran(sum.run("set", {threes(10)})).results[0]) == Threes{10, 10, 10});
  CHECK(floats(*sum.read(0, "c/.replica/1-of-2")) == Threes{5, 5, 5});
  const auto refused = sum.run("add", {threes(1)});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kInvalidArgument);
  CHECK(
      refused.error().message ==
      "add: variable 'c': a variable that is synchronized on read and aggregated by 'sum' can only be assigned outside "
      "of replicas");
  CHECK(floats(ran(sum.run_on_replicas("add", Replicas::kEach, {threes(1)})).results[0]) == Threes{12, 12, 12});
  SmallCluster mean(growing_parts(on_read("mean")), 1, 2);
  CHECK(floats(ran(mean.run("add", {threes(2)})).results[0]) == Threes{3, 3, 3});
  CHECK(floats(*mean.read(0, "c/.replica/1-of-2")) == Threes{3, 3, 3});
}

TEST_CASE("copies: those of a partitioned variable are cut alike") {
  SmallCluster cluster(growing_parts(on_read("sum", R"(, "partitioner": {"fixed_shards": {"num_shards": 2}})")), 2, 2);
  (void)ran(cluster.run_on_replicas("grow", Replicas::kEach));
  CHECK(floats(*cluster.read(1, "c/.replica/1-of-2/part_0")) == Threes{21, 21});
  CHECK(floats(*cluster.read(0, "c/.replica/1-of-2/part_1")) == Threes{21});
  CHECK(floats(ran(cluster.run("grow")).results[0]) == Threes{32, 32, 32});
}

TEST_CASE("copies: with one replica there are none") {
  SmallCluster cluster(growing_parts(on_read("sum")), 1, 1);
  (void)ran(cluster.run_on_replicas("grow", Replicas::kEach));
  CHECK(floats(ran(cluster.run("add", {threes(1)})).results[0]) == Threes{12, 12, 12});
  CHECK(floats(*cluster.read(0, "c")) == Threes{12, 12, 12});
}

TEST_CASE("copies: those of each worker's own variable are its own") {
  SmallCluster cluster(growing_parts(on_read("sum", R"(, "per_worker": true)")), 1, 2);
  (void)ran(cluster.run_on_replicas("grow", Replicas::kEach));
  CHECK(floats(ran(cluster.run_on_replicas("grow", Replicas::kEach)).results[0]) == Threes{11, 11, 11, 21, 21, 21});
  CHECK(floats(ran(cluster.run("set", {threes(8)})).results[0]) == Threes{8, 8, 8});
  CHECK(floats(ran(cluster.run_on_replicas("grow", Replicas::kEach)).results[0]) == Threes{4, 4, 4, 4, 4, 4});
}

TEST_CASE("copies: without an aggregation there is no value outside of replicas") {
  SmallCluster cluster(growing_parts(on_read("none")), 1, 2);
  (void)ran(cluster.run_on_replicas("grow", Replicas::kEach));
  CHECK(floats(ran(cluster.run_on_replicas("grow", Replicas::kEach)).results[0]) == Threes{11, 11, 11, 21, 21, 21});
  const auto refused = cluster.run("grow");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "grow: variable 'c': aggregation 'none' can't combine the values of 2 replicas");
}

TEST_CASE("copies: a checkpoint has one value, and any number of replicas goes on from it") {
  const auto program = parse(growing_parts(on_read("sum", R"(, "dtype": "f32")")));
  const auto two = step::ReplicaCopies::make(program, 2).value();
  const auto three = step::ReplicaCopies::make(program, 3).value();
  const auto count = [](std::int64_t value) { return Tensor::scalar(DType::kS64, value); };
  const tensor::NamedTensors stored{{"before", one_number(1)},
                                    {"c/.replica/0-of-2", threes(4)},
                                    {"c/.replica/0-of-2/.optimizer/updates", count(2)},
                                    {"c/.replica/1-of-2", threes(5)},
                                    {"c/.replica/1-of-2/.optimizer/updates", count(3)},
                                    {".iterations", count(3)}};
  const auto saved = two.gather(stored).value();
  REQUIRE(saved.size() == 4);
  CHECK(saved[0].first == "before");
  CHECK(saved[1].first == "c");
  CHECK(floats(saved[1].second) == Threes{9, 9, 9});
  CHECK(saved[2].first == "c/.optimizer/updates");
  CHECK(saved[2].second.as<std::int64_t>()[0] == 3);
  const auto restored = three.spread(saved).value();
  REQUIRE(restored.size() == 8);
  CHECK(restored[3].first == "c/.replica/2-of-3");
  CHECK(floats(restored[3].second) == Threes{3, 3, 3});
  CHECK(restored[4].first == "c/.replica/0-of-3/.optimizer/updates");
  CHECK(three.spread({{"before", one_number(1)}}).error().message == "no value for variable 'c'");
  CHECK(step::ReplicaCopies::make(program, 1)->gather(saved)->size() == 4);
}

TEST_CASE("copies: what can't be done with several values is refused, and only with several replicas") {
  const auto refused = [](const std::string& function, const std::string& train = "",
                          const std::string& aggregation = "sum") {
    Parts made{R"({"v": 1, "variables": {"t": {"shape": [4, 1], "init": {"zeros": {}}, "trainable": true)" +
                   on_read(aggregation) + R"(}}, "optimizer": {"sgd": {}}, "functions": {"f": {"module": "f.mlir", )" +
                   function + "}}" + train + "}",
               {{"f.mlir", "(%x: tensor<4x1xf32>) -> tensor<4x1xf32>"}},
               {}};
    if (function.find("ids") != std::string::npos) made.modules["f.mlir"] = "(%x: tensor<2x1xf32>) -> tensor<2x1xf32>";
    const auto program = parse(made);
    CHECK(step::ReplicaCopies::make(program, 1));
    const auto copies = step::ReplicaCopies::make(program, 2);
    return copies ? Error{Code::kInternal, "it can", {}} : copies.error();
  };
  const Error gradient = refused(R"("inputs": [{"variable": "t"}], "outputs": [{"gradient": "t"}])");
  CHECK(gradient.code == Code::kUnimplemented);
  CHECK(gradient.message ==
        "test.json: functions.f: a gradient of 't', which is synchronized on read: each of 2 replicas has its own "
        "value; run one replica, or synchronize it on write");
  CHECK(refused(R"("inputs": [{"lookup": "t", "ids": {"arg": 0}}], "outputs": [{"result": 0}])")
            .message.find("a lookup of 't'") != std::string::npos);
  const char* rows =
      R"("inputs": [{"lookup": "t", "ids": {"arg": 0}}], "outputs": [{"assign_add": "t", "ids": {"arg": 0}}])";
  CHECK(refused(rows).code == Code::kUnimplemented);
  const char* assigns = R"("inputs": [{"variable": "t"}], "outputs": [{"assign": "t"}])";
  const char* train = R"(, "train": {"function": "f", "steps": 1, "checkpoint": {"dir": "ck"}})";
  CHECK(refused(assigns, train).message == "it can");
  CHECK(refused(assigns, train, "none").message ==
        "test.json: variables.t: is synchronized on read without an aggregation, so the values of 2 replicas can't be "
        "combined for checkpoints; set 'aggregation'");
}

TEST_CASE("copies: a worker refuses variables that were made for another number of replicas") {
  SmallCluster cluster(growing_parts(on_read("sum")), 1, 2);
  cluster.placement =
      place_variables(cluster.program, cluster.placement.ps, step::ReplicaCopies::make(cluster.program, 3).value());
  const auto loaded = cluster.ask<void>([&](Deadline deadline, auto done) {
    cluster.worker().load_program(PackedProgram::pack(cluster.program, cluster.placement), 8, deadline, done);
  });
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().message ==
        "variable 'c', which is synchronized on read, was not created for the 2 replicas of this worker");
}

TEST_CASE("difference: what others change meanwhile stays, of one replica and of several") {
  struct Case {
    std::string state;  // what c states
    std::string apply;
    Replicas replicas;
    Threes after;
  };
  const Case cases[]{
      {"", "", Replicas::kOne, {11, 11, 11}},  // the other's 100 are lost
      {"", R"(, "apply": "last")", Replicas::kOne, {11, 11, 11}},
      {"", R"(, "apply": "difference")", Replicas::kOne, {111, 111, 111}},
      {"", R"(, "apply": "difference")", Replicas::kEach, {116, 116, 116}},  // mean of 11 and 21, less 1
      {R"(, "aggregation": "sum")", R"(, "apply": "difference")", Replicas::kEach, {132, 132, 132}},
      {R"(, "partitioner": {"fixed_shards": {"num_shards": 2}})",
       R"(, "apply": "difference")",
       Replicas::kOne,
       {111, 111, 111}},
      {on_read("sum"), R"(, "apply": "difference")", Replicas::kEach, {232, 232, 232}},  // 100 to each copy
      {on_read("mean"), R"(, "apply": "difference")", Replicas::kOne, {111, 111, 111}},
  };
  for (const Case& one : cases) {
    INFO(one.state, " ", one.apply);
    Parts made = growing_parts(one.state, one.apply);
    SmallCluster* other = nullptr;
    std::atomic<bool> did{false};
    made.bodies["grow.mlir"] = [&, grow = made.bodies["grow.mlir"]](const Tensors& in) -> Result<Tensors> {
      if (!did.exchange(true)) {  // the variables are read by now
        for (const auto& [name, placed] : other->placement.placed) {
          if (step::original_name(name) != "c") continue;
          const Tensor all = threes(100);
          for (std::size_t i = 0; i < placed.ps.size(); ++i) {
            const variable::Update update{variable::UpdateKind::kAssignAdd, stored_name(placed, i),
                                          cut_value(placed, all)[i]};
            const auto added = other->ask<UpdateAnswer>([&](Deadline deadline, auto done) {
              other->server(placed.ps[i]).update(other_sequence(), {update}, deadline, done);
            });
            CHECK(added);
          }
        }
      }
      return grow(in);
    };
    SmallCluster cluster(made, 2, 2);
    other = &cluster;
    if (one.replicas == Replicas::kOne)
      (void)ran(cluster.run("grow"));
    else
      (void)ran(cluster.run_on_replicas("grow", one.replicas));
    CHECK(floats(ran(cluster.run("read")).results[0]) == one.after);
  }
}
