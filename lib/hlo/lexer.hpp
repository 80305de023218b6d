#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tokens of MLIR text. Source: https://mlir.llvm.org/docs/LangRef/#common-syntax. Thread rule: plain value.
#include <cstddef>
#include <string>
#include <string_view>

namespace tfd::hlo {

enum class TokenKind {
  kEnd,
  kWord,    // func.func, tensor, x10xf32
  kNumber,  // 64, 1.0e-3, 0xFF
  kValue,   // %arg0
  kSymbol,  // @main, @"with spaces"
  kAlias,   // #loc1
  kType,    // !stablehlo.token
  kString,  // "…", text: between the quotes, as written
  kArrow,   // ->
  kMark,    // any other single character
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // of values, symbols, aliases and types without their first character
  std::size_t at = 0;     // its byte

  bool is(char mark) const { return kind == TokenKind::kMark && text[0] == mark; }
  bool is_word(std::string_view word) const { return kind == TokenKind::kWord && text == word; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { advance(); }

  const Token& peek() const { return next_; }
  Token take() {
    const Token token = next_;
    advance();
    return token;
  }
  bool accept(char mark) {
    if (!next_.is(mark)) return false;
    advance();
    return true;
  }
  /// Takes "<…>", whose '<' is the next token, and returns the text in between. Empty at the end of the text.
  std::string_view take_angles();
  /// Skips past the closing bracket of an opening one, which is the next token.
  void skip_brackets();
  /// 1-based.
  std::size_t line_of(std::size_t at) const;

 private:
  void advance();
  std::string_view run(std::size_t from, bool (*belongs)(char)) const;
  void set(TokenKind kind, std::size_t size, std::size_t skip_front = 0, std::size_t skip_back = 0);

  std::string_view text_;
  std::size_t at_ = 0;  // position after next_
  Token next_;
};

/// Unescapes a string token: \" \\ \n \t and \HH.
std::string unescape(std::string_view written);

}  // namespace tfd::hlo
