// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>

#include "metric_formulas.hpp"
#include "tfd/step/call.hpp"

namespace tfd::step {
namespace {

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
