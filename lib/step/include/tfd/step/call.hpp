#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A call of a function of the program and what comes of it, as values: the same for a step in this process and for one
// that a worker is asked for. Thread rule: plain values.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tfd/program/program.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::step {

/// An iterator, made before by create_iterator() on the worker that gets the call.
struct IteratorRef {
  std::string id;
};
/// The worker's own copy of a variable with `per_worker`.
struct VariableRef {
  std::string name;
};
using ArgumentValue = std::variant<tensor::Tensor, IteratorRef, VariableRef>;

/// One execution of a function of the program on one worker.
struct FunctionCall {
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;  // dense; the same for every attempt: updates of an applied sequence are dropped
  std::uint32_t attempt = 0;
  std::string function;
  std::vector<ArgumentValue> args;
  std::vector<std::pair<std::string, ArgumentValue>> kwargs;
  std::int64_t step = 0;  // what an input bound to "step" gets
  /// Of the worker. The outcome of several has every result stacked ([replicas, …]), the metrics of all of them and one
  /// update of each variable.
  program::Replicas replicas = program::Replicas::kOne;
  /// Of replicas that take an element each: those beyond so many have none in this call. 0: all take one.
  int most_elements = 0;
  /// Whose random numbers an input bound to "rng" gets: this closure's; absent: those of the step.
  std::optional<std::uint64_t> closure = {};
};

struct Metric {
  std::string name;
  program::Reduce reduce = program::Reduce::kMean;
  program::Part part = program::Part::kWhole;
  double value = 0;
  double weight = 1;  // examples that a mean stands for
};

/// What a call of a function gives.
struct CallOutcome {
  std::vector<tensor::Tensor> results;  // by result index, then the `returns` of the function
  std::vector<Metric> metrics;
};

/// Metrics of many calls put together: means weighted by examples, sums added, ratios numerator / denominator.
class MetricAccumulator {
 public:
  void add(const std::vector<Metric>& metrics);
  std::vector<std::pair<std::string, double>> values() const;  // in order of first appearance
  /// What was added, as few metrics as possible: add()ed elsewhere they count the same.
  std::vector<Metric> parts() const;
  bool empty() const { return sums_.empty(); }
  void clear() { sums_.clear(); }

 private:
  struct Sum {
    std::string name;
    program::Reduce reduce;
    bool ratio = false;
    double numerator = 0;
    double denominator = 0;
  };
  std::vector<Sum> sums_;
};

}  // namespace tfd::step
