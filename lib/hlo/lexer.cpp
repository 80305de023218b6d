// SPDX-License-Identifier: Apache-2.0
#include "lexer.hpp"

#include <algorithm>

namespace tfd::hlo {
namespace {

// Not <cctype>: those depend on the locale and on the sign of char.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '$' || c == '.'; }
bool is_suffix(char c) { return is_word(c) || c == '-'; }
bool is_number(char c) { return is_digit(c) || c == '.'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Bytes of the string literal that starts at `from`, with both quotes; to the end of the text where the second is
/// missing.
std::size_t string_size(std::string_view text, std::size_t from) {
  for (std::size_t i = from + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      return i + 1 - from;
  }
  return text.size() - from;
}

}  // namespace

std::string_view Lexer::run(std::size_t from, bool (*belongs)(char)) const {
  std::size_t end = from;
  while (end < text_.size() && belongs(text_[end])) ++end;
  return text_.substr(from, end - from);
}

void Lexer::set(TokenKind kind, std::size_t size, std::size_t skip_front, std::size_t skip_back) {
  next_ = {kind, text_.substr(at_ + skip_front, size - skip_front - skip_back), at_};
  at_ += size;
}

void Lexer::advance() {
  for (;;) {
    at_ += run(at_, is_space).size();
    if (text_.substr(at_, 2) != "//") break;
    at_ = std::min(text_.find('\n', at_), text_.size());
  }
  if (at_ >= text_.size()) {
    next_ = {TokenKind::kEnd, {}, text_.size()};
    return;
  }
  const char first = text_[at_];
  const char second = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  if (first == '"') {
    const std::size_t size = string_size(text_, at_);
    const bool closed = size >= 2 && text_[at_ + size - 1] == '"';
    return set(TokenKind::kString, size, 1, closed ? 1 : 0);
  }
  if (first == '@' && second == '"') {
    const std::size_t size = 1 + string_size(text_, at_ + 1);
    return set(TokenKind::kSymbol, size, 2, size >= 3 && text_[at_ + size - 1] == '"' ? 1 : 0);
  }
  if (is_letter(first)) return set(TokenKind::kWord, run(at_, is_word).size());
  if (is_digit(first)) return set(TokenKind::kNumber, run(at_, is_number).size());
  if (first == '-' && second == '>') return set(TokenKind::kArrow, 2);
  if (is_suffix(second)) {
    const TokenKind kind = first == '%'   ? TokenKind::kValue
                           : first == '@' ? TokenKind::kSymbol
                           : first == '#' ? TokenKind::kAlias
                           : first == '!' ? TokenKind::kType
                                          : TokenKind::kMark;
    if (kind != TokenKind::kMark) return set(kind, 1 + run(at_ + 1, is_suffix).size(), 1);
  }
  set(TokenKind::kMark, 1);
}

std::string_view Lexer::take_angles() {
  const std::size_t start = at_;
  std::size_t depth = 1;
  for (std::size_t i = start; i < text_.size(); ++i) {
    if (text_[i] == '"')
      i += string_size(text_, i) - 1;
    else if (text_[i] == '<')
      ++depth;
    else if (text_[i] == '>' && text_[i - 1] != '-' && --depth == 0) {
      at_ = i + 1;
      advance();
      return text_.substr(start, i - start);
    }
  }
  at_ = text_.size();
  advance();
  return {};
}

void Lexer::skip_brackets() {
  std::size_t depth = 0;
  while (next_.kind != TokenKind::kEnd) {
    if (next_.is('(') || next_.is('[') || next_.is('{') || next_.is('<')) ++depth;
    if (next_.is(')') || next_.is(']') || next_.is('}') || next_.is('>')) --depth;
    advance();
    if (depth == 0) return;
  }
}

std::size_t Lexer::line_of(std::size_t at) const {
  return 1 + static_cast<std::size_t>(std::count(
                 text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(std::min(at, text_.size())), '\n'));
}

std::string unescape(std::string_view written) {
  std::string out;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i] != '\\' || i + 1 == written.size()) {
      out += written[i];
      continue;
    }
    const char escaped = written[++i];
    const int high = hex_value(escaped);
    const int low = i + 1 < written.size() ? hex_value(written[i + 1]) : -1;
    if (high >= 0 && low >= 0) {
      out += static_cast<char>(high * 16 + low);
      ++i;
    } else {
      out += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
    }
  }
  return out;
}

}  // namespace tfd::hlo
