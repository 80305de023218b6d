// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/description.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tfd/base/text.hpp"
#include "tfd/hlo/flops.hpp"
#include "tfd/step/memory_need.hpp"

namespace tfd::strategy {
namespace {

using Json = nlohmann::ordered_json;
using program::FunctionDef;
using program::InputKind;
using program::OutputKind;

Json json_of(const tensor::TensorSpec& spec) {
  return {{"dtype", std::string(tensor::dtype_name(spec.dtype))}, {"shape", spec.shape}};
}

/// Kind and name of an input: {"is": "variable", "name": "w"}.
Json source_of(const program::InputBinding& input) {
  const auto field = [&](Json source) {
    if (input.field) source["field"] = *input.field;
    return source;
  };
  switch (input.kind) {
    case InputKind::kVariable:
      return input.lookup.empty() ? Json{{"is", "variable"}, {"name", input.name}}
                                  : Json{{"is", "rows"}, {"name", input.lookup}};
    case InputKind::kDataset:
      return field({{"is", "dataset"}, {"name", input.name}});
    case InputKind::kArg:
      return field({{"is", "argument"}, {"index", input.index}});
    case InputKind::kKwarg:
      return field({{"is", "argument"}, {"name", input.name}});
    case InputKind::kStep:
      return {{"is", "step"}};
    case InputKind::kLearningRate:
      return {{"is", "learning_rate"}};
    case InputKind::kReplicaId:
      return {{"is", "replica_id"}};
    case InputKind::kNumReplicas:
      return {{"is", "num_replicas"}};
    case InputKind::kRng:
      return {{"is", "rng"}};
    case InputKind::kLossScale:
      return {{"is", "loss_scale"}};
  }
  return Json::object();
}

Json metric_of(const program::OutputBinding& output) {
  Json out{{"is", "metric"}, {"name", output.name}};
  if (output.part != program::Part::kWhole) out["part"] = program::part_name(output.part);
  if (output.formula != program::Formula::kPlain) out["formula"] = program::formula_name(output.formula);
  return out;
}

Json target_of(const program::OutputBinding& output) {
  switch (output.kind) {
    case OutputKind::kResult:
      return {{"is", "result"}, {"index", output.index}};
    case OutputKind::kMetric:
      return metric_of(output);
    case OutputKind::kGradient:
      return {{"is", "gradient"}, {"name", output.name}};
    case OutputKind::kAssign:
      return {{"is", "assign"}, {"name", output.name}};
    case OutputKind::kAssignAdd:
      return {{"is", "assign_add"}, {"name", output.name}};
    default:
      return {{"is", "assign_sub"}, {"name", output.name}};
  }
}

const char* kind_of(const FunctionDef& function) {
  if (function.kind == program::FunctionKind::kModule) return "module";
  return function.kind == program::FunctionKind::kPlugin ? "plugin" : "command";
}

Result<Json> describe_module(const hlo::Module& module, function::Engine* engine) {
  Json out{{"module", module.name}};
  if (const auto flops = hlo::estimate_flops(module)) out["flops"] = *flops;
  if (engine == nullptr || module.partitions != 1 || module.replicas != 1) return out;
  const auto compiled = TFD_TRY(engine->compile_for_each_device(module));
  out.update(cost_of(*compiled.front()));
  return out;
}

Result<Json> describe_function(const FunctionDef& function, function::Engine* engine) {
  const hlo::Signature& signature = function.modules.front().signature;
  Json out{{"name", function.name},
           {"kind", kind_of(function)},
           {"inputs", Json::array()},
           {"outputs", Json::array()},
           {"modules", Json::array()}};
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    out["inputs"].push_back(source_of(function.inputs[i]));
    out["inputs"].back().update(json_of(signature.arguments[i].spec));
  }
  for (std::size_t i = 0; i < function.outputs.size(); ++i) {
    out["outputs"].push_back(target_of(function.outputs[i]));
    out["outputs"].back().update(json_of(signature.results[i].spec));
  }
  if (function.kind != program::FunctionKind::kModule) return out;
  for (const hlo::Module* module : function.modules.expected())
    out["modules"].push_back(TFD_TRY(describe_module(*module, engine), function.name));
  return out;
}

/// Variables for which some function has a gradient.
std::set<std::string, std::less<>> trained_variables(const program::Program& program) {
  std::set<std::string, std::less<>> out;
  for (const FunctionDef& function : program.functions)
    for (const program::OutputBinding& output : function.outputs)
      if (output.kind == OutputKind::kGradient) out.insert(output.name);
  return out;
}

std::string text_of(const Json& one) {
  const std::string is = one["is"].get<std::string>();
  std::string who = one.contains("name") ? one["name"].get<std::string>() : std::string();
  if (one.contains("index")) who = std::to_string(one["index"].get<int>());
  if (one.contains("part")) who += "." + one["part"].get<std::string>();
  if (one.contains("field")) who += (who.empty() ? "" : ".") + one["field"].get<std::string>();
  const std::string spec = one["dtype"].get<std::string>() + one["shape"].dump();
  return fmt::format("{}{}{} {}", is, who.empty() ? "" : " ", who, spec);
}

std::string text_of_all(const Json& all) {
  std::vector<std::string> parts;
  for (const Json& one : all) parts.push_back(text_of(one));
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

Json cost_of(const function::DeviceProgram& program) {
  Json out = Json::object();
  if (const auto flops = program.flops()) out["flops"] = *flops;
  if (const auto memory = program.memory())
    out["memory"] = {{"arguments", memory->arguments}, {"results", memory->results}, {"temporary", memory->temporary}};
  return out;
}

std::string bytes_text(const Json& bytes) { return rounded_bytes(Bytes{bytes.get<std::uint64_t>()}); }

std::string cost_text(const Json& cost) {
  std::string out;
  if (cost.contains("flops")) out += fmt::format("{:.4g} flops", cost["flops"].get<double>());
  if (!cost.contains("memory")) return out.empty() ? "the plug-in doesn't say what it costs" : out;
  const Json& memory = cost["memory"];
  return out + fmt::format("{}{} in, {} out, {} temporary", out.empty() ? "" : ", ", bytes_text(memory["arguments"]),
                           bytes_text(memory["results"]), bytes_text(memory["temporary"]));
}

Result<Json> describe_program(const program::Program& program, function::Engine* engine) {
  const auto need = step::need_of(program);
  const auto trained = trained_variables(program);
  std::int64_t parameters = 0;
  Json each = Json::array();
  for (const program::VariableDef& one : program.variables) {
    const std::int64_t count = tensor::element_count(one.spec.shape);
    const bool is_trained = trained.contains(one.name);
    if (is_trained) parameters += count;
    each.push_back({{"name", one.name}});
    each.back().update(json_of(one.spec));
    each.back().update({{"parameters", count}, {"trained", is_trained}});
  }
  Json out{{"program", printable(program.path)},
           {"parameters", parameters},
           {"variables",
            {{"count", need.variables}, {"bytes", need.values}, {"slot_bytes", need.slots}, {"each", std::move(each)}}},
           {"functions", Json::array()}};
  for (const FunctionDef& function : program.functions)
    out["functions"].push_back(TFD_TRY(describe_function(function, engine)));
  return out;
}

std::string format_description(const Json& description) {
  const Json& variables = description["variables"];
  std::string out = fmt::format("variables  {}, {}, and {} that the optimizer keeps; {} to train\n",
                                variables["count"].get<std::uint64_t>(), bytes_text(variables["bytes"]),
                                bytes_text(variables["slot_bytes"]),
                                counted(description["parameters"].get<std::uint64_t>(), "parameter"));
  for (const Json& one : variables["each"])
    out += fmt::format("  {} {}{}{}\n", one["name"].get<std::string>(), one["dtype"].get<std::string>(),
                       one["shape"].dump(), one["trained"].get<bool>() ? "" : ", not trained");
  for (const Json& function : description["functions"]) {
    out += fmt::format("function   {}\n  takes    {}\n  gives    {}\n", function["name"].get<std::string>(),
                       text_of_all(function["inputs"]), text_of_all(function["outputs"]));
    for (const Json& module : function["modules"])
      out += fmt::format("  costs    {}{}\n",
                         module.contains("memory") || module.contains("flops") ? cost_text(module) : "not known here",
                         function["modules"].size() > 1 ? ": " + module["module"].get<std::string>() : "");
  }
  return out;
}

}  // namespace tfd::strategy
