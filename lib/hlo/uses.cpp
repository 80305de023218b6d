// SPDX-License-Identifier: Apache-2.0
#include "tfd/hlo/uses.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "lexer.hpp"

namespace tfd::hlo {
namespace {

/// Returns the names of @main's arguments and moves the lexer into its body.
std::vector<std::string_view> enter_main(Lexer& lexer) {
  while (lexer.peek().kind != TokenKind::kEnd) {
    if (!lexer.take().is_word("func.func")) continue;
    if (lexer.peek().kind == TokenKind::kWord) lexer.take();
    const Token name = lexer.take();
    if (name.kind == TokenKind::kSymbol && name.text == "main") break;
  }
  std::vector<std::string_view> arguments;
  for (int depth = 0; lexer.peek().kind != TokenKind::kEnd;) {
    const Token token = lexer.take();
    if (token.is('(') || token.is('{')) ++depth;
    if (token.is(')') || token.is('}')) --depth;
    if (token.kind == TokenKind::kValue) arguments.push_back(token.text);
    if (depth == 0) break;
  }
  return arguments;
}

/// The body of @main, operation by operation.
class Body {
 public:
  explicit Body(Lexer lexer) {
    for (; lexer.peek().kind != TokenKind::kEnd && !lexer.peek().is_word("func.func");) {
      const Token token = lexer.take();
      if (token.kind == TokenKind::kWord || token.kind == TokenKind::kString) operation_ = token.text;
      if (token.kind != TokenKind::kValue) continue;
      if (is_defined(lexer))
        positions_.emplace(result_ = token.text, positions_.size());
      else
        use(token.text);
    }
  }

  /// Operands of concatenations, one after the other.
  const std::vector<std::string_view>& joined() const { return joined_; }
  /// Positions of the definitions of the returned values.
  std::vector<std::size_t> returned() const {
    std::vector<std::size_t> out;
    for (const std::string_view value : returned_) {
      const auto found = positions_.find(value.substr(0, value.find('#')));
      out.push_back(found == positions_.end() ? 0 : found->second);  // an argument
    }
    return out;
  }
  bool is_used_once(std::string_view value) const { return uses_.at(value) == 1; }
  /// The value that this one is a reshape of; itself otherwise.
  std::string_view origin(std::string_view value) const {
    const auto found = reshaped_.find(value);
    return found == reshaped_.end() ? value : found->second;
  }

 private:
  /// True if the value before `behind` is being defined: "%0 = …", "%0:2 = …".
  static bool is_defined(Lexer behind) {
    if (behind.accept(':') && behind.peek().kind == TokenKind::kNumber) behind.take();
    return behind.peek().is('=');
  }

  void use(std::string_view value) {
    ++uses_[value];
    if (operation_ == "return" || operation_ == "func.return") returned_.push_back(value);
    if (operation_ == "stablehlo.concatenate") joined_.push_back(value);
    if (operation_ == "stablehlo.reshape" || operation_ == "stablehlo.broadcast_in_dim") reshaped_[result_] = value;
  }

  std::string_view operation_, result_;
  std::map<std::string_view, int> uses_;
  std::map<std::string_view, std::string_view> reshaped_;
  std::map<std::string_view, std::size_t> positions_;
  std::vector<std::string_view> joined_, returned_;
};

}  // namespace

std::vector<std::size_t> joined_arguments(const Module& module) {
  if (!module.is_text) return {};
  Lexer lexer(module.code);
  const auto names = enter_main(lexer);
  const std::size_t leading = module.takes_platform ? 1 : 0;  // the platform index isn't in the signature
  if (names.size() != module.signature.arguments.size() + leading) return {};
  std::map<std::string_view, std::size_t> arguments;
  for (std::size_t i = leading; i < names.size(); ++i)
    if (module.signature.arguments[i - leading].spec.shape.size() <= 1) arguments[names[i]] = i - leading;
  const Body body(lexer);
  std::vector<std::size_t> out;
  for (const std::string_view operand : body.joined()) {
    const std::string_view origin = body.origin(operand);
    const auto found = arguments.find(origin);
    if (found != arguments.end() && body.is_used_once(operand) && body.is_used_once(origin))
      out.push_back(found->second);
  }
  return out;
}

std::vector<std::size_t> result_positions(const Module& module) {
  if (!module.is_text) return {};
  Lexer lexer(module.code);
  enter_main(lexer);
  auto out = Body(lexer).returned();
  if (out.size() != module.signature.results.size()) return {};
  return out;
}

}  // namespace tfd::hlo
