// SPDX-License-Identifier: Apache-2.0
#include "tfd/hlo/module.hpp"

#include "parts.hpp"
#include "text.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::hlo {
namespace {

std::string format_parameters(const std::vector<Parameter>& parameters, bool with_names) {
  std::string out = "(";
  for (const Parameter& parameter : parameters) {
    if (out.size() > 1) out += ", ";
    if (with_names) out += printable(parameter.name) + ": ";
    out += tensor::format_spec(parameter.spec);
  }
  return out + ")";
}

/// The next word of a line, taken off its front.
std::string_view take_word(std::string_view& line) {
  const std::size_t start = std::min(line.find_first_not_of(" \t"), line.size());
  const std::size_t end = std::min(line.find_first_of(" \t", start), line.size());
  const std::string_view word = line.substr(start, end - start);
  line.remove_prefix(std::min(line.find_first_not_of(" \t", end), line.size()));
  return word;
}

Result<tensor::Shape> parse_dimensions(std::string_view text) {
  tensor::Shape shape;
  if (text == "-") return shape;
  for (const std::string& piece : split(text, ','))
    shape.push_back(TFD_TRY(parse_integer(piece, 0, std::int64_t{1} << 48)));
  if (shape.size() > 64) return fail(Code::kInvalidArgument, "too many dimensions");
  return shape;
}

/// "arg f32 64,10 w"
Result<void> parse_sidecar_line(std::string_view line, Signature& out) {
  const std::string_view kind = take_word(line);
  if (kind.empty() || kind.starts_with('#')) return {};
  if (kind != "arg" && kind != "result")
    return fail(Code::kInvalidArgument, "'{}' is neither arg nor result", printable(kind.substr(0, 40)));
  Parameter parameter;
  parameter.spec.dtype = TFD_TRY(tensor::parse_dtype(take_word(line)));
  const std::string_view dimensions = take_word(line);
  if (dimensions.empty())
    return fail(Code::kInvalidArgument, "no shape: write '{} DTYPE 64,10 NAME', with - for a scalar", kind);
  parameter.spec.shape = TFD_TRY(parse_dimensions(dimensions), "shape");
  TFD_TRY(tensor::checked_byte_size(parameter.spec.dtype, parameter.spec.shape));
  auto& list = kind == "arg" ? out.arguments : out.results;
  parameter.name = line.empty() ? fmt::format("{}{}", kind, list.size()) : std::string(line);
  list.push_back(std::move(parameter));
  return {};
}

/// Refuses jax's callbacks, by their names on the CPU and elsewhere, in older and newer versions.
Result<void> check_callbacks(const Module& module) {
  for (const std::string& target : module.custom_calls)
    if (target.starts_with("xla_python_") || target.starts_with("xla_ffi_python_") ||
        target.starts_with("xla_ffi_partitioned_python_"))
      return fail(Code::kInvalidArgument,
                  "{} calls back into Python ('{}': jax.debug.print, pure_callback or io_callback), which is not "
                  "available here; export it without callbacks",
                  printable(module.name), printable(target));
  return {};
}

Result<Signature> parse_sidecar(std::string_view text) {
  Signature out;
  int number = 0;
  for (std::string& line : split(text, '\n')) {
    ++number;
    line.erase(line.find_last_not_of(" \t\r") + 1);
    TFD_TRY(parse_sidecar_line(line, out), fmt::format("line {}", number));
  }
  if (out.results.empty()) return fail(Code::kInvalidArgument, "it has no result line");
  return out;
}

bool same_specs(const std::vector<Parameter>& a, const std::vector<Parameter>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Parameter& x, const Parameter& y) { return x.spec == y.spec; });
}

/// jax's platform index is no argument of the signature.
bool take_platform_index(Signature& sidecar) {
  auto& arguments = sidecar.arguments;
  const bool has_index = !arguments.empty() && arguments.front().name == "_platform_index" &&
                         arguments.front().spec == tensor::TensorSpec{tensor::DType::kS32, {}};
  if (has_index) arguments.erase(arguments.begin());
  return has_index;
}

/// A text with a sidecar takes its names: TensorFlow's text has none.
Result<void> take_names(const Signature& sidecar, Signature& signature) {
  if (!same_specs(sidecar.arguments, signature.arguments) || !same_specs(sidecar.results, signature.results))
    return fail(Code::kInvalidArgument, "it says {}, but the module is {}", format_signature(sidecar),
                format_signature(signature));
  for (std::size_t i = 0; i < signature.arguments.size(); ++i) signature.arguments[i].name = sidecar.arguments[i].name;
  for (std::size_t i = 0; i < signature.results.size(); ++i) signature.results[i].name = sidecar.results[i].name;
  return {};
}

