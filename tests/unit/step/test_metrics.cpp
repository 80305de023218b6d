// SPDX-License-Identifier: Apache-2.0
//
// Metrics that are computed of sums. The expected numbers are Keras 3.15's, of metrics with these counts.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "tfd/step/call.hpp"

using namespace tfd::step;
using tfd::program::Formula;
using tfd::program::Part;
using Counts = std::map<Part, std::vector<double>>;

namespace {

const Counts kCurve{{Part::kTruePositives, {10, 9, 7, 4, 1, 0}},
                    {Part::kFalsePositives, {12, 8, 3, 1, 0, 0}},
                    {Part::kTrueNegatives, {0, 4, 9, 11, 12, 12}},
                    {Part::kFalseNegatives, {0, 1, 3, 6, 9, 10}}};

/// A share of the counts, as one batch of several has it.
std::vector<Metric> metrics_of(Formula formula, const Counts& counts, double share = 1) {
  std::vector<Metric> out;
  for (const auto& [part, numbers] : counts) {
    Metric& one = out.emplace_back(
        Metric{.name = "m", .reduce = tfd::program::Reduce::kSum, .part = part, .formula = formula, .counts = numbers});
    for (double& number : one.counts) number *= share;
  }
  return out;
}

double value_of(Formula formula, const Counts& counts) {
  MetricAccumulator whole, parts, elsewhere;
  whole.add(metrics_of(formula, counts));
  parts.add(metrics_of(formula, counts, 0.25));
  parts.add(metrics_of(formula, counts, 0.75));
  elsewhere.add(parts.parts());
  REQUIRE(elsewhere.values().size() == 1);
  const double value = whole.values()[0].second;
  if (std::isfinite(value)) CHECK(elsewhere.values()[0].second == doctest::Approx(value).epsilon(1e-12));
  return value;
}

}  // namespace

TEST_CASE("metrics: the root of a mean, precision and recall of sums") {
  CHECK(value_of(Formula::kRoot, {{Part::kNumerator, {18}}, {Part::kDenominator, {2}}}) == 3);
  CHECK(std::isnan(value_of(Formula::kRoot, {{Part::kNumerator, {0}}, {Part::kDenominator, {0}}})));
  CHECK(value_of(Formula::kPrecision, {{Part::kTruePositives, {3}}, {Part::kFalsePositives, {1}}}) == 0.75);
  CHECK(value_of(Formula::kPrecision, {{Part::kTruePositives, {0}}, {Part::kFalsePositives, {0}}}) == 0);
  CHECK(value_of(Formula::kRecall, {{Part::kTruePositives, {3}}, {Part::kFalseNegatives, {9}}}) == 0.25);
}

TEST_CASE("metrics: the areas under both curves are Keras', whole and added up of parts") {
  CHECK(value_of(Formula::kRocAuc, kCurve) == doctest::Approx(0.7625).epsilon(1e-9));
  CHECK(value_of(Formula::kPrAuc, kCurve) == doctest::Approx(0.7455946207).epsilon(1e-6));
  Counts nothing = kCurve;
  for (auto& [part, numbers] : nothing) numbers.assign(numbers.size(), 0);
  CHECK(value_of(Formula::kRocAuc, nothing) == 0);
  CHECK(value_of(Formula::kPrAuc, nothing) == 0);
}
