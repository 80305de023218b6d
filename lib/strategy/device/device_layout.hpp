#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How a training lies on devices: variables that are used alike are packed into one buffer, and the step is modules
// that tfd writes around the program's: one computes what the variables are to change by, another changes them; or one
// does both. With many small variables a step costs what one costs (facts: 800 variables, 15 ms apart, 25 µs packed).
// Private to the room. Thread rule: plain values, pure functions.
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tfd/hlo/module.hpp"
#include "tfd/program/program.hpp"
#include "tfd/variable/device_update.hpp"
#include "tfd/variable/optimizer.hpp"

namespace tfd::strategy {

/// What the function does with a variable.
struct VariableUse {
  program::OutputKind kind = program::OutputKind::kResult;  // kGradient, an assignment; kResult: it only reads it
  program::Reduce reduce = program::Reduce::kMean;          // of a gradient
  variable::Aggregation aggregation = variable::Aggregation::kNone;  // of an assignment
  std::optional<hlo::OpSharding> sharding = {};  // how it is cut over a replica's logical devices; absent: it isn't
  bool is_own = false;  // each replica has a value of its own, and what it assigns is for that one
  std::shared_ptr<const variable::DeviceUpdate> update = {};  // of a gradient
  std::int64_t updates = 0;                                   // that it has had
  std::int64_t accumulated = 0;                               // gradients that wait for the next one

  bool changes() const { return kind != program::OutputKind::kResult; }
  friend bool operator==(const VariableUse&, const VariableUse&) = default;
};

/// Variables in one buffer: a vector of them all, or a single one as it is.
struct Pack {
  VariableUse use;
  tensor::TensorSpec spec;
  std::vector<std::size_t> variables;  // of the program
  std::vector<std::int64_t> sizes;     // elements of each, and, where it is viewed, what fills up an aligned part
  /// The function takes each of its variables by itself, as a view of the buffer's memory; else slices of it are made
  /// in the function's kernels.
  bool is_viewed = false;

  /// What its optimizer keeps beside it, the accumulator last.
  std::vector<std::string> slot_names() const;
};

struct DeviceLayout {
  std::vector<Pack> packs;      // of all variables but a loss scale
  bool has_loss_scale = false;  // the function's gradients are divided by one

  struct Argument {
    enum class Of { kPack, kVariable, kInput };  // a variable of a pack that is viewed; an input that is no variable
    Of of = Of::kInput;
    std::size_t index = 0;  // of the pack, of the program's variable, of the function's input
  };
  /// What the program's function computes, with one of its modules.
  struct Compute {
    hlo::Module module;
    std::vector<Argument> arguments;
    std::vector<std::size_t> metrics;  // its results: by metric
    std::vector<std::size_t> changes;  // what each of changing() changes by, as one value
  };
  // A module stays where it is while others are added: it may be being compiled.
  std::deque<Compute> computes;  // by module of the function that is called (program::Modules::called())

  /// Arguments: packs that change; their slots, the accumulator last; by what they change; then update_scalars().
  /// Results are the first and the second of these, in the same memory.
  hlo::Module update;
  /// The same where gradients only wait for others; where an update has more than one.
  std::optional<hlo::Module> waiting;

  /// The whole step, with one of the function's modules, for all replicas at once. Arguments: packs that change; their
  /// slots; these; then update_scalars(). Results: the first and the second of these, in the same memory; metrics; and,
  /// where the optimizer looks at gradients, whether all of them are finite: else nothing has changed.
  struct Fused {
    hlo::Module module;
    std::vector<Argument> arguments;
    bool has_finite = false;
  };
  std::deque<Fused> fused, fused_waiting;  // by module of the function, as above; empty where steps aren't fused

  std::vector<std::size_t> changing() const;  // packs
};

struct LayoutOptions {
  std::string platform;  // of the engine
  int replicas = 1;
  int logical_devices = 1;  // of each
  bool fuses = false;       // what why_not_fused() (device_training.hpp) has looked at
};

/// `states`: of the program's variables, of which it takes how many updates and gradients they have had. What
/// why_not_on_devices() (device_training.hpp) has looked at. Errors of embedding.
Result<DeviceLayout> lay_out(const program::Program& program, const std::vector<variable::VariableState>& states,
                             const LayoutOptions& options);

/// Whether the function reads so many small variables that kernels with slices of a pack in them would take too long to
/// compile (device_layout.cpp has the figures).
bool has_many_slices(const program::Program& program);

/// Adds the modules of the function that a template was made into meanwhile. Errors of embedding.
Result<void> add_modules(const program::Program& program, const LayoutOptions& options, DeviceLayout& layout);

/// Whether it is neither a result nor a metric.
bool changes_variable(program::OutputKind kind);

/// The arguments of the update that differ from update to update: one vector for each dtype of numbers that there is,
/// with the loss scale in front, where there is one.
std::vector<tensor::Tensor> update_scalars(const DeviceLayout& layout, double loss_scale);

}  // namespace tfd::strategy
