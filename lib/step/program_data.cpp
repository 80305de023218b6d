// SPDX-License-Identifier: Apache-2.0
#include "tfd/step/program_data.hpp"

#include <set>

#include "tfd/step/compiled_program.hpp"

namespace tfd::step {
namespace {

/// The functions that the pipeline calls.
std::set<std::string> functions_of(const data::Plan& plan) {
  std::set<std::string> names;
  data::has_stage(plan, [&](const data::Stage& stage) {
    if (const auto* map = std::get_if<data::Map>(&stage)) names.insert(map->function);
    if (const auto* filter = std::get_if<data::Filter>(&stage)) names.insert(filter->function);
    return false;
  });
  return names;
}

/// The program that calls the functions, and the dataset, whose maps refer to it.
struct OpenDataset {
  std::unique_ptr<CompiledProgram> program;
  std::shared_ptr<const data::Dataset> dataset;
};

}  // namespace

Result<std::shared_ptr<const data::Dataset>> open_dataset(const program::Program& program, const std::string& name,
                                                          const DataOptions& options) {
  std::set<std::string> called;
  if (const auto plan = program.datasets.find(name); plan != program.datasets.end())
    called = functions_of(plan->second);
  std::shared_ptr<function::Engine> engine;
  for (const program::FunctionDef& function : program.functions) {
    const bool needs_engine = called.contains(function.name) && function.kind == program::FunctionKind::kModule;
    if (needs_engine && !engine && options.make_engine) engine = TFD_TRY(options.make_engine());
  }
  auto open = std::make_shared<OpenDataset>();
  const std::string directory = options.data_root.empty() ? program.directory : options.data_root;
  open->program = TFD_TRY(CompiledProgram::make(program, directory, engine, options.command_environment));
  open->program->set_skipped(options.skipped);
  open->dataset = TFD_TRY(open->program->find_dataset(name, {}, 0));
  const data::Dataset* dataset = open->dataset.get();
  return std::shared_ptr<const data::Dataset>(std::move(open), dataset);
}

}  // namespace tfd::step
