// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "tfd/program/program.hpp"
#include "tfd/step/call.hpp"

namespace tfd::step {
namespace {

// Metrics that are functions of sums, as Keras computes them.

using program::Formula;
using program::Part;

/// The sums of a metric by their parts: zeros where there are none.
class Sums {
 public:
  explicit Sums(const std::map<Part, std::vector<double>>& of) : of_(of) {}
  double at(Part part, std::size_t i) const {
    const auto found = of_.find(part);
    return found != of_.end() && i < found->second.size() ? found->second[i] : 0;
  }
  /// Number of thresholds.
  std::size_t size() const {
    std::size_t most = 0;
    for (const auto& [part, sums] : of_) most = std::max(most, sums.size());
    return most;
  }

 private:
  const std::map<Part, std::vector<double>>& of_;
};

double quotient(double a, double b) { return b != 0 ? a / b : 0; }

/// a / (a + b), of the sums for a threshold.
double share(const Sums& sums, Part a, Part b, std::size_t i) {
  return quotient(sums.at(a, i), sums.at(a, i) + sums.at(b, i));
}

/// The area under the true positive rate over the false positive rate, by trapezoids between thresholds.
double roc_auc(const Sums& sums) {
  double area = 0;
  for (std::size_t i = 0; i + 1 < sums.size(); ++i) {
    const auto x = [&](std::size_t at) { return share(sums, Part::kFalsePositives, Part::kTrueNegatives, at); };
    const auto y = [&](std::size_t at) { return share(sums, Part::kTruePositives, Part::kFalseNegatives, at); };
    area += (x(i) - x(i + 1)) * (y(i) + y(i + 1)) / 2;
  }
  return area;
}

/// The area under precision over recall. Between two thresholds the true positives are linear in all positives, so that
/// the precision isn't: source: Davis and Goadrich 2006, section 4.
double pr_auc(const Sums& sums) {
  double area = 0;
  for (std::size_t i = 0; i + 1 < sums.size(); ++i) {
    const auto all = [&](std::size_t at) {
      return sums.at(Part::kTruePositives, at) + sums.at(Part::kFalsePositives, at);
    };
    const double more = sums.at(Part::kTruePositives, i) - sums.at(Part::kTruePositives, i + 1);
    const double slope = quotient(more, std::max(all(i) - all(i + 1), 0.0));
    const double intercept = sums.at(Part::kTruePositives, i + 1) - slope * all(i + 1);
    const double ratio = all(i) > 0 && all(i + 1) > 0 ? all(i) / all(i + 1) : 1;
    const double positives = sums.at(Part::kTruePositives, i + 1) + sums.at(Part::kFalseNegatives, i + 1);
    area += quotient(slope * (more + intercept * std::log(ratio)), std::max(positives, 0.0));
  }
  return area;
}

/// The reported value: the formula of the parts' sums, each a number, or numbers from the lowest threshold to
/// the highest. A quotient by zero is zero, except for the root of a mean of nothing, which is NaN. source:
/// Keras 3.15, metrics.RootMeanSquaredError, Precision, Recall and AUC.
double value_of(Formula formula, const std::map<Part, std::vector<double>>& of) {
  const Sums sums(of);
  switch (formula) {
    case Formula::kPlain:
      return sums.at(Part::kNumerator, 0) / sums.at(Part::kDenominator, 0);
    case Formula::kRoot:
      return std::sqrt(sums.at(Part::kNumerator, 0) / sums.at(Part::kDenominator, 0));
    case Formula::kPrecision:
      return share(sums, Part::kTruePositives, Part::kFalsePositives, 0);
    case Formula::kRecall:
      return share(sums, Part::kTruePositives, Part::kFalseNegatives, 0);
    case Formula::kRocAuc:
      return roc_auc(sums);
    case Formula::kPrAuc:
      return pr_auc(sums);
  }
  return 0;
}

void add_counts(std::vector<double>& sum, const std::vector<double>& more) {
  sum.resize(std::max(sum.size(), more.size()));
  std::ranges::transform(more, sum, sum.begin(), std::plus<>());
}

}  // namespace

void MetricAccumulator::add(const std::vector<Metric>& metrics) {
  for (const Metric& metric : metrics) {
    auto sum = std::ranges::find(sums_, metric.name, &Sum::name);
    if (sum == sums_.end()) {
      sums_.push_back({.name = metric.name,
                       .reduce = metric.reduce,
                       .ratio = metric.part != program::Part::kWhole,
                       .formula = metric.formula});
      sum = std::prev(sums_.end());
    }
    if (metric.formula != program::Formula::kPlain) {
      add_counts(sum->counts[metric.part], metric.counts);
      continue;
    }
    switch (metric.part) {
      case program::Part::kNumerator:
        sum->numerator += metric.value;
        break;
      case program::Part::kDenominator:
        sum->denominator += metric.value;
        break;
      case program::Part::kTruePositives:
      case program::Part::kFalsePositives:
      case program::Part::kTrueNegatives:
      case program::Part::kFalseNegatives:
        break;  // of formulas alone
      case program::Part::kWhole:
        if (metric.weight == 0) break;  // a mean of no examples is NaN, and is ignored
        sum->numerator += metric.reduce == program::Reduce::kMean ? metric.value * metric.weight : metric.value;
        sum->denominator += metric.weight;
        break;
    }
  }
}

std::vector<std::pair<std::string, double>> MetricAccumulator::values() const {
  std::vector<std::pair<std::string, double>> out;
  for (const Sum& sum : sums_) {
    if (sum.formula != program::Formula::kPlain) {
      out.emplace_back(sum.name, value_of(sum.formula, sum.counts));
      continue;
    }
    const bool divided = sum.ratio || sum.reduce == program::Reduce::kMean;
    out.emplace_back(sum.name, divided ? sum.numerator / sum.denominator : sum.numerator);
  }
  return out;
}

std::vector<Metric> MetricAccumulator::parts() const {
  std::vector<Metric> out;
  for (const Sum& sum : sums_) {
    if (sum.formula != program::Formula::kPlain) {
      for (const auto& [part, counts] : sum.counts)
        out.push_back({.name = sum.name, .reduce = sum.reduce, .part = part, .formula = sum.formula, .counts = counts});
    } else if (sum.ratio) {
      out.push_back({sum.name, sum.reduce, program::Part::kNumerator, sum.numerator});
      out.push_back({sum.name, sum.reduce, program::Part::kDenominator, sum.denominator});
    } else if (sum.reduce == program::Reduce::kSum) {
      out.push_back({sum.name, sum.reduce, program::Part::kWhole, sum.numerator, sum.denominator});
    } else {
      out.push_back({sum.name, sum.reduce, program::Part::kWhole, sum.numerator / sum.denominator, sum.denominator});
    }
  }
  return out;
}

}  // namespace tfd::step
