// SPDX-License-Identifier: Apache-2.0
#include "tfd/hlo/embed.hpp"

#include <algorithm>
#include <set>

#include "lexer.hpp"
#include "text.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/hlo/source_line.hpp"

namespace tfd::hlo {
namespace {

constexpr std::string_view kSourceMark = "// tfd: from line ";

/// A comment line that marks the following lines as that file's, from line `line` on.
std::string format_source_mark(std::string_view name, std::size_t line) {
  return fmt::format("{}{} of {}\n", kSourceMark, line, printable(name));
}

bool defines_symbol(const Token& token) { return token.is_word("func.func") || token.is_word("sdy.mesh"); }

/// Names that a module defines at its top level; aliases also before and after it.
struct Defined {
  std::set<std::string_view> symbols, aliases, types;
};

/// Copies a text, with some names replaced or left out.
class Copier {
 public:
  explicit Copier(std::string_view text) : text_(text) {}
  /// Starts copying at `at`; earlier text is left out.
  void begin(std::size_t at) { at_ = at; }
  /// Copies up to `at`, then appends `text` and continues at `end`.
  void replace(std::size_t at, std::size_t end, std::string_view text) {
    out_ += text_.substr(at_, at - at_);
    out_ += text;
    at_ = end;
  }
  std::string finish(std::size_t at) {
    out_ += text_.substr(at_, at - at_);
    at_ = at;
    return std::move(out_);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

class Embedder {
 public:
  Embedder(const Module& module, std::string_view prefix) : name_(module.name), text_(module.code), prefix_(prefix) {}

  /// The text has been parsed before: its brackets match.
  Result<void> run(Embedded& out) {
    walk([](const Lexer&, const Token&) {}, [this](Lexer& lexer, const Token& token) { find_names(lexer, token); });
    if (has_module_ && has_text_before_) return fail(Code::kInvalidArgument, "there is something before the module");
    Copier functions(text_);
    std::size_t end = text_.size();
    bool is_inside = false;
    Token before;
    walk([&](const Lexer& lexer, const Token& token) { copy_alias(lexer, token, out.aliases); },
         [&](Lexer& lexer, const Token& token) {
           if (!is_inside) functions.begin(token.at);
           if (!is_inside) out.functions = format_source_mark(name_, lexer.line_of(token.at));
           is_inside = true;
           copy(lexer, token, before, functions);
           before = token;
         },
         [&](std::size_t at) { end = at; });
    out.functions += functions.finish(end) + "\n";  // it may end with a comment
    out.main = rename("main");
    return {};
  }

 private:
  /// `around`: aliases that are defined outside of the module; `within`: those inside of it; `close`:
  /// where it ends. A text without a module is all inside, but for its aliases.
  template <class Around, class Within, class Close = void (*)(std::size_t)>
  void walk(
      const Around& around, const Within& within, const Close& close = [](std::size_t) {}) {
    Lexer lexer(text_);
    int depth = 0;
    has_module_ = has_text_before_ = false;
    depth_ = 0;
    bool is_over = false;
    while (lexer.peek().kind != TokenKind::kEnd) {
      const Token token = lexer.take();
      const bool is_module = token.is_word("module") || token.is_word("builtin.module");
      const bool is_definition =
          (token.kind == TokenKind::kAlias || token.kind == TokenKind::kType) && depth == 0 && lexer.peek().is('=');
      if (is_definition || is_over) {
        if (is_definition) around(lexer, token);
        if (is_definition) skip_definition(lexer);
        continue;
      }
      if (is_module && depth == 0 && !has_module_) {
        has_module_ = true;
        skip_header(lexer);
        depth = 1;
        continue;
      }
      if (token.is('{')) ++depth;
      if (token.is('}')) --depth;
      if (has_module_ && depth == 0) {
        close(token.at);
        is_over = true;
        continue;
      }
      has_text_before_ = has_text_before_ || !has_module_;
      depth_ = depth - (has_module_ ? 1 : 0);
      within(lexer, token);
    }
  }

  /// "@name attributes {…} {", of a module.
  static void skip_header(Lexer& lexer) {
    if (lexer.peek().kind == TokenKind::kSymbol) lexer.take();
    if (lexer.peek().is_word("attributes")) {
      lexer.take();
      lexer.skip_brackets();
    }
    lexer.accept('{');
  }
  /// "= loc(…)", "= affine_map<…>", "= tensor<4xf32>".
  static void skip_definition(Lexer& lexer) {
    if (!lexer.accept('=')) return;
    const Token value = lexer.take();
    const bool has_brackets = lexer.peek().is('(') || lexer.peek().is('<') || lexer.peek().is('[');
    if (has_brackets && !value.is('{')) lexer.skip_brackets();
  }

  void find_names(Lexer& lexer, const Token& token) {
    if (depth_ != 0 || !defines_symbol(token)) return;
    Lexer ahead = lexer;
    if (ahead.peek().kind == TokenKind::kWord) ahead.take();
    if (ahead.peek().kind == TokenKind::kSymbol) names_.symbols.insert(ahead.peek().text);
  }

  /// `lexer` is after the alias.
  void copy_alias(Lexer lexer, const Token& alias, std::string& out) {
    const std::size_t begin = lexer.peek().at;
    Lexer value = lexer;
    value.take();
    if (value.peek().is_word("loc")) return;
    skip_definition(lexer);
    (alias.kind == TokenKind::kAlias ? names_.aliases : names_.types).insert(alias.text);
    out += fmt::format("{}{}_{} {}\n", alias.kind == TokenKind::kAlias ? '#' : '!', prefix_, alias.text,
                       text_.substr(begin, lexer.peek().at - begin));
  }

  void copy(Lexer& lexer, const Token& token, const Token& before, Copier& to) {
    const std::size_t plain = token.at + 1 + token.text.size();
    if (token.is_word("loc") && lexer.peek().is('(')) {
      lexer.skip_brackets();
      // Lines stay lines: source_of_line() counts them.
      const std::string_view dropped = text_.substr(token.at, lexer.peek().at - token.at);
      to.replace(token.at, lexer.peek().at,
                 " " + std::string(static_cast<std::size_t>(std::ranges::count(dropped, '\n')), '\n'));
    } else if (depth_ == 0 && token.is_word("func.func")) {
      if (lexer.peek().kind == TokenKind::kWord) lexer.take();
      to.replace(token.at, lexer.peek().at, "func.func private ");
    } else if (token.kind == TokenKind::kSymbol && names_.symbols.contains(token.text) &&
               !before.is_word("stablehlo.custom_call")) {
      const bool is_quoted = text_[token.at + 1] == '"';
      to.replace(token.at, plain + (is_quoted ? 2 : 0),
                 is_quoted ? fmt::format("@\"{}.{}\"", prefix_, token.text) : "@" + rename(token.text));
    } else if ((token.kind == TokenKind::kAlias && names_.aliases.contains(token.text)) ||
               (token.kind == TokenKind::kType && names_.types.contains(token.text))) {
      to.replace(token.at + 1, plain, fmt::format("{}_{}", prefix_, token.text));
    }
  }

  std::string rename(std::string_view symbol) const { return fmt::format("{}.{}", prefix_, symbol); }

  std::string_view name_, text_, prefix_;
  Defined names_;
  bool has_module_ = false;
  bool has_text_before_ = false;  // text outside of the module
  int depth_ = 0;                 // of brackets within the module
};

}  // namespace

std::optional<SourceLine> source_of_line(std::string_view code, int line) {
  if (code.find(kSourceMark) == std::string_view::npos) return std::nullopt;
  SourceLine out{.line = line};
  int number = 0, marked = 0;
  for (std::size_t at = 0; at < code.size() && number < line;) {
    const std::size_t end = std::min(code.find('\n', at), code.size());
    const std::string_view text = code.substr(at, end - at);
    at = end + 1;
    ++number;
    out.text = text;
    if (!text.starts_with(kSourceMark)) continue;
    const std::string_view rest = text.substr(kSourceMark.size());
    const std::size_t of = rest.find(" of ");
    const auto first = parse_integer(rest.substr(0, of), 1, 1 << 30);
    if (of == std::string_view::npos || !first) continue;
    out.file = rest.substr(of + 4);
    marked = number;
    out.line = static_cast<int>(*first);
  }
  if (out.file.empty())
    out.line = line;
  else
    out.line += line - marked - 1;
  return out;
}

Result<Embedded> embed(const Module& module, std::string_view prefix, int replicas) {
  const std::string name = printable(module.name);
  if (!module.is_text)
    return fail(Code::kUnimplemented, "{} is bytecode: only text can be inlined into another module", name);
  if (module.partitions != 1 || module.replicas != replicas || module.takes_platform)
    return fail(Code::kUnimplemented, "{} is for several {} and can't be inlined into another module", name,
                module.takes_platform ? "platforms" : "devices");
  Embedded out;
  TFD_TRY(Embedder(module, prefix).run(out), name);
  out.signature = module.signature;
  out.custom_calls = module.custom_calls;
  // Parsed again: the text of a broken module may mean something else within another one.
  const auto read =
      parse_mlir_text(out.aliases + fmt::format("module attributes {{mhlo.num_replicas = {} : i32}} {{\n", replicas) +
                      "  func.func public @main() -> tensor<f32> {\n  }\n" + out.functions + "}\n");
  if (!read) return fail(Code::kInvalidArgument, "{} can't be inlined into another module", name);
  return out;
}

}  // namespace tfd::hlo
