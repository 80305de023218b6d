// SPDX-License-Identifier: Apache-2.0
#include "worker_program.hpp"

#include <algorithm>

namespace tfd::runtime {
namespace {

/// Which field of the element each argument of a map's function takes. Source of the rule: design, "The program", Inputs.
Result<std::vector<std::size_t>> bind_fields(const program::FunctionDef& function, const data::ElementSpec& input) {
  std::vector<std::size_t> positions;
  for (const program::InputBinding& binding : function.inputs) {
    if (binding.kind != program::InputKind::kArg || binding.index != 0)
      return fail(Code::kInvalidArgument, "function '{}' maps a dataset: its inputs must be fields of arg 0", function.name);
    if (!binding.field && input.size() != 1)
      return fail(Code::kInvalidArgument, "function '{}': an element has {} fields, say which", function.name, input.size());
    const auto field = binding.field ? std::ranges::find(input, *binding.field, &data::FieldSpec::name) : input.begin();
    if (field == input.end())
      return fail(Code::kInvalidArgument, "function '{}': the dataset has no field '{}'", function.name, *binding.field);
    positions.push_back(static_cast<std::size_t>(field - input.begin()));
  }
  return positions;
}

}  // namespace

Result<program::Program> parse_loaded(const LoadProgram& load) {
  const auto read_file = [&load](const std::string& path) -> Result<std::string> {
    const auto found = load.files.find(path);
    if (found == load.files.end()) return fail(Code::kNotFound, "'{}' did not come with the program", path);
    return found->second;
  };
  program::ProgramOptions options;
  options.look_at_files = false;
  return program::parse_program(load.document, load.path, load.directory, read_file, options);
}

Result<function::Function*> CompiledFunction::choose(const std::vector<tensor::TensorSpec>& arguments) const {
  if (variants.size() == 1) return variants[0].get();  // call() checks the arguments and says what doesn't fit
  const function::Module* module = TFD_TRY(program::choose_module(*def, arguments));
  return variants[static_cast<std::size_t>(module - def->modules.data())].get();
}

Result<std::unique_ptr<WorkerProgram>> WorkerProgram::make(program::Program program, std::string directory,
                                                           const std::shared_ptr<function::Engine>& engine) {
  std::unique_ptr<WorkerProgram> out(new WorkerProgram(std::move(program), std::move(directory)));
  for (const program::FunctionDef& def : out->program_.functions) {
    CompiledFunction compiled{&def, {}};
    for (const function::Module& module : def.modules)
      compiled.variants.push_back(TFD_TRY(engine->compile(module), "functions." + def.name));
    out->functions_.emplace(def.name, std::move(compiled));
  }
  return out;
}

Result<const CompiledFunction*> WorkerProgram::find_function(const std::string& name) const {
  const auto found = functions_.find(name);
  if (found == functions_.end()) return fail(Code::kNotFound, "the program has no function '{}'", name);
  return &found->second;
}

Result<std::shared_ptr<const data::Dataset>> WorkerProgram::find_dataset(const std::string& name) {
  const auto found = datasets_.find(name);
  if (found != datasets_.end()) return found->second;
  data::DatasetContext context;
  context.directory = directory_;
  context.find_function = [this](const std::string& function, const data::ElementSpec& input,
                                 const std::vector<std::string>& fields) { return make_map(function, input, fields); };
  auto dataset = TFD_TRY(program::make_dataset(program_, name, context));
  datasets_.emplace(name, dataset);
  return dataset;
}

Result<data::MapFunction> WorkerProgram::make_map(const std::string& name, const data::ElementSpec& input,
                                                  const std::vector<std::string>& fields) const {
  const CompiledFunction* function = TFD_TRY(find_function(name));
  const auto positions = TFD_TRY(bind_fields(*function->def, input));
  const function::Signature& signature = function->def->modules.front().signature;
  if (fields.size() != signature.results.size())
    return fail(Code::kInvalidArgument, "function '{}' has {} results, the map names {} fields", name,
                signature.results.size(), fields.size());
  data::MapFunction out;
  for (std::size_t i = 0; i < fields.size(); ++i)
    out.spec.push_back({fields[i], signature.results[i].spec.dtype, signature.results[i].spec.shape});
  out.call = [function, positions](const data::Element& element) -> Result<data::Element> {
    std::vector<tensor::Tensor> arguments;
    std::vector<tensor::TensorSpec> specs;
    for (const std::size_t position : positions) {
      arguments.push_back(element[position]);
      specs.push_back(element[position].spec());
    }
    function::Function* variant = TFD_TRY(function->choose(specs));
    return variant->call(arguments);
  };
  return out;
}

}  // namespace tfd::runtime
