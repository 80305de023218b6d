// SPDX-License-Identifier: Apache-2.0
//
// A user-defined optimizer: a module that takes a variable, its gradient and its slots, and returns the new ones. It
// runs where the variable is placed. The worker's part (clipping, loss scale) and the learning rate are those of all
// optimizers.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "module_optimizer.hpp"
#include "tfd/base/names.hpp"
#include "tfd/variable/sharding.hpp"

namespace tfd::program {
namespace {

using tensor::DType;
using tensor::TensorSpec;
using Role = UpdateDef::Role;
using Binding = UpdateDef::Binding;

constexpr NameTable<Role, 4> kPlain{{{{Role::kVariable, "variable"},
                                      {Role::kGradient, "gradient"},
                                      {Role::kLearningRate, "learning_rate"},
                                      {Role::kStep, "step"}}}};
/// Settings that every optimizer has, used by the worker and the schedule.
constexpr std::array kCommon{std::string_view("learning_rate"), std::string_view("clipvalue"),
                             std::string_view("clipnorm"),      std::string_view("global_clipnorm"),
                             std::string_view("on_nonfinite"),  std::string_view("loss_scale")};

Result<Binding> parse_binding(const Node& node, bool is_input) {
  Binding binding;
  if (node.is_text()) {
    const std::string text = TFD_TRY(node.text());
    const auto role = kPlain.find(text);
    if (!role || (!is_input && *role != Role::kVariable))
      return node.fail_text(Code::kInvalidArgument,
                            is_input ? unknown_text("input of an optimizer", text, kPlain.names())
                                     : fmt::format("must be \"variable\" or {{\"slot\": …}}, not '{}'", text));
    binding.role = *role;
    return binding;
  }
  if (!node.is_object()) return node.fail_type("a string, or {\"slot\": …}");
  if (is_input)
    TFD_TRY(expect_object(node, {"slot", "initial"}));
  else
    TFD_TRY(expect_object(node, {"slot"}));
  binding.role = Role::kSlot;
  const Node slot = TFD_TRY(node.member("slot"));
  binding.slot = TFD_TRY(slot.text());
  if (binding.slot.find('/') != std::string::npos || binding.slot.front() == '.')
    return slot.fail("a slot's name must not contain '/' or start with '.'");
  if (const auto initial = node.find("initial")) binding.initial = TFD_TRY(initial->number());
  return binding;
}

Result<std::vector<Binding>> parse_bindings(const Node& node, bool is_input, std::size_t count) {
  if (!node.is_list()) return node.fail_type("a list");
  std::vector<Binding> bindings;
  for (const Node& element : node.elements()) {
    Binding binding = TFD_TRY(parse_binding(element, is_input));
    for (const Binding& other : bindings)
      if (other.role == binding.role && other.slot == binding.slot) return element.fail("appears twice");
    bindings.push_back(std::move(binding));
  }
  if (bindings.size() != count)
    return node.fail("{} bindings, but the module has {} {}", bindings.size(), count,
                     is_input ? "arguments" : "results");
  return bindings;
}

bool has_role(const std::vector<Binding>& bindings, Role role) {
  return std::ranges::find(bindings, role, &Binding::role) != bindings.end();
}

/// Checks over all bindings together.
Result<void> check_bindings(const Node& node, const UpdateDef& def) {
  if (!has_role(def.inputs, Role::kVariable) || !has_role(def.inputs, Role::kGradient))
    return TFD_TRY(node.member("inputs")).fail("need \"variable\" and \"gradient\"");
  if (!has_role(def.outputs, Role::kVariable)) return TFD_TRY(node.member("outputs")).fail("need \"variable\"");
  const auto is_slot = [](const std::vector<Binding>& in, const std::string& name) {
    return std::ranges::any_of(in, [&](const Binding& one) { return one.role == Role::kSlot && one.slot == name; });
  };
  for (const Binding& one : def.outputs)
    if (one.role == Role::kSlot && !is_slot(def.inputs, one.slot))
      return TFD_TRY(node.member("outputs")).fail("slot '{}' is not among the inputs", one.slot);
  for (const Binding& one : def.inputs)
    if (one.role == Role::kSlot && !is_slot(def.outputs, one.slot))
      return TFD_TRY(node.member("inputs")).fail("slot '{}' is not among the outputs", one.slot);
  if (has_role(def.inputs, Role::kLearningRate) && !node.has("learning_rate"))
    return node.fail("needs 'learning_rate': the module takes it");
  return {};
}

/// Requires the variable's spec of all arguments and results but the rate and the step.
Result<void> check_module(const Node& node, const UpdateDef& def, const hlo::Module& module) {
  const auto& signature = module.signature;
  const auto at = std::ranges::find(def.inputs, Role::kVariable, &Binding::role) - def.inputs.begin();
  const TensorSpec spec = signature.arguments[static_cast<std::size_t>(at)].spec;
  for (std::size_t i = 0; i < def.inputs.size(); ++i) {
    const hlo::Parameter& argument = signature.arguments[i];
    const DType dtype = argument.spec.dtype;
    const Role role = def.inputs[i].role;
    const bool is_rate = role == Role::kLearningRate, is_step = role == Role::kStep;
    const bool fits = is_rate ? argument.spec.shape.empty() && (dtype == DType::kF32 || dtype == DType::kF64)
                      : is_step
                          ? argument.spec.shape.empty() && tensor::is_integer(dtype) && tensor::dtype_size(dtype) >= 4
                          : argument.spec == spec;
    if (fits) continue;
    return node.fail("{}: argument '{}' is {}, but must be {}", module.name, argument.name, format_spec(argument.spec),
                     is_rate   ? "a scalar f32 or f64"
                     : is_step ? "a scalar s32, s64, u32 or u64"
                               : "like the variable, " + format_spec(spec));
  }
  for (const hlo::Parameter& result : signature.results)
    if (result.spec != spec)
      return node.fail("{}: result '{}' is {}, but the variable is {}", module.name, result.name,
                       format_spec(result.spec), format_spec(spec));
  return {};
}

/// Parses rate, clipping and loss scale as another optimizer's settings, whose name is in its messages.
Result<std::shared_ptr<const variable::Optimizer>> make_common(const Node& node) {
  constexpr std::string_view kName = "sgd";
  nlohmann::ordered_json settings = nlohmann::ordered_json::object();
  for (const std::string_view key : kCommon)
    if (const auto value = node.find(key)) settings[std::string(key)] = value->json();
  auto made = variable::make_optimizer({{std::string(kName), std::move(settings)}});
  if (made) return made;
  Error error = std::move(made).error();
  if (error.message.starts_with(kName)) error.message = node.path() + error.message.substr(kName.size());
  return fail(std::move(error));
}

}  // namespace

Result<void> parse_update_module(const Node& node, const FileReader& read_file, Program& program) {
  std::vector<std::string_view> known{"module", "platforms", "inputs", "outputs"};
  known.insert(known.end(), kCommon.begin(), kCommon.end());
  TFD_TRY(expect_object(node, known));
  const Node modules = TFD_TRY(node.member("module"));
  const auto platforms = TFD_TRY(parse_platforms(node));
  UpdateDef def;
  if (modules.is_list())
    for (const Node& one : modules.elements())
      def.modules.push_back(TFD_TRY(read_module(one, platforms, read_file, program.files)));
  else
    def.modules.push_back(TFD_TRY(read_module(modules, platforms, read_file, program.files)));
  if (def.modules.empty()) return modules.fail("must not be empty");
  const hlo::Signature& first = def.modules.front().signature;
  def.inputs = TFD_TRY(parse_bindings(TFD_TRY(node.member("inputs")), true, first.arguments.size()));
  def.outputs = TFD_TRY(parse_bindings(TFD_TRY(node.member("outputs")), false, first.results.size()));
  TFD_TRY(check_bindings(node, def));
  for (const hlo::Module& module : def.modules) {
    const hlo::Signature& own = module.signature;
    if (own.arguments.size() != first.arguments.size() || own.results.size() != first.results.size())
      return modules.fail("{} is {}, but {} is {}", module.name, format_signature(own), def.modules.front().name,
                          format_signature(first));
    TFD_TRY(check_module(modules, def, module));
  }
  auto common = TFD_TRY(make_common(node));
  program.rules = make_module_optimizer(def, std::move(common), {});
  program.update = std::move(def);
  return {};
}

Result<void> check_update_module(const Node& node, const Program& program) {
  std::set<std::string> names;
  for (const FunctionDef& function : program.functions)
    for (const OutputBinding& output : function.outputs)
      if (output.kind == OutputKind::kGradient) names.insert(output.name);
  for (const std::string& name : names) {
    const VariableDef& variable = *program.find_variable(name);
    const std::int64_t shards = TFD_TRY(shards_of(variable));
    const auto sharding = TFD_TRY(variable::Sharding::make(variable.spec.shape, shards), name);
    for (std::int64_t i = 0; i < sharding.count(); ++i) {
      const TensorSpec spec{variable.spec.dtype, sharding.shard_shape(i)};
      if (find_module(*program.update, spec) == nullptr)
        return TFD_TRY(node.member("module"))
            .fail("no module updates {} '{}', which is {}", sharding.count() > 1 ? "a shard of" : "variable", name,
                  format_spec(spec));
    }
  }
  return {};
}

}  // namespace tfd::program
