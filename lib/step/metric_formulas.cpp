// SPDX-License-Identifier: Apache-2.0
#include "metric_formulas.hpp"

#include <algorithm>
#include <cmath>

namespace tfd::step {
namespace {

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

}  // namespace

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

}  // namespace tfd::step
