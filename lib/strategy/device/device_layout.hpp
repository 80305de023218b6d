#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Layout of a training on devices: variables that are used alike are packed into one buffer, and a step consists of
// modules that tfd writes around the program's: one computes the changes of the variables, another applies them; or one
// does both. A step with many small variables then costs as much as one with a single variable (facts: 800 variables,
// 15 ms apart, 25 µs packed). Private to the room. Thread rule: plain values, pure functions.
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

/// Use of a variable by the function.
struct VariableUse {
  program::OutputKind kind = program::OutputKind::kResult;  // kGradient or an assignment; kResult: it is only read
  program::Reduce reduce = program::Reduce::kMean;          // of a gradient
  variable::Aggregation aggregation = variable::Aggregation::kNone;  // of an assignment
  std::optional<hlo::OpSharding> sharding = {};  // its sharding over a replica's logical devices; absent: not split
  bool is_own = false;                           // each replica has its own value, and assigns to that one only
  std::shared_ptr<const variable::DeviceUpdate> update = {};  // of a gradient
  std::int64_t updates = 0;                                   // that it has had
  std::int64_t accumulated = 0;                               // number of gradients accumulated so far

  bool changes() const { return kind != program::OutputKind::kResult; }
  friend bool operator==(const VariableUse&, const VariableUse&) = default;
};

/// Variables in one buffer: concatenated to a vector, or a single one unchanged.
struct Pack {
  VariableUse use;
  tensor::TensorSpec spec;
  std::vector<std::size_t> variables;  // of the program
  std::vector<std::int64_t> sizes;     // elements of each, in a viewed pack with padding to alignment
  /// True: each variable is passed as a view of the buffer's memory; else the function's kernels slice it.
  bool is_viewed = false;

  /// Names of its optimizer slots, the accumulator last.
  std::vector<std::string> slot_names() const;
};

struct DeviceLayout {
  std::vector<Pack> packs;      // packs of all variables but a loss scale
  bool has_loss_scale = false;  // the function's gradients are divided by a loss scale

  struct Argument {
    // kVariable: of a viewed pack; kInput: no variable; kWatch: function::watch_argument().
    enum class Of { kPack, kVariable, kInput, kWatch };
    Of of = Of::kInput;
    std::size_t index = 0;  // of the pack, the program's variable, or the function's input
  };
  /// The computation of the program's function, with one of its modules.
  struct Compute {
    hlo::Module module;
    std::vector<Argument> arguments;
    std::vector<std::size_t> metrics;  // result index by metric
    std::vector<std::size_t> changes;  // result index of each changing() pack's change
  };
  // References to modules stay valid while others are added: one may be being compiled.
  std::deque<Compute> computes;  // by the function's callable module (program::Modules::called())

  /// The update. Arguments: packs that change; their slots, the accumulator last; their changes; then update_scalars().
  /// Results: the packs and the slots, in the same memory; then the gradients' norm, if the program asks for it.
  hlo::Module update;
  /// The same for steps that only accumulate gradients; set if an update takes several.
  std::optional<hlo::Module> waiting;

  /// The whole step, with one of the function's modules, for all replicas at once. Arguments: packs that change; their
  /// slots; `arguments`; then update_scalars(). Results: the packs and the slots, in the same memory; metrics; the
  /// gradients' norm, if the program asks for it; and, if the optimizer checks gradients, whether all are finite:
  /// otherwise nothing has changed.
  struct Fused {
    hlo::Module module;
    std::vector<Argument> arguments;
    bool has_norm = false, has_finite = false;
  };
  std::deque<Fused> fused, fused_waiting;  // by module of the function, as above; empty if steps aren't fused

  std::vector<std::size_t> changing() const;  // packs
};

struct LayoutOptions {
  std::string platform;  // of the engine
  int replicas = 1;
  int logical_devices = 1;  // of each
  /// True: variables that are assigned without an aggregation, or by the first replica of each worker, have copies of
  /// the replicas too, as TensorFlow's.
  bool keeps_more_copies = false;
  bool fuses = false;  // requires that why_not_fused() (device_training.hpp) is nullopt
  /// True: the function shows each variable's change, by the variable's number, as soon as it is computed
  /// (function/value_watch.hpp). Not of bytecode, nor where each replica clips.
  bool shows_changes = false;
};

/// Makes the layout. `states` of the program's variables give the counts of updates and accumulated gradients. Requires
/// that why_not_on_devices() (device_training.hpp) is nullopt. Errors of embedding.
Result<DeviceLayout> lay_out(const program::Program& program, const std::vector<variable::VariableState>& states,
                             const LayoutOptions& options);

/// True if the function reads more small variables than kernels with slices of a pack can have without long compilation
/// (figures in device_layout.cpp).
bool has_many_slices(const program::Program& program);

/// Adds modules that the function's template was expanded to meanwhile. Errors of embedding.
Result<void> add_modules(const program::Program& program, const LayoutOptions& options, DeviceLayout& layout);

/// True for outputs that are neither results nor metrics.
bool changes_variable(program::OutputKind kind);

/// Arguments that change with every update: one vector per dtype of scalars, with the loss scale in front, if there is
/// one.
std::vector<tensor::Tensor> update_scalars(const DeviceLayout& layout, double loss_scale);

}  // namespace tfd::strategy
