// SPDX-License-Identifier: Apache-2.0
#include "parts.hpp"

#include <algorithm>
#include <vector>

#include "lexer.hpp"
#include "types.hpp"

namespace tfd::hlo {
namespace {

/// The types around a complex value whose parts are `spec`, which are f32[64, 2] of 64 numbers.
struct Types {
  explicit Types(const tensor::TensorSpec& spec) : parts(format_tensor_type(spec)) {
    tensor::TensorSpec one = spec;
    one.shape.back() = 1;
    column = format_tensor_type(one);
    one.shape.pop_back();
    number = format_tensor_type(one);
    whole = "tensor<";
    for (const std::int64_t size : one.shape) whole += fmt::format("{}x", size);
    whole += fmt::format("complex<{}>>", tensor::dtype_name(spec.dtype));
  }
  std::string parts;   // tensor<64x2xf32>
  std::string column;  // tensor<64x1xf32>
  std::string number;  // tensor<64xf32>
  std::string whole;   // tensor<64xcomplex<f32>>
};

/// One of the parts: "%z.0 = …", whose shape is the complex value's.
std::string take_part(std::string_view parts, const tensor::Shape& shape, const Types& types, int which) {
  std::string ranges;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) ranges += fmt::format("0:{}, ", shape[i]);
  return fmt::format(
      " {0}.{1}.column = stablehlo.slice {0} [{2}{1}:{3}] : ({4}) -> {5}"
      " {0}.{1} = stablehlo.reshape {0}.{1}.column : ({5}) -> {6}",
      parts, which, ranges, which + 1, types.parts, types.column, types.number);
}

/// "%z", of its parts.
std::string put_together(std::string_view value, std::string_view parts, const tensor::TensorSpec& spec) {
  const Types types(spec);
  return take_part(parts, spec.shape, types, 0) + take_part(parts, spec.shape, types, 1) +
         fmt::format(" {0} = stablehlo.complex {1}.0, {1}.1 : {2}", value, parts, types.whole);
}

/// The parts, of "%z".
std::string take_apart(std::string_view value, std::string_view parts, const tensor::TensorSpec& spec) {
  const Types types(spec);
  std::string out;
  for (const auto& [which, operation] : {std::pair(0, "real"), std::pair(1, "imag")})
    out += fmt::format(
        "{0}.{1} = stablehlo.{2} {3} : ({4}) -> {5} {0}.{1}.column = stablehlo.reshape {0}.{1} : ({5}) "
        "-> {6} ",
        parts, which, operation, value, types.whole, types.number, types.column);
  return out + fmt::format("{0} = stablehlo.concatenate {0}.0.column, {0}.1.column, dim = {1} : ({2}, {2}) -> {3} ",
                           parts, spec.shape.size() - 1, types.column, types.parts);
}

/// Whether "tensor<4xcomplex<f32>>" has these parts.
bool is_of(std::string_view type, const tensor::TensorSpec& spec) {
  type.remove_prefix(type.find('<') + 1);
  const auto read = parse_tensor_type(type.substr(0, type.size() - 1));
  return read && read->is_complex && read->spec == spec;
}

class Rewriter {
 public:
  Rewriter(std::string_view text, const ModuleFacts& facts) : text_(text), facts_(facts), edits_(facts.complex.header) {
    while (text.find("%" + prefix_) != std::string_view::npos) prefix_ += '_';
  }

  Result<std::string> run() {
    take_arguments();
    TFD_TRY(give_results());
    std::ranges::stable_sort(edits_, {}, &Edit::begin);
    std::string out;
    std::size_t done = 0;
    for (const Edit& edit : edits_) {
      out += text_.substr(done, edit.begin - done);
      out += edit.text;
      done = edit.end;
    }
    return out += text_.substr(done);
  }

 private:
  std::string next_name() { return fmt::format("%{}{}", prefix_, names_++); }

  void replace(std::string_view piece, std::string text) {
    const auto begin = static_cast<std::size_t>(piece.data() - text_.data());
    edits_.push_back({begin, begin + piece.size(), std::move(text)});
  }

  void take_arguments() {
    std::string made;
    for (const ComplexValues::Argument& argument : facts_.complex.arguments) {
      const std::string parts = next_name();
      made += put_together(argument.value, parts, facts_.signature.arguments[argument.index].spec);
      replace(argument.value, parts);
    }
    edits_.push_back({facts_.body_at, facts_.body_at, made + " "});
  }

  Result<void> give_results() {
    if (facts_.complex.results.empty()) return {};
    if (facts_.complex.returns.empty()) return fail(Code::kInvalidArgument, "its @main has no 'return'");
    for (const std::size_t at : facts_.complex.returns) TFD_TRY(change_return(at));
    return {};
  }

  /// return %0, %1#1 : tensor<f32>, tensor<4xcomplex<f32>>
  Result<void> change_return(std::size_t at) {
    Lexer lexer(text_.substr(at));
    lexer.take();
    std::vector<std::string_view> values, types;  // of the text
    while (lexer.peek().kind == TokenKind::kValue) {
      const std::size_t begin = at + lexer.peek().at;
      std::size_t end = begin + 1 + lexer.take().text.size();
      if (lexer.peek().kind == TokenKind::kAlias && at + lexer.peek().at == end)  // "#1"
        end += 1 + lexer.take().text.size();
      values.push_back(text_.substr(begin, end - begin));
      if (!lexer.accept(',')) break;
    }
    lexer.accept(':');
    while (lexer.peek().is_word("tensor")) {
      const char* const begin = lexer.take().text.data();
      const std::string_view inside = lexer.peek().is('<') ? lexer.take_angles() : std::string_view();
      if (inside.empty()) break;
      types.emplace_back(begin, static_cast<std::size_t>(inside.data() + inside.size() + 1 - begin));
      if (!lexer.accept(',')) break;
    }
    const auto fail_here = [&](const std::string& what) {
      return fail(Code::kInvalidArgument, "line {}: {}", Lexer(text_).line_of(at), what);
    };
    const std::size_t results = facts_.signature.results.size();
    if (values.size() != results || types.size() != results)
      return fail_here(fmt::format("it returns {} values of {} types, but the results of @main are {}", values.size(),
                                   types.size(), results));
    std::string made;
    for (const std::size_t i : facts_.complex.results) {
      const tensor::TensorSpec& spec = facts_.signature.results[i].spec;
      if (!is_of(types[i], spec))
        return fail_here(fmt::format("it returns {} as {}, but result {} of @main is {}", values[i],
                                     types[i].substr(0, 60), i, Types(spec).whole));
      const std::string parts = next_name();
      made += take_apart(values[i], parts, spec);
      replace(values[i], parts);
      replace(types[i], format_tensor_type(spec));
    }
    edits_.push_back({at, at, made});
    return {};
  }

  std::string_view text_;
  const ModuleFacts& facts_;
  std::vector<Edit> edits_;           // none within another one
  std::string prefix_ = "tfd.parts";  // of names that the text doesn't have
  int names_ = 0;
};

}  // namespace

bool has_complex(const ModuleFacts& facts) {
  return !facts.complex.arguments.empty() || !facts.complex.results.empty();
}

Result<std::string> in_parts(std::string_view text, const ModuleFacts& facts) { return Rewriter(text, facts).run(); }

}  // namespace tfd::hlo
