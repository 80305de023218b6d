#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The replicas of this process: a program's functions compiled here, run once per replica on elements of their own, and
// what the replicas want of the variables reduced to one list of updates. Where the variables are is the caller's.
// Thread rule: one thread calls; replicas run on threads of their own, and elements are made on others.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tfd/base/environment.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/log.hpp"
#include "tfd/data/plan.hpp"
#include "tfd/function/command.hpp"
#include "tfd/function/function.hpp"
#include "tfd/step/call.hpp"
#include "tfd/step/compile_ahead.hpp"
#include "tfd/step/data_position.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/step/replica_threads.hpp"
#include "tfd/step/row_lookup.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::step {

/// Which part of the data is read here. Source: tf.distribute.InputContext.
struct InputPart {
  std::int64_t pipelines = 1;
  std::int64_t id = 0;
};

struct ReplicaOptions {
  int replicas = 1;
  InputPart input;
  bool has_all_data = false;  // not only its part of them: go_to() says where it goes on
  /// Of all data but those of evaluations. Parts of several processes are parts of one whole only where it has seeds,
  /// the same for all.
  data::Order order = {};
  std::string data_root = {};  // relative data paths start here; empty: at the program's directory
  std::function<Result<std::shared_ptr<function::Engine>>()> make_engine = {};
  Environment command_environment = {};
  /// Shared with who stops the commands that print data: a step or an evaluation that waits for them is kCancelled
  /// then, and what such a step has taken doesn't count.
  std::shared_ptr<const function::CommandStop> stop_data = {};
  LookUpRows look_up = {};     // of tables that aren't among the variables of a call
  RunAtOnce run_at_once = {};  // what the replicas run on; empty: threads of its own
  bool results_stay = false;   // on the devices, until somebody reads them (resident.hpp)
  Log log = {};                // of elements that datasets leave out
};

struct StepOutcome {
  std::vector<variable::Update> updates;  // one per variable and output, reduced over the replicas, clipped
  std::vector<Metric> metrics;            // of all replicas
};

/// What replicas get of the data: an element each, of those that have any.
struct ReplicaElements {
  data::ElementSpec spec;
  std::vector<data::Element> of;
};
/// What a function is called with, beside variables. Of all elements there are as many.
struct ReplicaArguments {
  std::vector<ArgumentValue> args = {};  // a tensor is the same for all, an iterator one of `elements`
  std::vector<std::pair<std::string, ArgumentValue>> kwargs = {};
  std::map<std::string, ReplicaElements> elements = {};  // by the iterator's id
  std::map<std::string, ReplicaElements> datasets = {};  // those that the function reads itself, by name
};
struct RunOutcome {
  std::vector<std::vector<tensor::Tensor>> results;  // of each replica that had data, by result index
  std::vector<variable::Update> updates;             // as of a step
};

/// One gradient of those of the replicas, in their order: the sum, or the mean weighted by the examples of each. f16
/// and bf16 are rounded once. kInvalidArgument: they differ in their specs; integers.
Result<tensor::Tensor> reduce_gradients(program::Reduce reduce, const std::vector<tensor::Tensor>& values,
                                        const std::vector<double>& examples);

/// What the replicas of a step take beside variables, for who runs the function itself.
struct StepInputs {
  struct Replica {
    std::vector<tensor::Tensor> values;  // by input of the function; a variable or a loss scale has none
    std::size_t module = 0;              // the one of the function that takes them
    double examples = 1;                 // what a mean is weighted by
  };
  std::vector<Replica> replicas;  // those that have data
};

class ReplicaRunner {
 public:
  virtual ~ReplicaRunner() = default;
  /// Functions are compiled when they are first called. Errors of ReplicaCopies::make(). kInvalidArgument where an
  /// assignment of several replicas has no aggregation.
  static Result<std::unique_ptr<ReplicaRunner>> make(const program::Program& program, const ReplicaOptions& options);

  /// The function once per replica, each on the next element of every dataset it uses: a step takes as many elements as
  /// there are replicas, or `most_elements` where that isn't 0, or what is left, on as many replicas; where
  /// train.replicas says "split", each is on its share of the rows of one. kOutOfRange at the end of the data.
  /// Gradients: the mean weighted by the examples of each replica, or the sum, as the program's binding says; assigned
  /// values: by the variable's aggregation.
  virtual Result<StepOutcome> step(const std::string& function, const VariableValues& variables, std::int64_t step,
                                   int most_elements = 0) = 0;
  /// The same up to the call of the function, which somebody else runs. Lookups are variables too:
  /// functions with those can't be run so.
  virtual Result<StepInputs> take_inputs(const std::string& function, std::int64_t step, int most_elements = 0) = 0;
  /// Functions that aren't compiled yet, but for one that somebody else runs; as long as this lives.
  virtual std::vector<CompileOne> left_to_compile(std::string_view besides = {}) const = 0;
  /// What the scalars of a replica, one for each metric of the function, say of its examples. kInvalidArgument: one
  /// isn't a scalar.
  virtual Result<std::vector<Metric>> metrics_of(const std::string& function, std::span<const tensor::Tensor> values,
                                                 double examples) const = 0;
  /// The data of steps begin again, in this order.
  virtual void begin_data(const data::Order& order) = 0;
  /// The next step of the function takes the elements that step `step` takes where one process makes all of them.
  virtual Result<void> go_to(const std::string& function, std::int64_t step) = 0;
  /// Where they stand, behind those that steps have taken.
  virtual DataPosition data_position() const = 0;
  /// They go on from there. false where one of the datasets is another one now: then nothing has changed.
  virtual bool continue_data(const DataPosition& position) = 0;
  /// This process's part of a dataset of the program, as many elements of which are made ahead as there are replicas.
  virtual Result<std::shared_ptr<const data::Dataset>> find_dataset(const std::string& name) = 0;
  /// Of another plan over the same sources and functions.
  virtual Result<std::shared_ptr<const data::Dataset>> make_dataset(const std::string& name,
                                                                    const data::Plan& plan) = 0;
  /// The function once per replica, each on its elements; where there are none at all, on every replica. `in_rows`: the
  /// function gives rows for rows, so that an element that is too large for a module is taken in pieces, and one that
  /// is too small is padded with its last row; results are those of the pieces, in the order of their rows, without
  /// padding. It updates nothing then. kInvalidArgument: more elements than replicas, or not as many of each.
  virtual Result<RunOutcome> run(const std::string& function, const ReplicaArguments& arguments,
                                 const VariableValues& variables, bool in_rows = false) = 0;
  /// One full pass of the function's dataset, or `steps` batches: nothing is sharded, and each device takes a batch at
  /// a time. kCancelled where `stop` says so between batches.
  virtual Result<std::vector<Metric>> evaluate(const std::string& function, const VariableValues& variables,
                                               std::optional<std::int64_t> steps,
                                               const std::function<bool()>& stop) = 0;
};

}  // namespace tfd::step
