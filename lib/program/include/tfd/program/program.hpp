#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The program file: what a Python script would build under strategy.scope(). Read, and checked whole before anything
// runs: every name, shape, dtype and binding against the modules' real signatures. An error names the JSON path. Thread
// rule: a Program is immutable and thread-safe after it was made.
//
//   Program program = TFD_TRY(load_program("examples/digits/program.json", {.overrides = {"train.steps=10"}}));
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/compat.hpp"
#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/data/dataset.hpp"
#include "tfd/data/plan.hpp"
#include "tfd/function/command.hpp"
#include "tfd/function/function.hpp"
#include "tfd/hlo/module.hpp"
#include "tfd/program/modules.hpp"
#include "tfd/tensor/tensor.hpp"
#include "tfd/variable/initializer.hpp"
#include "tfd/variable/optimizer.hpp"
#include "tfd/variable/placement.hpp"
#include "tfd/variable/replicated.hpp"

namespace tfd::program {

struct VariableDef {
  std::string name;
  tensor::TensorSpec spec;
  variable::Initializer init = {};  // the path of its file is absolute
  bool trainable = true;
  variable::Aggregation aggregation = variable::Aggregation::kMean;
  variable::Synchronization synchronization = variable::Synchronization::kOnWrite;  // kOnWrite or kOnRead
  std::optional<variable::Partitioner> partitioner;
  std::string colocate_with;  // an earlier variable; empty: round-robin
  /// Every worker has one of its own, with the initial value whenever it gets the program; no parameter server has any.
  bool per_worker = false;
};

enum class InputKind {
  kVariable,
  kDataset,
  kArg,
  kKwarg,
  kStep,
  kLearningRate,
  kReplicaId,
  kNumReplicas,
  kRng,
  kLossScale
};

/// Of an input that is random numbers: what the program states of them.
struct RngDef {
  std::optional<tensor::DType> dtype;
  std::optional<tensor::Shape> shape;
  std::optional<std::uint64_t> seed;  // instead of the program's
};

/// Where an input or output lies on the logical devices of a replica, of which TPUStrategy's device assignment gives it
/// several.
using hlo::OpSharding;

/// What one module argument is bound to.
struct InputBinding {
  InputKind kind = InputKind::kArg;
  std::string name;                  // of the variable, the dataset, the kwarg
  int index = 0;                     // of the arg
  std::optional<std::string> field;  // of the dataset's element, or of the iterator that the arg or kwarg is
  /// A variable: the module gets those of its rows whose numbers are what the rest says (a dataset, arg or kwarg).
  std::string lookup = {};
  RngDef rng = {};
  std::optional<OpSharding> sharding = {};
};

/// Where a loss scale that moves lives: a variable that the program has without stating it. Checkpoints have it too.
inline constexpr std::string_view kLossScaleVariable = "optimizer/.loss_scale";

enum class OutputKind { kResult, kMetric, kGradient, kAssign, kAssignAdd, kAssignSub };
enum class Reduce { kMean, kSum };
enum class Part { kWhole, kNumerator, kDenominator };
/// Of an update of some rows: their values, or their numbers as a result of the module.
enum class RowsPart { kAll, kValues, kIndices };
/// Of an assignment: the value replaces the variable's, or what has changed since the function read it is added. What
/// isn't stated is kLast, but for the warning of lost_updates_of().
enum class Apply { kUnstated, kLast, kDifference };

/// What one module result is bound to.
struct OutputBinding {
  OutputKind kind = OutputKind::kResult;
  std::string name;  // of the metric or variable
  int index = 0;     // of the result
  Reduce reduce = Reduce::kMean;
  Part part = Part::kWhole;
  RowsPart rows = RowsPart::kAll;
  std::optional<InputBinding> ids = {};  // of kValues: where the numbers come from, if not from a kIndices beside it
  Apply apply = Apply::kUnstated;        // of kAssign
  std::optional<OpSharding> sharding = {};
};

/// The shape of the numbers that a lookup needs, where the module takes (or returns) rows of this spec: all dimensions
/// but those of a row. nullopt: those aren't rows of the table.
std::optional<tensor::Shape> indices_shape(const tensor::TensorSpec& rows, const tensor::TensorSpec& table);

enum class FunctionKind { kModule, kPlugin, kCommand };

struct FunctionDef {
  std::string name;
  FunctionKind kind = FunctionKind::kModule;
  std::string plugin_function = {};   // of a plug-in: its own name for it
  function::CommandDef command = {};  // of a command
  /// The same function for several batch sizes, or for any; at least one. A plug-in or command has one here too: its
  /// signature, and the plug-in's bytes as code.
  Modules modules;
  std::vector<InputBinding> inputs;    // one per module argument
  std::vector<OutputBinding> outputs;  // one per module result
  std::vector<std::string> returns;    // variables read after the updates
  int arg_count = 0;                   // positional arguments that a call passes
  std::vector<std::string> kwargs;     // names that a call passes
  /// Variables that it reads and then assigns, without a word of how; where the first of these outputs is.
  std::vector<std::string> overwritten = {};
  std::string overwritten_at = {};

