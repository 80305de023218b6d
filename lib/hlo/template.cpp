// SPDX-License-Identifier: Apache-2.0
#include "tfd/hlo/template.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::hlo {
namespace {

constexpr std::string_view kMark = "// tfd-template:";
constexpr std::string_view kOpen = "${";
constexpr int kDeepest = 16;               // parentheses in each other
constexpr double kLargest = 1LL << 53;     // up to which a double is every whole number
constexpr std::int64_t kMost = 1LL << 40;  // rows

/// An expression of the batch size: sums, products and parentheses over numbers and b.
class Expression {
 public:
  Expression(std::string_view text, std::int64_t batch) : rest_(text), batch_(static_cast<double>(batch)) {}

  Result<double> value() {
    const double value = TFD_TRY(sum());
    if (!rest_.empty()) return fail(Code::kInvalidArgument, "'{}' is unexpected", rest_.substr(0, 1));
    return value;
  }

 private:
  bool accept(char mark) {
    if (!rest_.starts_with(mark)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  Result<double> sum() {
    double value = accept('-') ? -TFD_TRY(product()) : TFD_TRY(product());
    while (true) {
      if (accept('+'))
        value += TFD_TRY(product());
      else if (accept('-'))
        value -= TFD_TRY(product());
      else
        return value;
    }
  }

  Result<double> product() {
    double value = TFD_TRY(factor());
    while (true) {
      if (accept('*'))
        value *= TFD_TRY(factor());
      else if (accept('/'))
        value /= TFD_TRY(factor());
      else
        return value;
    }
  }

  Result<double> factor() {
    if (accept('b')) return batch_;
    if (accept('(')) {
      if (++depth_ > kDeepest) return fail(Code::kInvalidArgument, "it has too many parentheses");
      const double value = TFD_TRY(sum());
      --depth_;
      if (!accept(')')) return fail(Code::kInvalidArgument, "a ')' is missing");
      return value;
    }
    double number = 0;
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), number, std::chars_format::fixed);
    if (error != std::errc() || !std::isdigit(static_cast<unsigned char>(rest_.front())))
      return fail(Code::kInvalidArgument, "a number, b or '(' is missing");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return number;
  }

  std::string_view rest_;
  double batch_;
  int depth_ = 0;
};

/// Text of an expression's value in the module: digits; a floating-point number if it has a point or a quotient.
Result<std::string> evaluate(std::string_view text, std::int64_t batch) {
  const double value = TFD_TRY(Expression(text, batch).value());
  if (text.find_first_of("./") != std::string_view::npos) {
    if (!std::isfinite(value)) return fail(Code::kInvalidArgument, "it is no number for b={}", batch);
    return fmt::format("{:.16e}", value);
  }
  if (value < 0) return fail(Code::kInvalidArgument, "it is negative for b={}", batch);
  if (value > kLargest) return fail(Code::kInvalidArgument, "it is too large for b={}", batch);
  return fmt::format("{}", static_cast<std::int64_t>(value));
}

std::size_t line_of(std::string_view text, std::size_t at) {
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

/// Lines stay where they are, so that messages about the module name those of the template.
Result<std::string> expand_text(std::string_view text, std::int64_t batch) {
  std::string out;
  out.reserve(text.size());
  std::size_t at = 0;
  for (std::size_t open; (open = text.find(kOpen, at)) != std::string_view::npos;) {
    out += text.substr(at, open - at);
    const std::size_t first = open + kOpen.size();
    const std::size_t close = text.find_first_of("}\n", first);
    if (close == std::string_view::npos || text[close] == '\n')
      return fail(Code::kInvalidArgument, "line {}: '${{' without a '}}'", line_of(text, open));
    const std::string_view expression = text.substr(first, close - first);
    out += TFD_TRY(evaluate(expression, batch),
                   fmt::format("line {}: '${{{}}}'", line_of(text, open), printable(expression)));
    at = close + 1;
  }
  return out += text.substr(at);
}

/// Parses "// tfd-template: b=64"; text after a comma is a comment.
Result<std::int64_t> parse_mark(std::string_view code) {
  std::string_view line = code.substr(kMark.size(), code.find('\n') - kMark.size());
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  line = line.substr(0, line.find_first_of(", \r"));
  if (line.starts_with("b="))
    if (const auto size = parse_integer(line.substr(2), 1, kMost)) return *size;
  return fail(Code::kInvalidArgument, "line 1: must be '{} b=64', with a batch size that it is for", kMark);
}

/// True if dtypes and ranks agree.
bool alike(const std::vector<Parameter>& a, const std::vector<Parameter>& b) {
  return std::ranges::equal(a, b, [](const Parameter& x, const Parameter& y) {
    return x.spec.dtype == y.spec.dtype && x.spec.shape.size() == y.spec.shape.size();
  });
}

/// Batch size at which a dimension is `wanted`, from its values at two sizes that differ by one.
std::optional<std::int64_t> solve(std::int64_t size, std::int64_t there, std::int64_t next, std::int64_t wanted) {
  const std::int64_t slope = next - there;
  if (slope == 0 || (wanted - there) % slope != 0) return std::nullopt;
  const std::int64_t found = size + (wanted - there) / slope;
  return found >= 1 && found <= kMost ? std::optional(found) : std::nullopt;
}

}  // namespace

bool is_template(std::string_view code) { return code.starts_with(kMark); }

Result<Module> Template::expand(std::int64_t batch) const {
  Module module = TFD_TRY(
      make_module(fmt::format("{} (b={})", name_, batch), TFD_TRY(expand_text(code_, batch), printable(name_)), {}));
  if (examples_.empty()) return module;
  const Signature& first = examples_.front().signature;
  if (alike(module.signature.arguments, first.arguments) && alike(module.signature.results, first.results))
    return module;
  return fail(Code::kInvalidArgument, "{} is {}, but {} is {}", printable(module.name),
              format_signature(module.signature), printable(examples_.front().name), format_signature(first));
}

Result<Template> Template::make(std::string name, std::string code) {
  const std::int64_t size = TFD_TRY(parse_mark(code), printable(name));
  Template out(std::move(name), std::move(code), size);
  for (const std::int64_t one : {size, size + 1}) out.examples_.push_back(TFD_TRY(out.expand(one)));
  const auto same_shape = [](const Parameter& x, const Parameter& y) { return x.spec == y.spec; };
  if (std::ranges::equal(out.examples_[0].signature.arguments, out.examples_[1].signature.arguments, same_shape))
    return fail(Code::kInvalidArgument, "{}: no argument of @main has b in its shape: {}", printable(out.name_),
                format_signature(out.examples_[0].signature));
  return out;
}

// A dimension that is b itself is preferred: two sizes don't determine b*b.
std::optional<std::int64_t> Template::find_size(const ShapeOf& shape_of) const {
  const auto& here = examples_[0].signature.arguments;
  const auto& next = examples_[1].signature.arguments;
  std::optional<std::int64_t> found;
  for (std::size_t i = 0; i < here.size(); ++i) {
    const tensor::Shape* const shape = shape_of(i);
    if (shape == nullptr) continue;
    const tensor::Shape &a = here[i].spec.shape, &b = next[i].spec.shape;
    for (std::size_t d = 0; d < shape->size() && shape->size() == a.size(); ++d) {
      const auto size = solve(size_, a[d], b[d], (*shape)[d]);
      if (a[d] == size_ && b[d] == size_ + 1) return size;
      if (!found) found = size;
    }
  }
  return found;
}

}  // namespace tfd::hlo
