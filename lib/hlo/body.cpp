// SPDX-License-Identifier: Apache-2.0
#include "body.hpp"

#include <algorithm>

namespace tfd::hlo {
namespace {

constexpr std::size_t kMaxCalls = 1000;  // of different names: more is no module

}  // namespace

void BodyScan::see(const Token& token, const Lexer& behind) {
  if (token.is_word("stablehlo.custom_call") || token.is_word("call_target_name")) see_call(behind);
  if (platform_.empty()) return;
  if (token.kind == TokenKind::kValue && token.text == platform_) facts_.asks_platform = true;
  if (token.kind == TokenKind::kString && token.text == "stablehlo.case" && !facts_.platform_branches)
    count_branches(behind);
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
