#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A call of a function of the program and its outcome, as values: the same for a step in this process and for one
// that a worker is asked for. Thread rule: plain values.
#include <cstdint>
#include <map>
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
  std::int64_t step = 0;  // value of an input bound to "step"
  /// Replicas of the worker that run it. With several, results are stacked ([replicas, …]), metrics combined, and each
  /// variable gets one update.
  program::Replicas replicas = program::Replicas::kOne;
  /// Number of replicas that take an element in this call, if each takes its own. 0: all.
  int most_elements = 0;
  /// Closure whose random numbers an input bound to "rng" gets; absent: the step's.
  std::optional<std::uint64_t> closure = {};
};

struct Metric {
  std::string name;
  program::Reduce reduce = program::Reduce::kMean;
  program::Part part = program::Part::kWhole;
  double value = 0;
  double weight = 1;  // number of examples of a mean
  program::Formula formula = program::Formula::kPlain;
  std::vector<double> counts = {};  // in place of the value, if there is a formula: one number, or one per threshold
};

// How messages carry these: base/bytes.hpp.
template <class Io>
void fields(Io& io, IteratorRef& iterator) {
  io(iterator.id);
}
template <class Io>
void fields(Io& io, VariableRef& variable) {
  io(variable.name);
}
template <class Io>
void fields(Io& io, Metric& metric) {
  io(metric.name, metric.reduce, metric.part, metric.value, metric.weight, metric.formula, metric.counts);
}

/// Outcome of a function call.
struct CallOutcome {
  std::vector<tensor::Tensor> results;  // by result index, then the function's `returns`
  std::vector<Metric> metrics;
};

/// Accumulates metrics of many calls: means weighted by examples, sums added, ratios as numerator / denominator, and
/// the parts of formulas added up, too.
class MetricAccumulator {
 public:
  void add(const std::vector<Metric>& metrics);
  std::vector<std::pair<std::string, double>> values() const;  // in order of first appearance
  /// The accumulated metrics in compact form: adding them elsewhere has the same effect.
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
    program::Formula formula = program::Formula::kPlain;
    std::map<program::Part, std::vector<double>> counts = {};  // of a formula
  };
  std::vector<Sum> sums_;
};

}  // namespace tfd::step
