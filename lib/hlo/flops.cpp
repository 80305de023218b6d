// SPDX-License-Identifier: Apache-2.0
#include "tfd/hlo/flops.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "types.hpp"

namespace tfd::hlo {
namespace {

/// Returns the text between `open` and `close` after `after`; empty if there is none.
std::string_view between(std::string_view line, std::string_view after, char open, char close) {
  const std::size_t from = line.find(after);
  if (from == std::string_view::npos) return {};
  const std::size_t begin = line.find(open, from + after.size());
  if (begin == std::string_view::npos) return {};
  const std::size_t end = line.find(close, begin);
  return end == std::string_view::npos ? std::string_view() : line.substr(begin + 1, end - begin - 1);
}

/// The shapes of the operands and the result, which end the line.
std::vector<tensor::Shape> shapes_of(std::string_view line) {
  std::vector<tensor::Shape> out;
  for (std::size_t at = line.rfind(" : ("); (at = line.find("tensor<", at)) != std::string_view::npos; ++at) {
    auto type = parse_tensor_type(line.substr(at + 7, line.find('>', at) - at - 7));
    if (!type) return {};
    out.push_back(std::move(type->spec.shape));
  }
  return out;
}

double flops_of_product(std::string_view line) {
  const auto shapes = shapes_of(line);
  if (shapes.size() != 3) return 0;
  std::string_view dimensions = between(line, "contracting_dims = ", '[', ']');
  if (dimensions.empty()) dimensions = between(line, "lhs_contracting_dimensions = ", '[', ']');
  double out = 2.0 * static_cast<double>(tensor::element_count(shapes[2]));
  for (std::size_t at = 0; at < dimensions.size();) {
    std::size_t dimension = 0;
    const auto [end, error] = std::from_chars(dimensions.data() + at, dimensions.data() + dimensions.size(), dimension);
    if (error != std::errc() || dimension >= shapes[0].size()) return 0;
    out *= static_cast<double>(shapes[0][dimension]);
    at = std::min(dimensions.find_first_of("0123456789", static_cast<std::size_t>(end - dimensions.data())),
                  dimensions.size());
  }
  return out;
}

/// "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]": each element of a result sums up the kernel of one output feature.
double flops_of_convolution(std::string_view line) {
  const auto shapes = shapes_of(line);
  const std::string_view kernel = between(line, "]x", '[', ']');
  if (shapes.size() != 3 || kernel.empty()) return 0;
  const auto feature = static_cast<std::size_t>(std::ranges::count(kernel.substr(0, kernel.find('o')), ','));
  if (feature >= shapes[1].size() || shapes[1][feature] == 0) return 0;
  const auto per_output = tensor::element_count(shapes[1]) / shapes[1][feature];
  return 2.0 * static_cast<double>(tensor::element_count(shapes[2])) * static_cast<double>(per_output);
}

struct Counted {
  double own = 0;
  std::vector<std::string_view> calls;  // as often as there are any
};

std::string_view symbol_after(std::string_view line, std::string_view word) {
  const std::size_t at = line.find(word);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = line.find('@', at);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin + 1, line.find_first_of("( {", begin) - begin - 1);
}

class Total {
 public:
  explicit Total(const std::map<std::string_view, Counted>& functions) : functions_(functions) {}
  double of(std::string_view name) {
    const auto known = totals_.find(name);
    if (known != totals_.end()) return known->second;
    const auto found = functions_.find(name);
    if (found == functions_.end() || !under_way_.insert(name).second) return 0;
    double out = found->second.own;
    for (const std::string_view called : found->second.calls) out += of(called);
    under_way_.erase(name);
    return totals_[name] = out;
  }

 private:
  const std::map<std::string_view, Counted>& functions_;
  std::map<std::string_view, double> totals_;
  std::set<std::string_view> under_way_;
};

}  // namespace

std::optional<double> estimate_flops(const Module& module) {
  if (!module.is_text) return std::nullopt;
  std::map<std::string_view, Counted> functions;
  std::string_view function;
  for (std::string_view rest = module.code; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (const auto begun = symbol_after(line, "func.func "); !begun.empty()) function = begun;
    Counted& counted = functions[function];
    if (line.find("stablehlo.dot_general") != std::string_view::npos) counted.own += flops_of_product(line);
    if (line.find("stablehlo.convolution") != std::string_view::npos) counted.own += flops_of_convolution(line);
    if (const auto called = symbol_after(line, "call "); !called.empty()) counted.calls.push_back(called);
  }
  const double total = Total(functions).of("main");
  return total > 0 ? std::optional(total) : std::nullopt;
}

}  // namespace tfd::hlo
