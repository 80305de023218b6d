// SPDX-License-Identifier: Apache-2.0
//
// An optimizer of one's own, run by the parameter servers.
#include "small_cluster.hpp"

using namespace tfd;
using namespace tfd::runtime;
using namespace tfd::runtime::test;

namespace {

/// v = 0.5 v + g, w = w - rate v - step: slots, the rate and the step all matter.
Result<Tensors> momentum(const Tensors& in) {
  const auto w = in[0].as<float>(), g = in[1].as<float>(), v = in[2].as<float>();
  const float rate = in[3].as<float>()[0];
  const auto step = static_cast<float>(in[4].as<std::int64_t>()[0]);
  Tensor w2 = Tensor::uninitialized(DType::kF32, in[0].shape()), v2 = Tensor::uninitialized(DType::kF32, in[0].shape());
  for (std::size_t i = 0; i < w.size(); ++i) {
    v2.mutable_as<float>()[i] = 0.5F * v[i] + g[i];
    w2.mutable_as<float>()[i] = w[i] - rate * v2.as<float>()[i] - step;
  }
  return Tensors{w2, v2};
}

std::string update_signature(const std::string& t) {
  return "(%w: " + t + ", %g: " + t + ", %v: " + t + ", %rate: tensor<f32>, %step: tensor<i64>) -> (" + t + ", " + t +
         ")";
}

Parts own(const std::string& more) {
  return {
      R"({"v": 1, "variables": {"a": {"shape": [2], "init": {"ones": {}}}, "b": {"shape": [], "init": {"zeros": {}}}},
    "optimizer": {"module": ["pair.mlir", "one.mlir"], "learning_rate": 2)" +
          more +
          R"(, "inputs": ["variable", "gradient", {"slot": "velocity", "initial": 1}, "learning_rate", "step"],
       "outputs": ["variable", {"slot": "velocity"}]},
    "functions": {"step": {"module": "step.mlir", "inputs": [{"arg": 0}, {"arg": 1}],
    "outputs": [{"gradient": "a"}, {"gradient": "b"}], "returns": ["a", "b"]}}})",
      {{"pair.mlir", update_signature("tensor<2xf32>")},
       {"one.mlir", update_signature("tensor<f32>")},
       {"step.mlir", "(%x: tensor<2xf32>, %y: tensor<f32>) -> (tensor<2xf32>, tensor<f32>)"}},
      {{"pair.mlir", momentum}, {"one.mlir", momentum}, {"step.mlir", [](const Tensors& in) -> Result<Tensors> {
                                                           return in;
                                                         }}}};
}

}  // namespace

TEST_CASE("optimizer of one's own: updates variables of every shape with its slots, the rate and the step") {
  SmallCluster cluster(own(""), 2);
  auto outcome = cluster.run("step", {floats({2}, {1, 2}), Tensor::scalar(DType::kF32, 3.0F)});
  if (!outcome) FAIL(outcome.error().message);
  CHECK(floats(outcome->results[0]) == std::vector<float>{-2, -4});  // 1 - 2 (0.5 + 1), 1 - 2 (0.5 + 2)
  CHECK(floats(outcome->results[1]) == std::vector<float>{-7});
  outcome = cluster.run("step", {floats({2}, {0, 0}), Tensor::scalar(DType::kF32, 0.0F)});
  REQUIRE(outcome);
  CHECK(floats(outcome->results[0]) == std::vector<float>{-4.5, -7.5});
  CHECK(floats(outcome->results[1]) == std::vector<float>{-11.5});
  const auto state = cluster.ask<std::vector<std::pair<std::string, Tensor>>>(
      [&](Deadline deadline, auto done) { cluster.task("ps", 0).export_state(deadline, done); });
  REQUIRE(state);
  CHECK((*state)[1].first == "a/.optimizer/module/velocity");
  CHECK(floats((*state)[1].second) == std::vector<float>{0.75, 1.25});
}

TEST_CASE("optimizer of one's own: the worker clips for it, and looks at what isn't finite") {
  SmallCluster cluster(own(R"(, "clipvalue": 1, "on_nonfinite": "skip")"), 1);
  auto outcome = cluster.run("step", {floats({2}, {1, 2}), Tensor::scalar(DType::kF32, 3.0F)});
  if (!outcome) FAIL(outcome.error().message);
  CHECK(floats(outcome->results[0]) == std::vector<float>{-2, -2});
  const float infinity = std::numeric_limits<float>::infinity();
  outcome = cluster.run("step", {floats({2}, {1, 2}), Tensor::scalar(DType::kF32, infinity)});
  REQUIRE(outcome);
  CHECK(floats(outcome->results[0]) == std::vector<float>{-2, -2});
}

TEST_CASE("optimizer of one's own: what fails in it is an error of the step") {
  Parts parts = own("");
  parts.bodies["one.mlir"] = [](const Tensors&) -> Result<Tensors> { return fail(Code::kInternal, "no luck"); };
  SmallCluster cluster(parts, 2);
  const auto outcome = cluster.run("step", {floats({2}, {1, 2}), Tensor::scalar(DType::kF32, 3.0F)});
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().message.find("optimizer: 'b': no luck") != std::string::npos);
}

TEST_CASE("optimizer of one's own: what doesn't fit is said with its place") {
  const auto error = [](std::vector<std::string> overrides) {
    const Parts parts = own("");
    const auto read = [&](const std::string& path) -> Result<std::string> {
      return "module { func.func public @main" + parts.modules.at(path) + " { } }";
    };
    return program::parse_program(parts.document, "p.json", "/", read, {std::move(overrides), true}).error().message;
  };
  CHECK(error({"optimizer.module=pair.mlir"}) == "p.json: optimizer.module: none updates variable 'b', which is f32[]");
  CHECK(error({R"(variables.a.partitioner={"fixed_shards": {"num_shards": 2}})"}) ==
        "p.json: optimizer.module: none updates a shard of 'a', which is f32[1]");
  CHECK(error({"optimizer.learning_rate=null"}) == "p.json: optimizer: needs 'learning_rate': the module takes it");
  CHECK(error({"optimizer.learning_rate=-1"}).starts_with("p.json: optimizer.learning_rate: must be"));
  CHECK(error({"optimizer.momentum=0.9"}) == "p.json: optimizer.momentum: unknown key");
  CHECK(error({"optimizer.inputs[0]=gradient"}) == "p.json: optimizer.inputs[1]: is there twice");
  CHECK(error({"optimizer.inputs[4]=steps"}) ==
        "p.json: optimizer.inputs[4]: input of an optimizer 'steps' is unknown, did you mean 'step'?");
  CHECK(error({"optimizer.outputs=[\"variable\"]"}) ==
        "p.json: optimizer.outputs: 1 bindings, but the module has 2 results");
  CHECK(error({"optimizer.outputs[1].slot=speed"}) ==
        "p.json: optimizer.outputs: slot 'speed' is not among the inputs");
  CHECK(error({"optimizer.inputs[3]=step", "optimizer.inputs[4]=learning_rate"}) ==
        "p.json: optimizer.module: pair.mlir: argument 'rate' is f32[], and must be a scalar s32, s64, u32 or u64");
  CHECK(error({"optimizer.module[1]=step.mlir"}) ==
        "p.json: optimizer.module: step.mlir is (x: f32[2], y: f32[]) -> (f32[2], f32[]), but pair.mlir is (w: f32[2], "
        "g: "
        "f32[2], v: f32[2], rate: f32[], step: s64[]) -> (f32[2], f32[2])");
}
