// SPDX-License-Identifier: Apache-2.0
#include "body.hpp"

#include <algorithm>

namespace tfd::hlo {
namespace {

constexpr std::size_t kMaxCalls = 1000;  // of different names: more is no module

}  // namespace

void BodyScan::see(const Token& token, const Lexer& behind) {
  if (token.is_word("stablehlo.custom_call") || token.is_word("call_target_name")) see_call(behind);
  if (token.kind == TokenKind::kString || token.kind == TokenKind::kWord) see_operation(token);
  if (token.is_word("replica_groups") || token.is_word("source_target_pairs"))
    see_groups(token.is_word("source_target_pairs"), behind);
  if (platform_.empty()) return;
  if (token.kind == TokenKind::kValue && token.text == platform_) facts_.asks_platform = true;
  if (token.kind == TokenKind::kString && token.text == "stablehlo.case" && !facts_.platform_branches)
    count_branches(behind);
}

/// Notes an operation: a word or, in the generic form, a string.
void BodyScan::see_operation(const Token& token) {
  constexpr std::string_view kDialect = "stablehlo.";
  if (!token.text.starts_with(kDialect)) return;
  const auto known = std::ranges::find(kWaitingOperations, token.text.substr(kDialect.size()));
  if (known == kWaitingOperations.end()) return;
  FoundOperation found{std::string(token.text), token.at};
  if (known - kWaitingOperations.begin() >= static_cast<std::ptrdiff_t>(kHostTransfers))
    last_collective_ = std::move(found);
  else if (!facts_.host_transfer)
    facts_.host_transfer = std::move(found);
}

/// = dense<[[0, 1]]> : tensor<1x2xi64>. Groups with more than one member, or pairs that leave device 0.
void BodyScan::see_groups(bool are_pairs, Lexer behind) {
  if (!last_collective_ || facts_.collective) return;
  if (!behind.accept('=') || !behind.take().is_word("dense") || !behind.peek().is('<')) return;
  const std::string_view values = behind.take_angles();
  if (are_pairs) {
    if (values.find_first_of("123456789abcdefABCDEF") == std::string_view::npos) return;
  } else {
    if (!behind.accept(':') || !behind.take().is_word("tensor") || !behind.peek().is('<')) return;
    const std::string_view type = behind.take_angles();
    if (type == "1x1xi64" || type.starts_with("0x") || type.find("x0x") != std::string_view::npos) return;
  }
  facts_.collective = last_collective_;
}

/// stablehlo.custom_call @target(…), or call_target_name = "target" of the generic form.
void BodyScan::see_call(Lexer behind) {
  behind.accept('=');
  const Token name = behind.take();
  if (name.kind == TokenKind::kSymbol) add_call(std::string(name.text));
  if (name.kind == TokenKind::kString) add_call(unescape(name.text));
}

void BodyScan::add_call(std::string target) {
  auto& calls = facts_.custom_calls;
  if (calls.size() < kMaxCalls && std::find(calls.begin(), calls.end(), target) == calls.end())
    calls.push_back(std::move(target));
}

/// "stablehlo.case"(%index) ({…}, {…}): only once, so that the text is read twice at most.
void BodyScan::count_branches(Lexer behind) {
  if (!behind.accept('(') || behind.peek().kind != TokenKind::kValue || behind.peek().text != platform_) return;
  behind.take();
  if (!behind.accept(')') || !behind.accept('(')) return;
  std::size_t count = 0;
  for (; behind.peek().is('{'); ++count) {
    behind.skip_brackets();
    behind.accept(',');
  }
  if (behind.peek().is(')')) facts_.platform_branches = count;
}

}  // namespace tfd::hlo
