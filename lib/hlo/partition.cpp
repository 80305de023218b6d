// SPDX-License-Identifier: Apache-2.0
#include "tfd/hlo/partition.hpp"

#include "text.hpp"
#include "tfd/base/text.hpp"
#include "tfd/hlo/embed.hpp"
#include "types.hpp"

namespace tfd::hlo {
namespace {

/// The stated sharding; replicated if none is.
Result<OpSharding> sharding_of(const Parameter& parameter, int partitions) {
  const OpSharding sharding = parameter.sharding.value_or(OpSharding{});
  if (sharding.kind == OpSharding::Kind::kAssign)
    return fail(Code::kInvalidArgument, "'{}' is assigned to a logical device, which SPMD partitioning doesn't support",
                printable(parameter.name));
  if (sharding.kind == OpSharding::Kind::kSplit)
    TFD_TRY(check_split(sharding.pieces, parameter.spec.shape, partitions),
            fmt::format("'{}'", printable(parameter.name)));
  return sharding;
}

std::string with_sharding(const Parameter& parameter, const OpSharding& sharding) {
  const std::string alias =
      parameter.aliases_output ? fmt::format(", tf.aliasing_output = {} : i32", *parameter.aliases_output) : "";
  return fmt::format("{} {{mhlo.sharding = \"{}\"{}}}", format_tensor_type(parameter.spec), format_sharding(sharding),
                     alias);
}

}  // namespace

Result<Module> partitioned(const Module& module, int partitions, Aliases aliases) {
  if (module.partitions > 1) {
    if (module.partitions == partitions) return with_all_shardings(module);
    return fail(Code::kInvalidArgument, "{} is for {} partitions, not for {}", printable(module.name),
                module.partitions, partitions);
  }
  const Embedded inner = TFD_TRY(embed(module, "whole", module.replicas));
  Module out = module;
  std::string arguments, names, argument_types, results, types;
  for (std::size_t i = 0; i < module.signature.arguments.size(); ++i) {
    Parameter& argument = out.signature.arguments[i];
    argument.sharding = TFD_TRY(sharding_of(argument, partitions), printable(module.name));
    if (aliases == Aliases::kNone) argument.aliases_output.reset();
    const char* const comma = i > 0 ? ", " : "";
    arguments += fmt::format("{}%arg{}: {}", comma, i, with_sharding(argument, *argument.sharding));
    names += fmt::format("{}%arg{}", comma, i);
    argument_types += comma + format_tensor_type(argument.spec);
  }
  for (std::size_t i = 0; i < module.signature.results.size(); ++i) {
    Parameter& result = out.signature.results[i];
    result.sharding = TFD_TRY(sharding_of(result, partitions), printable(module.name));
    const char* const comma = i > 0 ? ", " : "";
    results += comma + with_sharding(result, *result.sharding);
    types += comma + format_tensor_type(result.spec);
  }
  const std::size_t count = module.signature.results.size();
  std::string returned;
  for (std::size_t i = 0; i < count; ++i)
    returned += fmt::format("{}%0{}", i > 0 ? ", " : "", count > 1 ? fmt::format("#{}", i) : "");
  out.code = fmt::format(
      "{}module @partitioned attributes {{mhlo.num_partitions = {} : i32, mhlo.num_replicas = {} : i32}} {{\n"
      "  func.func public @main({}) -> ({}) {{\n"
      "    {}call @{}({}) : ({}) -> ({})\n"
      "    return{}{}{}{}\n  }}\n{}}}\n",
      inner.aliases, partitions, module.replicas, arguments, results,
      count == 0   ? ""
      : count == 1 ? "%0 = "
                   : fmt::format("%0:{} = ", count),
      inner.main, names, argument_types, types, count > 0 ? " " : "", returned, count > 0 ? " : " : "", types,
      inner.functions);
  out.partitions = partitions;
  out.may_donate = aliases == Aliases::kKept && module.may_donate;
  // Parsed again: the text of a broken module may mean something else within another one.
  const auto read = parse_mlir_text(out.code);
  if (!read || !same_specs(read->signature, module.signature))
    return fail(Code::kInvalidArgument, "{} can't be inlined into another module", printable(module.name));
  return out;
}

Result<Module> with_all_shardings(Module module) {
  if (!module.is_text) return module;
  const ModuleFacts facts = TFD_TRY(parse_mlir_text(module.code), printable(module.name));
  std::string& text = module.code;
  for (auto place = facts.unstated.rbegin(); place != facts.unstated.rend(); ++place) {  // from the end: places stay
    std::string whole = "mhlo.sharding = \"{replicated}\"";
    if (!facts.mesh.empty()) {  // Shardy's attributes and XLA's older ones don't mix
      std::string axes;
      for (std::size_t i = 0; i < place->rank; ++i) axes += i > 0 ? ", {}" : "{}";
      whole = fmt::format("sdy.sharding = #sdy.sharding<@\"{}\", [{}]>", facts.mesh, axes);
    }
    if (place->in_braces)
      text.insert(place->at, whole + (place->has_others ? ", " : ""));
    else
      text.insert(place->at, fmt::format(" {{{}}}{} ", whole, place->bare ? ")" : ""));
    if (place->bare) text.insert(*place->bare, "(");
  }
  return module;
}

}  // namespace tfd::hlo
