#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs one function of a program once: binds its inputs (function_call.cpp), calls the module, binds its outputs
// (function_outputs.cpp). Private to the room. Thread rule: free functions on their arguments.
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

/// An iterator of this worker and the spec of its elements.
struct WorkerIterator {
  std::string dataset;
  data::ElementSpec spec;
  std::unique_ptr<data::Iterator> iterator;
  std::int64_t elements = 0;  // that were taken
};

/// A function's results after binding.
struct BoundOutputs {
  CallOutcome outcome;
  std::vector<variable::Update> updates;
};

/// The elements of one call: one per iterator, however many inputs use its fields.
class ElementTable {
 public:
  void put(const std::string& iterator, const data::ElementSpec& spec, data::Element element);
  bool has(const std::string& iterator) const { return elements_.contains(iterator); }
  /// Takes a field of an iterator's element. kInvalidArgument: no such field, or none named if there are several.
  Result<tensor::Tensor> field(const std::string& iterator, const std::optional<std::string>& name) const;
  /// Number of rows of the first field of the first element, without padding: the weight of means. 1 if there is no
  /// element.
  double examples() const { return examples_; }
  /// Number of rows of every field, one per example. kInvalidArgument: a scalar, or fields with different numbers of
  /// rows.
  Result<std::int64_t> row_count() const;
  /// True if the batches are empty, as those that complete a step.
  bool has_no_rows() const { return examples_ == 0 && row_count() == 0; }
  /// Takes `count` rows of each field, padded to `padded` with copies of the last one. A mask marks the data.
  ElementTable rows(std::int64_t first, std::int64_t count, std::int64_t padded) const;
  /// Rows of an iterator's element whose mask is the field of that name.
  struct Masked {
    std::string mask;
    std::int64_t rows = 0;
  };
  /// Rows and mask of an iterator's element; nullopt if it has no mask.
  std::optional<Masked> masked(const std::string& iterator) const;
  /// Pads that element to `padded` rows; padding isn't data.
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
  int replica_id = 0;  // outside of replicas: of this process's first one
  int num_replicas = 1;
  int device = 0;                                     // of this process
  const std::vector<tensor::Tensor>* rows = nullptr;  // rows of lookups_of(), in its order; null: in `variables`
  std::int64_t batch = 0;                             // in an evaluation: index of the batch within the pass
  std::uint32_t first_draw = 0;           // this process's first replica among those sharing a step's random stream
  const ReplicaCopies* copies = nullptr;  // in a replica: each has its own copies; null outside of replicas
  bool results_stay = false;              // on the device
};

/// Ids of the iterators that a call of `function` takes an element from, each once. The program's own datasets are
/// "dataset:NAME"; others are arguments.
Result<std::vector<std::string>> iterators_of(const program::FunctionDef& function, const FunctionCall& call);
/// Moves the iterator of this id, which `find` makes, to that element; if it is past it, it is restarted.
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

/// Pads elements with a mask, if the function takes the mask, to the smallest batch size of its modules that holds
/// them. If none does they stay unchanged, and bind_inputs() reports it.
void fill_up(const program::FunctionDef& function, const FunctionCall& call, ElementTable& elements);

/// Row lookups of this call, in the order of the function's inputs.
Result<std::vector<RowLookup>> lookups_of(const program::FunctionDef& function, const CallContext& context);

/// Turns assignments applied as a difference into additions of the change since `read`, which has copies under their
/// names.
Result<void> take_differences(const program::FunctionDef& function, const VariableValues& read,
                              std::vector<variable::Update>& updates);

/// Values of a call's inputs, in their order, and the module of the function that takes them.
struct BoundInputs {
  std::vector<tensor::Tensor> values;
  std::vector<tensor::TensorSpec> specs;
  std::size_t module = 0;
};
/// Binds inputs. Without `with_variables` variables have no value, only their stated spec.
Result<BoundInputs> bind_inputs(const CompiledFunction& function, const CallContext& context, bool with_variables);

/// Binds the inputs, calls the module, binds the outputs.
Result<BoundOutputs> run_function(const CompiledFunction& function, const CallContext& context);

// Shared by the files of this part:
/// Value of an input from variables, elements and the call; numbers get this dtype.
Result<tensor::Tensor> bind_source(const program::InputBinding& input, const CallContext& context, tensor::DType dtype);
/// Flattens row ids to rank 1, s64.
tensor::Tensor flat_indices(const tensor::Tensor& indices);
/// Metrics from scalars, one for each metric among the outputs, weighted by `examples`. kInvalidArgument: one isn't a
/// scalar.
Result<std::vector<Metric>> bind_metrics(const program::FunctionDef& def, std::span<const tensor::Tensor> values,
                                         double examples);
/// Binds the results of one call. kInvalidArgument: a metric that isn't a scalar.
Result<BoundOutputs> bind_outputs(const program::FunctionDef& def, std::vector<tensor::Tensor> results,
                                  const CallContext& context);

}  // namespace tfd::step
