#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs one function of a program once: binds its inputs (closure_runner.cpp), calls the module, binds its outputs
// (closure_outputs.cpp). Private to the room. Thread rule: free functions on their arguments.
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tfd/data/dataset.hpp"
#include "tfd/step/call.hpp"
#include "tfd/step/compiled_program.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/step/row_lookup.hpp"

namespace tfd::step {

/// An iterator of this worker and what its elements look like.
struct WorkerIterator {
  std::string dataset;
  data::ElementSpec spec;
  std::unique_ptr<data::Iterator> iterator;
  std::int64_t elements = 0;  // that were taken
};

/// What a function's results become.
struct BoundOutputs {
  CallOutcome outcome;
  std::vector<variable::Update> updates;
};

/// The elements that one call takes: one per iterator, however many inputs use its fields.
class ElementTable {
 public:
  void put(const std::string& iterator, const data::ElementSpec& spec, data::Element element);
  bool has(const std::string& iterator) const { return elements_.contains(iterator); }
  /// kInvalidArgument: no such field, or none named where there are several.
  Result<tensor::Tensor> field(const std::string& iterator, const std::optional<std::string>& name) const;
  /// Rows of the first field of the first element, without those that only fill up a batch: what a mean is weighted by.
  /// 1 where there is none.
  double examples() const { return examples_; }
  /// Of every field, which are examples then. kInvalidArgument: a scalar, or fields of different ones.
  Result<std::int64_t> row_count() const;
  /// Batches of nothing, as a step is filled up with.
  bool has_no_rows() const { return examples_ == 0 && row_count() == 0; }
  /// So many rows of each field; behind them the last one again, until there are `padded`. A mask says which are data.
  ElementTable rows(std::int64_t first, std::int64_t count, std::int64_t padded) const;
  /// The rows of an iterator's element, whose mask is the field of that name.
  struct Masked {
    std::string mask;
    std::int64_t rows = 0;
  };
  /// nullopt: it has none.
  std::optional<Masked> masked(const std::string& iterator) const;
  /// That element with so many rows; those behind its own are no data.
  void pad(const std::string& iterator, std::int64_t padded);

 private:
  std::map<std::string, std::pair<data::ElementSpec, data::Element>> elements_;
  double examples_ = 1;
};

/// Values that are bound by name in any call.
struct CallContext {
  const FunctionCall* call = nullptr;
  const ElementTable* elements = nullptr;
  const VariableValues* variables = nullptr;
  double learning_rate = 0;
  int replica_id = 0;
  int num_replicas = 1;
  int device = 0;                                     // of this process
  const std::vector<tensor::Tensor>* rows = nullptr;  // of lookups_of(), in its order; null: from `variables`
  std::int64_t batch = 0;                             // of an evaluation: which of the pass
  std::uint32_t first_replica = 0;        // of this process among those that draw random numbers of the same step
  const ReplicaCopies* copies = nullptr;  // of replicas, each of which has its own; null: outside of them
  bool results_stay = false;              // on the device
};

/// The iterators that a call of `function` takes an element from: ids, each once. The program's own datasets are
/// "dataset:NAME"; others come as arguments.
Result<std::vector<std::string>> iterators_of(const program::FunctionDef& function, const FunctionCall& call);
/// The one of this id among `iterators`, which `find` makes, goes on at that element: where it has been beyond it, from
/// the beginning.
template <class Iterators, class Find>
Result<void> go_to(Iterators& iterators, const Find& find, const std::string& id, std::int64_t element) {
  if (const auto there = iterators.find(id); there != iterators.end() && there->second.elements > element)
    iterators.erase(there);
  WorkerIterator& iterator = *TFD_TRY(find(id));
  TFD_TRY(iterator.iterator->skip(element - iterator.elements), "dataset '" + iterator.dataset + "'");
  iterator.elements = element;
  return {};
}
std::string own_iterator_id(const std::string& dataset);

/// Fills elements with a mask, which the function takes, up to the fewest rows that one of its modules takes, where
/// none takes as many as they have. Where none takes more either they stay as they are, and bind_inputs() says so.
void fill_up(const program::FunctionDef& function, const FunctionCall& call, ElementTable& elements);

/// What the function looks up in this call, in the order of its inputs.
Result<std::vector<RowLookup>> lookups_of(const program::FunctionDef& function, const CallContext& context);

/// Of what the outputs assign as a difference: it adds what has changed since `read`, which has the copies by their
/// names.
Result<void> take_differences(const program::FunctionDef& function, const VariableValues& read,
                              std::vector<variable::Update>& updates);

/// What the inputs of a call are, in their order, and which of the function's modules takes them.
struct BoundInputs {
  std::vector<tensor::Tensor> values;
  std::vector<tensor::TensorSpec> specs;
  std::size_t module = 0;
};
/// Without `with_variables` variables have no value, only the spec that the program states.
Result<BoundInputs> bind_inputs(const CompiledFunction& function, const CallContext& context, bool with_variables);

/// Binds, calls, binds.
Result<BoundOutputs> run_function(const CompiledFunction& function, const CallContext& context);

// Its parts, for each other.
/// What an input gets from variables, elements and the call; a number in this dtype.
Result<tensor::Tensor> bind_source(const program::InputBinding& input, const CallContext& context, tensor::DType dtype);
/// Rank 1, s64.
tensor::Tensor flat_indices(const tensor::Tensor& indices);
/// What scalars, one for each metric among the outputs, say of so many examples. kInvalidArgument: one isn't a scalar.
Result<std::vector<Metric>> bind_metrics(const program::FunctionDef& def, std::span<const tensor::Tensor> values,
                                         double examples);
/// kInvalidArgument: a metric that is no scalar.
Result<BoundOutputs> bind_outputs(const program::FunctionDef& def, std::vector<tensor::Tensor> results,
                                  const CallContext& context);

}  // namespace tfd::step