  /// Variables among the inputs, each once, in order of first use; a loss scale that moves is one.
  std::vector<std::string> variables_read() const;
  bool has_updates() const;
};

/// How often a worker runs a function, and on which data: once; or once on each of its replicas, each of which takes an
/// element of its own (kEach) or its share of the rows of one element (kSplit).
enum class Replicas : std::uint8_t { kOne, kEach, kSplit };
/// "each", "split". kInvalidArgument.
Result<Replicas> parse_replicas(std::string_view name);

/// Which evaluation is the best so far: by one of its metrics.
struct BestDef {
  std::string metric;
  bool higher = false;  // "mode": "max"; by default that of names that end in acc, accuracy or auc, as Keras
};

struct StopDef {
  BestDef by;
  std::int64_t patience = 1;  // evaluations without a better one, until training stops
  double min_delta = 0;       // less than this is no better one
  bool restore_best = false;  // at the end the variables are those of the best evaluation
};

struct CheckpointDef {
  std::string directory;         // absolute, or relative to the working directory, below which it is then
  std::int64_t every_steps = 0;  // 0: not by steps
  std::optional<Duration> every_time;
  int keep = 3;
  bool resume = true;                // "resume": "auto" (default) or false
  std::optional<BestDef> keep_best;  // one more, in the directory's "best"
};

struct EvaluateDef {
  std::string function;
  std::int64_t every_steps = 0;       // 0: only at the end
  std::optional<std::int64_t> steps;  // batches; absent: one full pass
};

struct TrainDef {
  std::string function;
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> epochs;
  std::optional<Duration> max_time;
  std::int64_t log_every = 100;  // steps between `step` events
  Replicas replicas = Replicas::kEach;
  std::optional<CheckpointDef> checkpoint;
  std::optional<EvaluateDef> evaluate;
  std::optional<StopDef> stop;
};

/// An optimizer of one's own: one module for each shape of the variables that have gradients.
struct UpdateDef {
  enum class Role { kVariable, kGradient, kSlot, kLearningRate, kStep };
  struct Binding {
    Role role = Role::kVariable;
    std::string slot = {};  // its name
    double initial = 0;     // of the slot, everywhere
  };
  std::vector<hlo::Module> modules;
  std::vector<Binding> inputs;   // one per module argument
  std::vector<Binding> outputs;  // one per module result: the variable, slots
};

/// Things with names, in order. Their names don't change, so that find() is quick.
template <class T>
class NamedList {
 public:
  NamedList() = default;
  NamedList(std::vector<T> items) : items_(std::move(items)) {  // NOLINT: a list is one that can be searched
    for (std::size_t i = 0; i < items_.size(); ++i) places_.emplace(items_[i].name, i);
  }
  NamedList(std::initializer_list<T> items) : NamedList(std::vector<T>(items)) {}

