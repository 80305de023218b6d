// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstdint>
#include <cstdlib>

#include "sets.hpp"
#include "tfd/tensor/json.hpp"
#include "tfd/variable/optimizer.hpp"

namespace tfd::vectors {
namespace {

using tensor::DType;
using tensor::Tensor;
using variable::VariableState;

/// Numbers of any shape.
Tensor read_tensor(const Json& values) {
  tensor::Shape shape;
  for (const Json* at = &values; at->is_array(); at = &at->at(0)) {
    shape.push_back(static_cast<std::int64_t>(at->size()));
    if (at->empty()) break;
  }
  const auto read = tensor::tensor_from_json(Json::parse(values.dump()), {DType::kF32, shape});
  if (!read) throw std::runtime_error(read.error().message);
  return *read;
}

/// The same numbers in a row, as Tensor has them.
Json in_a_row(const Json& values) {
  if (!values.is_array()) return Json::array({values});
  Json out = Json::array();
  for (const Json& part : values)
    for (const Json& one : in_a_row(part)) out.push_back(one);
  return out;
}

/// Distance in units of the last place.
std::int64_t ulps(float a, float b) {
  const auto ordered = [](float value) {
    const auto bits = std::bit_cast<std::int32_t>(value);
    return std::int64_t{bits < 0 ? std::int32_t(0x80000000) - bits : bits};
  };
  return std::abs(ordered(a) - ordered(b));
}

void compare_values(const Json& stated, const Tensor& actual, const std::string& where, Report& report) {
  const Json expected = in_a_row(stated);
  const auto values = actual.as<float>();
  if (expected.size() != values.size())
    return report.differ(where, fmt::format("{} values", expected.size()), fmt::format("{}", values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool bits = expected[i].is_string();
    const float wanted =
        bits ? std::bit_cast<float>(static_cast<std::uint32_t>(std::stoul(expected[i].get<std::string>(), nullptr, 16)))
             : expected[i].get<float>();
    if (ulps(wanted, values[i]) > 2)
      report.differ(fmt::format("{}[{}]", where, i), fmt::format("{}", wanted), fmt::format("{}", values[i]));
  }
}

void compare_slots(const Json& expected, const std::vector<VariableState>& states, Report& report) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    for (const auto& [name, value] : states[i].slots) {
      const std::string key = fmt::format("p{}_{}", i, name);
      if (expected.contains(key)) compare_values(expected.at(key), value, "slots." + key, report);
    }
  }
  for (const auto& [key, value] : expected.items()) {
    const auto index = static_cast<std::size_t>(std::stoul(key.substr(1, key.find('_') - 1)));
    const std::string name = key.substr(key.find('_') + 1);
    bool found = false;
    for (const auto& [slot, tensor] : states.at(index).slots) found = found || slot == name;
    if (!found) report.differ("slots." + key, value.dump(), "no such slot");
  }
}

std::string lower(std::string name) {
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return name;
}

std::vector<VariableState> make_states(const Json& input, const variable::Optimizer& optimizer) {
  std::vector<VariableState> states;
  for (const Json& values : input.at("params")) {
    states.push_back({fmt::format("p{}", states.size()), read_tensor(values), {}});
    optimizer.prepare(states.back());
  }
  return states;
}

// The steps of a case; `states` are as after the last.
void run_steps(const Json& input, const Json& expected, const variable::Optimizer& optimizer,
               std::vector<VariableState>& states, Report& report) {
  const Json& steps = expected.at("steps");
  if (steps.size() != input.at("grads").size()) throw std::runtime_error("not as many steps as gradients");
  for (std::size_t step = 0; step < steps.size(); ++step) {
    std::vector<Tensor> gradients;
    check_keys(steps[step], {"iterations", "params", "bits"});
    for (const Json& gradient : input.at("grads").at(step)) gradients.push_back(read_tensor(gradient));
    const auto applied = optimizer.apply_all(states, gradients);
    if (!applied) return report.differ(fmt::format("steps[{}]", step), "an update", applied.error().message);
    for (std::size_t i = 0; i < states.size(); ++i) {
      const std::string where = fmt::format("steps[{}].params[{}]", step, i);
      compare_values(steps[step].at("bits").at(i), states[i].value, where, report);
      if (steps[step].contains("iterations"))
        report.compare(steps[step].at("iterations"), states[i].updates, where + ".iterations");
    }
  }
}

void run_keras(const Json& input, const Json& expected, Report& report) {
  const Json body = input.value("args", Json::object());
  check_keys(input, {"params", "grads", "optimizer", "args"});
  const auto optimizer = variable::make_optimizer(Json{{lower(input.at("optimizer")), body}});
  if (!optimizer) return report.compare(expected, error_record(optimizer.error()), "case");
  if (expected.contains("error")) return report.differ("case", expected.dump(), "an optimizer");
  std::vector<VariableState> states = make_states(input, **optimizer);
  run_steps(input, expected, **optimizer, states, report);
  compare_slots(expected.at("slots"), states, report);
}

// tf.compat.v1: {"m": [[values of p0], [of p1]]}.
void run_v1(const Json& input, const Json& expected, Report& report) {
  std::string name = input.at("optimizer");
  name = lower(name.substr(0, name.rfind("Optimizer")));
  if (name == "gradientdescent" || name == "momentum") name = "sgd";
  Json body = input.value("args", Json::object());
  body["v1"] = true;
  check_keys(input, {"params", "grads", "optimizer", "args"});
  const auto optimizer = variable::make_optimizer(Json{{name, body}});
  if (!optimizer) return report.compare(expected, error_record(optimizer.error()), "case");
  if (expected.contains("error")) return report.differ("case", expected.dump(), "an optimizer");
  std::vector<VariableState> states = make_states(input, **optimizer);
  run_steps(input, expected, **optimizer, states, report);
  Json slots = Json::object();
  for (const auto& [slot, values] : expected.at("slots").items())
    for (std::size_t i = 0; i < states.size(); ++i) slots[fmt::format("p{}_{}", i, slot)] = values.at(i);
  compare_slots(slots, states, report);
}

}  // namespace

Sets optimizer_sets() { return {{"optimizers_keras", run_keras}, {"optimizers_v1", run_v1}}; }

}  // namespace tfd::vectors
