// SPDX-License-Identifier: Apache-2.0
#include "custom_calls.hpp"

#include <vector>

#include "common.hpp"
#include "plugin_options.hpp"
#include "tfd/base/text.hpp"

namespace tfd::training {
namespace {

struct Calling {
  std::string path;  // in the program
  const hlo::Module* module;
  std::vector<std::string> calls;
};

void find_calls(const std::string& path, const hlo::Module& module, std::vector<Calling>& out) {
  Calling calling{path, &module, {}};
  for (const std::string& call : module.custom_calls)
    if (!hlo::is_common_custom_call(call)) calling.calls.push_back(fmt::format("'{}'", call));
  if (!calling.calls.empty()) out.push_back(std::move(calling));
}

std::string describe(const Calling& calling) {
  return fmt::format("{} has the custom call{} {}, which the workers' plug-in must support", calling.module->name,
                     calling.calls.size() == 1 ? "" : "s", join_words(calling.calls));
}

}  // namespace

Result<void> check_custom_calls(const program::Program& program, std::string_view tool, cli::Io& io) {
  std::vector<Calling> all;
  for (const program::FunctionDef& function : program.functions)
    if (function.kind == program::FunctionKind::kModule)
      for (const hlo::Module* module : function.modules.expected())
        find_calls(fmt::format("{}: functions.{}.module", program.path, function.name), *module, all);
  if (program.update)
    for (const hlo::Module& module : program.update->modules)
      find_calls(program.path + ": optimizer.module", module, all);
  if (all.empty()) return {};
  std::shared_ptr<function::Engine> engine;  // as make_engine() gives it
  if (function::find_plugin(io.env)) {
    keep_plugins_quiet();
    engine = TFD_TRY(make_engine(io.env));
  }
  for (const Calling& calling : all) {
    if (!engine) {
      say(io, tool, describe(calling));
      continue;
    }
    const auto compiled = engine->compile(*calling.module);
    if (!compiled && compiled.error().code == Code::kFailedPrecondition)
      say(io, tool, fmt::format("{}; {}", describe(calling), compiled.error().message));
    else if (!compiled)
      return fail(Error(compiled.error()).within(calling.path));
  }
  return {};
}

}  // namespace tfd::training