  void push_back(T item) {
    places_.emplace(item.name, items_.size());
    items_.push_back(std::move(item));
  }
  /// The first of that name; or null.
  const T* find(std::string_view name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? nullptr : &items_[found->second];
  }
  operator const std::vector<T>&() const { return items_; }  // NOLINT
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  T& operator[](std::size_t i) { return items_[i]; }
  const T& operator[](std::size_t i) const { return items_[i]; }
  const T& back() const { return items_.back(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<T> items_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

/// What a program is, as values. Who changes some changes what the tasks get: see document().
struct Program {
  std::string path;                                  // of the file, for messages
  std::string directory;                             // relative paths start here (absolute)
  std::string data_root;                             // those of data start here instead, where it isn't empty
  NamedList<VariableDef> variables;                  // in creation order
  std::shared_ptr<const variable::Optimizer> rules;  // null if there is none; shared by copies of the program
  std::optional<UpdateDef> update;                   // where `rules` is one of one's own: see compile_rules()
  std::uint64_t seed = 0;                            // of random inputs that state none
  std::map<std::string, data::Plan> datasets;
  std::map<std::string, data::ElementSpec> dataset_specs;
  std::set<std::string> endless_datasets;  // as far as it is known without reading their data
  NamedList<FunctionDef> functions;
  std::optional<TrainDef> train;
  /// Each replica of a training clips its own gradients before they are added up, as TensorFlow's do; else what is
  /// clipped is the gradient of all of them.
  bool clips_replicas = false;
  /// What document() writes as it was read, after --set: all but variables, datasets, and how long the training is.
  std::shared_ptr<const nlohmann::ordered_json> stated;  // shared by copies of the program
  /// Files that the document refers to (modules and sidecars), by the path in it: what a task needs besides the
  /// document.
  std::map<std::string, std::string> files;
  /// "datasets.train[0].csv.path: /data/rows.csv": files that aren't here, which the tasks must have.
  std::set<std::string> missing_data;

  /// The JSON of it all: what parse_program() makes the same program of on a task. Groups and "weights" are spelled
  /// out.
  std::string document() const;
  bool has_kind(FunctionKind kind) const;
  /// Functions or sources of data.
  bool has_commands() const;
  /// Plug-ins or commands, which run only where the server allows it.
  bool has_native() const { return has_kind(FunctionKind::kPlugin) || has_commands(); }
  const VariableDef* find_variable(std::string_view name) const { return variables.find(name); }
  const FunctionDef* find_function(std::string_view name) const { return functions.find(name); }
};

/// Whether a pass of the function over its dataset, or of so many `steps`, is an evaluation: nothing passes arguments,
/// no variable is updated, there is a metric, and it reads one dataset, which ends unless steps are stated.
/// kInvalidArgument.
Result<void> check_evaluation(const Program& program, const FunctionDef& function, std::optional<std::int64_t> steps);

/// What to warn of before several workers run the function: where it assigns what it has read and doesn't say how, one
/// worker's assignment undoes another's. "p.json: functions.f.outputs[3]: 'count' is read and assigned …".
/// `is_certain`: it is known that there are several workers. nullopt: nothing is lost.
std::optional<std::string> lost_updates_of(const Program& program, const FunctionDef& function, bool is_certain);

using CompileModule = std::function<Result<std::shared_ptr<function::Function>>(const hlo::Module&)>;
/// The program's rules, ready to update variables: an optimizer of one's own is compiled for that. Without it (on a
/// worker) it clips, and tells the learning rate, but apply() is kFailedPrecondition. Errors of compiling.
Result<std::shared_ptr<const variable::Optimizer>> compile_rules(const Program& program, const CompileModule& compile);

/// For variable::place_variables().
std::vector<variable::VariableToPlace> variables_to_place(const Program& program);
/// variable::make_initial_value() of it; errors begin with "variables.NAME".
Result<tensor::Tensor> make_initial_value(const VariableDef& variable, tensor::SafetensorsFiles& files,
                                          std::optional<variable::RowRange> rows = std::nullopt);

/// How a file that the program names is read: from disk on the coordinator, from the message on a task.
using FileReader = std::function<Result<std::string>(const std::string& path_in_document)>;

struct ProgramOptions {
  std::vector<std::string> overrides;  // "train.steps=10", "optimizer.adam.learning_rate=0.01": PATH=JSON or PATH=text
  /// Look at data files (npy headers, whether csv files exist): on the coordinator only where they are there.
  bool look_at_files = true;
  /// Data files whose dtypes and shapes are stated need not be here (Program::missing_data): the workers have their
  /// own.
  bool data_elsewhere = false;
  std::string data_root = {};     // relative paths of data start here; empty: at the program's directory
  int logical_devices = 1;        // of each replica: what shardings may need
  bool spmd = false;              // modules are partitioned over these: what splitting needs, and assigning excludes
  bool ignore_shardings = false;  // the program is read as if it stated none: whole values on any devices
  int replicas = 0;               // of a worker, which share a batch where train splits it; 0: not known
  /// kTensorflow: what train runs gets its data as TensorFlow distributes them to the replicas, which have to be known.
  Compat compat = Compat::kNone;
  /// Where relative paths in overrides start (absolute); empty: where those of the document do. load_program() takes
  /// the working directory.
  std::string working_directory = {};
  /// Relative paths of data start at a --data-root, those of overrides too.
  bool has_data_root = false;
  /// Where it isn't null: gets every error in the program, one for each of its parts that has one, the returned one
  /// first. Errors that may come of another one aren't among them.
  std::vector<Error>* errors = nullptr;
};

/// Reads and checks; relative paths in the file start beside it, those in overrides in the working directory.
/// kNotFound; kInvalidArgument with "FILE: JSON.PATH: what"; kUnimplemented where a sharding needs more logical devices
/// than a replica has; kUsage for an override that has no place in the document.
Result<Program> load_program(const std::string& path, const ProgramOptions& options);
/// The same from a document: `directory` is where relative data paths start, modules come from `read_file`.
Result<Program> parse_program(std::string_view document, const std::string& path, const std::string& directory,
                              const FileReader& read_file, const ProgramOptions& options);

/// Adds a dataset of this pipeline in JSON, or replaces the one of that name, and checks it as those of the document
/// are. Relative paths in it start in `working_directory`; empty: where those of the program's data do.
/// kInvalidArgument, kNotFound: "FILE: datasets.NAME[1].batch: what".
Result<void> set_dataset(Program& program, const std::string& name, const std::string& pipeline,
                         const std::string& working_directory);

/// The elements of the dataset of that name that are the part's, opened relative to `directory`; maps call
/// `find_function`.
Result<std::shared_ptr<const data::Dataset>> make_dataset(const Program& program, const std::string& name,
                                                          const data::DatasetContext& context,
                                                          const data::Shard& part = {});
/// Of another plan over the sources and functions of the dataset of that name.
Result<std::shared_ptr<const data::Dataset>> make_dataset(const Program& program, const std::string& name,
                                                          const data::Plan& plan, const data::DatasetContext& context);

/// How a function of the program serves a dataset's map: {"arg": 0, "field": "image"} is the element's field of that
/// name,
/// {"arg": i} its i-th field; result i makes the i-th of the new fields.
struct MapPlan {
  data::ElementSpec spec;            // of the elements it makes
  std::vector<std::size_t> inputs;   // per module argument: which field of the element
  std::vector<std::size_t> outputs;  // per field it makes: which module result
};
/// kInvalidArgument: a function that does anything else than fields in, results out; fields that don't fit.
Result<MapPlan> plan_map(const FunctionDef& function, const data::ElementSpec& input,
                         const std::vector<std::string>& fields);

/// Which of the function's modules takes arguments of these shapes (Modules::called()); kInvalidArgument names the
/// batch size that is missing: "eval_step: no module accepts batch size 40 (available: 64 and 1): argument 2 (x) is
/// f32[40, 8]".
Result<std::size_t> choose_module(const FunctionDef& function, const std::vector<tensor::TensorSpec>& arguments);

}  // namespace tfd::program
