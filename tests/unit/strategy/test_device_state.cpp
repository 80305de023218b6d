// SPDX-License-Identifier: Apache-2.0
//
// How the variables of a training come to its devices: one pack after the other, and the host keeps nothing of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "device/device_state.hpp"
#include "temporary_directory.hpp"
#include "tfd/tensor/safetensors.hpp"

namespace tfd::strategy {
namespace {

using tensor::DType;
using tensor::Tensor;
using tensor::TensorSpec;
using variable::VariableState;

const TensorSpec kSpec{DType::kF32, {300, 100}};  // too large to be packed with others

class Buffer final : public function::DeviceBuffer {
 public:
  Buffer(TensorSpec spec, int device) : spec_(std::move(spec)), device_(device) {}
  const TensorSpec& spec() const override { return spec_; }
  int device() const override { return device_; }
  Result<void> await() const override { return {}; }
  Result<Tensor> to_host() const override { return fail(Code::kUnimplemented, "nothing is kept"); }

 private:
  TensorSpec spec_;
  int device_;
};

/// Checks the values put on its devices, and keeps nothing of them.
class Devices final : public function::Engine {
 public:
  using Look = std::function<void(const Tensor& value, int device)>;
  explicit Devices(Look look) : look_(std::move(look)) {}
  const function::PluginInfo& plugin() const override { return info_; }
  Result<std::shared_ptr<function::Function>> compile(const hlo::Module&) override {
    return fail(Code::kUnimplemented, "nothing is compiled");
  }
  Result<function::DeviceBufferPtr> put(const Tensor& value, int device) override {
    look_(value, device);
    return std::make_shared<Buffer>(value.spec(), device);
  }

 private:
  function::PluginInfo info_;
  Look look_;
};

/// A step of two variables whose gradients are their values.
program::Program optimized_by(const std::string& directory, const std::string& optimizer) {
  const std::string document = R"({"v": 1,
    "variables": {"a": {"shape": [300, 100]}, "b": {"shape": [300, 100]}}, "weights": "w.safetensors",
    "optimizer": )" + optimizer +
                               R"(,
    "functions": {"step": {"module": "step.mlir", "inputs": [{"variable": "a"}, {"variable": "b"}],
                           "outputs": [{"gradient": "a"}, {"gradient": "b"}]}},
    "train": {"function": "step", "steps": 1}})";
  const auto read = [](const std::string&) -> Result<std::string> {
    return R"(module @step {
  func.func public @main(%a: tensor<300x100xf32>, %b: tensor<300x100xf32>) -> (tensor<300x100xf32>, tensor<300x100xf32>) {
    return %a, %b : tensor<300x100xf32>, tensor<300x100xf32>
  }
})";
  };
  auto program = program::parse_program(document, "p.json", directory, read, {});
  REQUIRE_MESSAGE(program, (program ? "" : program.error().message));
  return *program;
}

Tensor filled_with(float value) {
  Tensor out = Tensor::uninitialized(kSpec.dtype, kSpec.shape);
  std::fill_n(out.mutable_as<float>(), out.size(), value);
  return out;
}

/// The weights of optimized_by(): a is 1, b is 2.
std::string write_weights(const tfd::test::TemporaryDirectory& directory) {
  REQUIRE(tensor::save_safetensors(directory / "w.safetensors", {{{"b", filled_with(2)}, {"a", filled_with(1)}}, {}}));
  return directory.path();
}

}  // namespace

TEST_CASE("device state: what is on all devices is let go before the next is put there") {
  const tfd::test::TemporaryDirectory directory;
  const auto program = optimized_by(write_weights(directory), R"({"adam": {}})");
  std::vector<VariableState> states{{"a", {}, {}}, {"b", {}, {}}};
  const DeviceLayout layout = lay_out(program, states, {.platform = "cpu", .replicas = 2}).value();
  REQUIRE(layout.packs.size() == 2);
  std::vector<std::weak_ptr<tensor::Storage>> given;
  for (VariableState& one : states) {
    one.value = filled_with(3);
    given.push_back(one.value.storage());
    for (const std::string& slot : layout.packs.front().slot_names()) {
      one.slots.emplace_back(slot, filled_with(4));
      given.push_back(one.slots.back().second.storage());
    }
  }
  REQUIRE(given.size() == 6);
  std::vector<std::size_t> left;
  Devices devices([&](const Tensor&, int) {
    left.push_back(
        static_cast<std::size_t>(std::ranges::count_if(given, [](const auto& one) { return !one.expired(); })));
  });
  const auto copies = step::ReplicaCopies::make(program, 2).value();
  const auto state = put_state(program, devices, layout, copies, std::move(states), copies.replicas());
  REQUIRE(state);
  CHECK(left == std::vector<std::size_t>{6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1});
  REQUIRE(state->size() == 2);
  CHECK(state->back().packs.size() == 2);
  CHECK(state->back().slots.at(1).size() == 2);
}

TEST_CASE("device state: values and slots that are missing are the initial ones") {
  const tfd::test::TemporaryDirectory directory;
  const auto program = optimized_by(write_weights(directory), R"({"adagrad": {"initial_accumulator_value": 0.5}})");
  std::vector<VariableState> states{{"a", {}, {}}, {"b", filled_with(7), {}}};
  const DeviceLayout layout = lay_out(program, states, {.platform = "cpu"}).value();
  std::vector<float> put;
  Devices devices([&](const Tensor& value, int) {
    CHECK(value.spec() == kSpec);
    put.push_back(value.as<float>().back());
  });
  const auto copies = step::ReplicaCopies::make(program, 1).value();
  REQUIRE(put_state(program, devices, layout, copies, std::move(states), copies.replicas()));
  CHECK(put == std::vector<float>{1, 0.5, 7, 0.5});
  REQUIRE(tensor::save_safetensors(directory / "w.safetensors", {{{"a", filled_with(1)}}, {}}));
  const auto refused = put_state(program, devices, layout, copies, {{"a", {}, {}}, {"b", {}, {}}}, copies.replicas());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "variables.b: " + (directory / "w.safetensors") + " has no 'b'");
}

}  // namespace tfd::strategy
