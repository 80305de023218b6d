// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tfd/step/call.hpp"

namespace tfd::step {

void MetricAccumulator::add(const std::vector<Metric>& metrics) {
  for (const Metric& metric : metrics) {
    auto sum = std::ranges::find(sums_, metric.name, &Sum::name);
    if (sum == sums_.end()) {
      sums_.push_back({metric.name, metric.reduce, metric.part != program::Part::kWhole});
      sum = std::prev(sums_.end());
    }
    switch (metric.part) {
      case program::Part::kNumerator:
        sum->numerator += metric.value;
        break;
      case program::Part::kDenominator:
        sum->denominator += metric.value;
        break;
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
    const bool divided = sum.ratio || sum.reduce == program::Reduce::kMean;
    out.emplace_back(sum.name, divided ? sum.numerator / sum.denominator : sum.numerator);
  }
  return out;
}

std::vector<Metric> MetricAccumulator::parts() const {
  std::vector<Metric> out;
  for (const Sum& sum : sums_) {
    if (sum.ratio) {
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