/// Names of operations end with a zero byte in bytecode; portable artifacts number them ("infeed_v1").
bool has_operation(std::string_view code, std::string_view name) {
  for (std::size_t at = code.find(name); at != std::string_view::npos; at = code.find(name, at + 1)) {
    std::string_view rest = code.substr(at + name.size());
    const bool begins = at > 0 && (code[at - 1] == '\0' || code[at - 1] == '.');
    if (begins && rest.starts_with("_v"))
      rest.remove_prefix(std::min(rest.find_first_not_of("0123456789", 2), rest.size()));
    if (begins && rest.starts_with('\0')) return true;
  }
  return false;
}

/// Refuses operations that the text parser refuses; which devices they involve can't be seen in bytecode.
Result<void> check_bytecode(const std::string& name, std::string_view code) {
  for (const std::string_view operation : kWaitingOperations)
    if (has_operation(code, operation))
      return fail(Code::kInvalidArgument,
                  "{} has {} in it, which waits for the host or other devices: export it without, or as text",
                  printable(name), operation);
  return {};
}

Result<Module> read_module(std::string name, std::string code, const std::optional<std::string>& sidecar) {
  Module module;
  module.is_text = !is_bytecode(code);
  if (!module.is_text && !sidecar)
    return fail(Code::kInvalidArgument,
                "{} is bytecode and needs {} beside it (lines 'arg f32 64,10 NAME', 'result f32 - NAME')",
                printable(name), printable(sidecar_path(name)));
  if (!module.is_text) TFD_TRY(check_bytecode(name, code));
  if (module.is_text) {
    ModuleFacts facts = TFD_TRY(parse_mlir_text(code), printable(name));
    if (has_complex(facts)) code = TFD_TRY(in_parts(code, facts), printable(name));
    module.signature = std::move(facts.signature);
    module.partitions = facts.partitions;
    module.sharding_problem = std::move(facts.sharding_problem);
    module.replicas = facts.replicas;
    module.may_donate = facts.may_donate;
    module.takes_platform = facts.platform.has_value();
    module.asks_platform = facts.body.asks_platform;
    module.platform_branches = facts.body.platform_branches;
    module.custom_calls = std::move(facts.body.custom_calls);
  }
  if (sidecar) {
    const std::string where = printable(sidecar_path(name));
    Signature stated = TFD_TRY(parse_sidecar(*sidecar), where);
    const bool has_index = take_platform_index(stated);
    if (!module.is_text) module.takes_platform = module.asks_platform = has_index;
    if (module.is_text)
      TFD_TRY(take_names(stated, module.signature), where);
    else
      module.signature = std::move(stated);
  }
  module.name = std::move(name);
  module.code = std::move(code);
  TFD_TRY(check_callbacks(module));
  return module;
}

}  // namespace

std::string format_signature(const Signature& signature) {
  return format_parameters(signature.arguments, true) + " -> " + format_parameters(signature.results, false);
}

Result<Signature> parse_signature(std::string_view lines) { return parse_sidecar(lines); }

bool same_specs(const Signature& a, const Signature& b) {
  return same_specs(a.arguments, b.arguments) && same_specs(a.results, b.results);
}

bool is_bytecode(std::string_view code) { return code.starts_with("ML\xefR"); }

std::string sidecar_path(const std::string& module_path) {
  const std::size_t slash = module_path.rfind('/');
  const std::size_t dot = module_path.rfind('.');
  const bool has_extension = dot != std::string::npos && dot > 0 && (slash == std::string::npos || dot > slash + 1);
  return (has_extension ? module_path.substr(0, dot) : module_path) + ".sig";
}

Result<Module> make_module(std::string name, std::string code, const std::optional<std::string>& sidecar) {
  auto module = read_module(std::move(name), std::move(code), sidecar);
  if (module) return module;
  Error error = std::move(module).error();
  error.message = printable(error.message);  // it quotes the text
  return fail(std::move(error));
}

bool is_common_custom_call(std::string_view target) {
  for (const std::string_view name :
       {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement"})
    if (target == name) return true;
  return target.starts_with("xla.sdy.");
}

Result<void> check_arguments(const Signature& signature, const std::vector<tensor::Tensor>& arguments) {
  if (arguments.size() != signature.arguments.size())
    return fail(Code::kInvalidArgument, "{} argument{} given, but the module takes {}: {}", arguments.size(),
                arguments.size() == 1 ? " is" : "s are", signature.arguments.size(), format_signature(signature));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Parameter& wanted = signature.arguments[i];
    if (!arguments[i].has_value())
      return fail(Code::kInvalidArgument, "argument {} ({}) has no value", i, printable(wanted.name));
    if (arguments[i].spec() != wanted.spec)
      return fail(Code::kInvalidArgument, "argument {} ({}) is {}, but the module takes {}", i, printable(wanted.name),
                  tensor::format_spec(arguments[i].spec()), tensor::format_spec(wanted.spec));
  }
  return {};
}

}  // namespace tfd::hlo
