#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A task's program: parsed from the coordinator's message, on a worker with compiled functions. Thread rule: immutable
// once made; compiled functions are thread-safe.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/lazy.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/command/command.hpp"
#include "tfd/data/plan.hpp"
#include "tfd/function/function.hpp"
#include "tfd/program/program.hpp"
#include "tfd/step/compile_ahead.hpp"
#include "tfd/step/reduce.hpp"

namespace tfd::step {

/// A function for all devices, or one for each.
using OnDevices = std::vector<std::shared_ptr<function::Function>>;

/// The callable modules of a function (program::Modules::called()), each compiled on first use. Thread-safe.
class Variants {
 public:
  using Compile = std::function<Result<OnDevices>(const hlo::Module&)>;
  Variants(const program::Modules& modules, Compile compile) : modules_(modules), compile_(std::move(compile)) {}

  /// Errors of compiling.
  Result<const OnDevices*> get(std::size_t variant);
  bool has(std::size_t variant) { return find(variant).is_made(); }

 private:
  Lazy<OnDevices>& find(std::size_t variant);

  const program::Modules& modules_;  // the program's
  const Compile compile_;
  Mutex mutex_;
  std::map<std::size_t, Lazy<OnDevices>> compiled_ TFD_GUARDED_BY(mutex_);
};

struct CompiledFunction {
  const program::FunctionDef* def = nullptr;   // the program's
  std::shared_ptr<Variants> variants;          // shared: by copies
  const program::Program* program = nullptr;   // that it belongs to
  std::vector<std::string> variables_read;     // from the definition
  std::vector<UpdateRule> updates;             // one for each of its updates
  std::vector<std::size_t> other_inputs = {};  // positions of inputs that aren't variables

  /// Chooses the variant for arguments of these shapes, on this device. kInvalidArgument names the missing batch size.
  Result<function::Function*> choose(const std::vector<tensor::TensorSpec>& arguments, int device = 0) const;
  Result<function::Function*> on_device(std::size_t variant, int device) const {
    const OnDevices* const all = TFD_TRY(variants->get(variant));
    return (*all)[static_cast<std::size_t>(device) % all->size()].get();
  }
};

class CompiledProgram {
 public:
  /// Relative data paths start in `directory`, where commands run; `stop` is shared with the caller that stops these.
  /// Modules are compiled when they are first called.
  static Result<std::unique_ptr<CompiledProgram>> make(program::Program program, std::string directory,
                                                       const std::shared_ptr<function::Engine>& engine,
                                                       const Environment& command_environment = {},
                                                       std::shared_ptr<const command::CommandStop> stop = {});
  CompiledProgram(const CompiledProgram&) = delete;
  CompiledProgram& operator=(const CompiledProgram&) = delete;

  const program::Program& program() const { return program_; }
  /// Modules that aren't compiled yet; for a template, those of the batch sizes that the program's data are known to
  /// have. Valid during this object's lifetime. `besides`: a function that the caller runs itself.
  std::vector<CompileOne> left_to_compile(std::string_view besides = {}) const;
  /// Compiles all of them now.
  Result<void> compile() const;
  /// kNotFound names it.
  Result<const CompiledFunction*> find_function(const std::string& name) const;
  bool is_per_worker(std::string_view variable) const { return per_worker_.contains(variable); }
  /// Replaces `stop` for commands that print data; commands that are functions keep `stop`.
  void stop_data_with(std::shared_ptr<const command::CommandStop> stop);
  /// Sets the log of elements that datasets skip because of errors: at the 1st, the 10th, the 100th, ….
  void set_log(Log log) { log_ = std::move(log); }
  /// Replaces the log: called with each of those errors.
  void set_skipped(std::function<void(const Error&)> skipped) { skipped_ = std::move(skipped); }
  /// Returns a dataset, opened once and shared, or the part's share of it; its maps call this program's functions.
  /// `ahead` is data::DatasetContext's, the same in all calls.
  Result<std::shared_ptr<const data::Dataset>> find_dataset(const std::string& name, const data::Shard& part,
                                                            int ahead);
  /// Makes a dataset from a rewritten plan of the same sources and functions.
  Result<std::shared_ptr<const data::Dataset>> make_dataset(const std::string& name, const data::Plan& plan, int ahead);

 private:
  data::DatasetContext context_of(const std::string& dataset, int ahead);
  CompiledProgram(program::Program program, std::string directory)
      : program_(std::move(program)), directory_(std::move(directory)) {}
  Result<data::MapFunction> make_map(const std::string& name, const data::ElementSpec& input,
                                     const std::vector<std::string>& fields) const;

  program::Program program_;
  std::string directory_;
  std::set<std::string, std::less<>> per_worker_;  // variables
  std::map<std::string, CompiledFunction, std::less<>> functions_;
  std::map<std::string, std::shared_ptr<const data::Dataset>, std::less<>> datasets_;
  data::SharedSources sources_;
  Log log_;
  std::function<void(const Error&)> skipped_;
  std::shared_ptr<const command::CommandPlace> commands_;  // shared with the datasets
};

}  // namespace tfd::step
