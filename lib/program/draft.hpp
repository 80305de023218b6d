#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The parts of a program between reading and checking, one function per part. Order: variables; functions (their
// modules and the form of their bindings); datasets, whose maps call functions; then functions against all of these;
// then train. Thread rule: pure functions.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "node.hpp"
#include "problems.hpp"
#include "tfd/program/program.hpp"
#include "tfd/tensor/safetensors.hpp"

namespace tfd::program {

// variables.cpp
/// Where initial values may come from.
struct VariableSources {
  std::string directory;
  tensor::SafetensorsFiles* files = nullptr;  // null: files aren't looked at
  const Node* weights = nullptr;              // the program's, which initialise all of them
};
/// Those that are right.
std::vector<VariableDef> parse_variables(const Node& node, const VariableSources& sources, Problems& problems);
/// 1 where it is whole.
Result<std::int64_t> shards_of(const VariableDef& variable);

// bindings.cpp: the form of one binding, or of all that a group stands for; names, dtypes and shapes are checked later.
Result<std::vector<InputBinding>> parse_input(const Node& node, const std::vector<VariableDef>& variables);
Result<std::vector<OutputBinding>> parse_output(const Node& node, const std::vector<VariableDef>& variables);

// groups.cpp: {"variables": "enc/*"}, {"gradients": "enc/*"}, {"assign": "enc/*"}.
/// Whether it names a group, where one name may stand too: a variable's has no '*'.
bool is_pattern(const Node& node);
/// Names that match, in creation order; of gradients those that are trainable. An error where none does.
Result<std::vector<std::string>> find_group(const Node& pattern, const std::vector<VariableDef>& variables,
                                            bool gradients);
/// The same where the pattern is a key: `node` is what it leads to.
Result<std::vector<std::string>> find_group(const std::string& pattern, const Node& node,
                                            const std::vector<VariableDef>& variables, bool gradients);
/// Writes into the document what groups stand for: who adds variables of its own doesn't change it.
void state_groups(nlohmann::ordered_json& document, const std::vector<VariableDef>& variables);

/// A function, and where in the document its bindings are.
struct FunctionDraft {
  FunctionDef def;
  Node node;
  std::vector<Node> inputs;   // one per module argument; of a group the same one
  std::vector<Node> outputs;  // one per module result
  bool splits = false;        // replicas share every element of its data: its batch isn't what the modules take
  int replicas = 0;           // that share it; 0: not known
};

// functions.cpp
/// With `platforms` as those that a module of several is for.
Result<hlo::Module> read_module(const Node& node, const std::vector<std::string>& platforms,
                                const FileReader& read_file, std::map<std::string, std::string>& files);
/// "platforms" of a function, or of an optimizer that is a module; empty where it isn't there.
Result<std::vector<std::string>> parse_platforms(const Node& owner);
/// An object of the keys that a function of its kind has.
Result<void> check_function_keys(const Node& node);
/// Reads the modules (their text goes into `files`, by the path in the document) and the bindings.
Result<FunctionDraft> parse_function(const std::string& name, const Node& node,
                                     const std::vector<VariableDef>& variables, const FileReader& read_file,
                                     std::map<std::string, std::string>& files);

// native.cpp
/// A plug-in or a command: kind, and the signature as its one module.
Result<void> parse_native(const Node& node, const FileReader& read_file, std::map<std::string, std::string>& files,
                          FunctionDef& def);
/// What a plug-in itself says: asked for as if it were a file, so that on a task it comes with the others. nullopt for
/// a key that is a file's. Loads the plug-in.
std::optional<Result<std::string>> find_plugin_signature(const std::string& directory, const std::string& key);

// update_module.cpp
/// {"module": "update.mlir", …}: fills in program.update and program.rules.
Result<void> parse_update_module(const Node& node, const FileReader& read_file, Program& program);
/// Every variable that has a gradient, or every shard of it, has its module.
Result<void> check_update_module(const Node& node, const Program& program);

// check_optimizer.cpp
/// Against the variables and functions: both are in `program` by then.
Result<void> check_optimizer(const Node& node, const Program& program);

// datasets.cpp
/// What is known of a dataset without reading its data.
struct DatasetFacts {
  std::optional<std::int64_t> cardinality;  // data::Dataset::kInfinite for one that never ends
  // Of elements whose first dimension varies: the sizes that a batch can have.
  std::optional<std::int64_t> full_batch;
  std::optional<std::int64_t> remainder;
};
using Facts = std::map<std::string, DatasetFacts>;
/// Datasets whose elements replicas take in turns, as TensorFlow distributes them.
struct TrainData {
  std::set<std::string> datasets;
  int replicas = 1;
  bool shares_rows = false;
};
/// Makes every dataset once, for its spec; maps call `functions`. Fills in program.datasets and what is known of them.
Facts parse_datasets(const Node& node, const ProgramOptions& options, const std::vector<FunctionDraft>& functions,
                     const std::optional<TrainData>& distributed, Program& program, Problems& problems);

// check.cpp
/// Names, dtypes and shapes against the program's variables, optimizer and datasets (all of them in `program`). Fills
/// in the field of a dataset that has only one.
Result<void> check_function(FunctionDraft& draft, const Program& program, const Facts& facts);
/// "f32[?, 64]".
std::string format_field(const data::FieldSpec& field);
/// dtype, rank and all but the first dimension, which the batch size decides.
bool fits_but_for_batch(const data::FieldSpec& field, const tensor::TensorSpec& spec);

// batch_sizes.cpp
/// Every size that the function's datasets can give has its module.
Result<void> check_batch_sizes(const FunctionDraft& draft, const Program& program, const Facts& facts);

// shardings.cpp
/// {"split": [2, 1]}, {"assign": 0}, "replicate".
Result<OpSharding> parse_sharding(const Node& node);
/// Against the shapes of the modules, against each other, and against how many logical devices a replica has.
Result<void> check_shardings(FunctionDraft& draft, int logical_devices, bool spmd);

// train.cpp
/// Fills in program.train, but for what is wrong.
void parse_train(const Node& node, const Facts& facts, Program& program, Problems& problems);

std::vector<std::string> names_of(const std::vector<VariableDef>& variables);
std::vector<std::string> names_of(const std::vector<FunctionDef>& functions);
std::vector<std::string> names_of(const data::ElementSpec& fields);

}  // namespace tfd::program
