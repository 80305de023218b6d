// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "body.hpp"
#include "lexer.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "types.hpp"

namespace tfd::hlo {
namespace {

/// loc("x") has a name, loc(#loc1) refers to a line before or after, the others have neither.
struct Location {
  std::string name;
  std::string alias;
};

/// Sharding of an argument or a result, unparsed until all meshes are known.
struct StatedSharding {
  std::string_view mhlo;                   // {devices=[2,1]<=[2]}, as written
  std::optional<std::string_view> shardy;  // @mesh, [{"data"}, {}]
  bool is_complex = false;                 // it shards a complex value
};

/// Names of an argument, by their sources.
struct Names {
  std::string info;      // jax.arg_info
  std::string location;  // loc("x")
  std::string alias;     // loc(#loc1)
  std::string value;     // %x
};

struct Attributes {
  std::optional<int> aliases_output;
  std::string result_info;
  std::string argument_info;
  std::string layout_mode;
  bool is_platform_index = false;
  StatedSharding sharding;
  int partitions = 1, replicas = 1;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), lexer_(text) {}

  Result<ModuleFacts> parse() {
    // The bracket depth tells the position: @main is at the top level, or directly within its one module.
    int depth = 0, main_depth = 0;
    for (;;) {
      const Token token = lexer_.peek();
      if (token.kind == TokenKind::kEnd) break;
      if (token.kind == TokenKind::kAlias && depth == 0) {
        parse_alias();
      } else if (token.is_word("func.func") && depth == main_depth) {
        TFD_TRY(parse_function());
      } else if (token.is_word("sdy.mesh") && depth == main_depth) {
        parse_mesh_definition();
      } else if ((token.is_word("module") || token.is_word("builtin.module")) && depth == 0) {
        TFD_TRY(parse_module_header());
        if (lexer_.peek().is('{')) main_depth = 1;
      } else {
        if (token.is('{')) ++depth;
        if (token.is('}') && --depth == main_depth) leave_main();
        if (is_in_main_ && depth == main_depth + 1 && (token.is_word("return") || token.is_word("func.return")))
          facts_.complex.returns.push_back(token.at);
        if (depth < 0) return fail_at(token, "unmatched '}}'");
        if (token.is_word("dense_resource"))
          return fail_at(token,
                         "a constant is in a dense_resource, which XLA doesn't read: print its elements (dense<…>)");
        is_generic_ = is_generic_ || (token.kind == TokenKind::kString && token.text == "func.func");
        lexer_.take();
        body_.see(token, lexer_);
      }
    }
    if (!found_main_ && is_generic_)
      return fail(Code::kInvalidArgument,
                  "it is in MLIR's generic form (\"func.func\"() …), whose signature tfd doesn't read: print it in the "
                  "pretty form (str(module), mlir-opt without --mlir-print-op-generic)");
    if (!found_main_)
      return fail(Code::kInvalidArgument, "it has no public @main function{}",
                  private_main_ ? " (its @main is private)" : "");
    if (depth != 0) return fail(Code::kInvalidArgument, "it is cut off: {} '{{' are not closed", depth);
    name_parameters();
    find_shardings(facts_.signature.arguments, argument_shardings_);
    find_shardings(facts_.signature.results, result_shardings_);
    facts_.body = std::move(body_).facts();
    TFD_TRY(check_operations());
    facts_.may_donate = text_.find("tf.aliasing_output") != std::string_view::npos ||
                        text_.find("jax.buffer_donor") != std::string_view::npos ||
                        text_.find("input_output_alias") != std::string_view::npos;
    return std::move(facts_);
  }

 private:
  template <class... Args>
  tl::unexpected<Error> fail_at(const Token& token, fmt::format_string<Args...> format, Args&&... args) const {
    return fail(Code::kInvalidArgument, "line {}: {}", lexer_.line_of(token.at),
                fmt::format(format, std::forward<Args>(args)...));
  }
  static std::string shown(const Token& token) {
    if (token.kind == TokenKind::kEnd) return "the end";
    return "'" + printable(token.text.substr(0, 40)) + "'";
  }
  Result<void> expect(char mark, const char* where) {
    if (lexer_.accept(mark)) return {};
    return fail_at(lexer_.peek(), "expected '{}' {}, not {}", mark, where, shown(lexer_.peek()));
  }

  /// Refuses operations that wait for a peer that doesn't exist: they end the process or never return.
  Result<void> check_operations() const {
    const auto fail_on = [&](const FoundOperation& one, std::string_view why) {
      return fail(Code::kInvalidArgument, "line {}: {} {}", lexer_.line_of(one.at), one.name, why);
    };
    if (facts_.body.host_transfer)
      return fail_on(*facts_.body.host_transfer, "waits for the host, which passes arguments and results only");
    if (facts_.body.collective && facts_.partitions == 1 && facts_.replicas == 1)
      return fail_on(*facts_.body.collective,
                     "waits for other devices, but the module is for one: leave it out, for tfd reduces what replicas "
                     "return, or export the module for several partitions");
    return {};
  }

  /// #loc1 = loc("x")
  void parse_alias() {
    const std::string name(lexer_.take().text);
    if (!lexer_.accept('=') || !lexer_.peek().is_word("loc")) return;
    aliases_[name] = parse_location();
  }

  /// sdy.mesh @mesh = <["data"=2]>
  void parse_mesh_definition() {
    lexer_.take();
    const Token name = lexer_.peek();
    if (name.kind != TokenKind::kSymbol) return;
    lexer_.take();
    if (!lexer_.accept('=') || !lexer_.peek().is('<')) return;
    if (facts_.mesh.empty()) facts_.mesh = name.text;
    if (auto mesh = parse_mesh(lexer_.take_angles())) meshes_.emplace(name.text, std::move(*mesh));
  }

  /// Position for a sharding attribute; the next token follows the parameter's type, its attributes aren't read yet.
  UnstatedSharding place_for_sharding(const tensor::TensorSpec& spec, bool has_attributes) const {
    UnstatedSharding place{lexer_.peek().at, has_attributes, false, {}, spec.shape.size()};
    if (!has_attributes) return place;
    Lexer ahead = lexer_;
    ahead.take();
    place.at = lexer_.peek().at + 1;
    place.has_others = !ahead.peek().is('}');
    return place;
  }
  void note_sharding(const StatedSharding& sharding, const UnstatedSharding& place) {
    if (sharding.mhlo.empty() && !sharding.shardy) facts_.unstated.push_back(place);
  }

  /// Parses the shardings. One that is unknown is an error only for callers that split the parameters.
  void find_shardings(std::vector<Parameter>& parameters, const std::vector<StatedSharding>& stated) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const StatedSharding& one = stated[i];
      if (one.mhlo.empty() && !one.shardy) continue;
      const std::size_t rank = parameters[i].spec.shape.size() - (one.is_complex ? 1 : 0);
      auto sharding =
          one.shardy ? parse_shardy(*one.shardy, meshes_, rank) : parse_sharding_text(unescape(one.mhlo), rank);
      if (one.is_complex) keep_parts_together(one, sharding ? &*sharding : nullptr);
      if (sharding)
        parameters[i].sharding = std::move(*sharding);
      else if (facts_.sharding_problem.empty())
        facts_.sharding_problem =
            fmt::format("the sharding of '{}': {}", printable(parameters[i].name), sharding.error().message);
    }
  }

  /// A complex value's parts are another dimension, which no sharding cuts.
  void keep_parts_together(const StatedSharding& stated, OpSharding* sharding) {
    if (sharding != nullptr && sharding->kind == OpSharding::Kind::kSplit) sharding->pieces.push_back(1);
    if (stated.shardy) {
      const std::size_t open = stated.shardy->find('['), close = stated.shardy->find(']', open);
      if (close == std::string_view::npos) return;
      const std::size_t at = static_cast<std::size_t>(stated.shardy->data() - text_.data()) + close;
      const bool is_first = stated.shardy->substr(open, close - open).find('{') == std::string_view::npos;
      facts_.complex.header.push_back({at, at, is_first ? "{}" : ", {}"});
    } else if (sharding != nullptr) {
      const auto at = static_cast<std::size_t>(stated.mhlo.data() - text_.data());
      facts_.complex.header.push_back({at, at + stated.mhlo.size(), format_sharding(*sharding)});
    }
  }

  /// Parses a location, whose `loc` is the next token.
  Location parse_location() {
    Location location;
    lexer_.take();
    if (!lexer_.peek().is('(')) return location;
    Lexer inside = lexer_;
    inside.take();
    const Token first = inside.take();
    if (first.kind == TokenKind::kAlias) location.alias = first.text;
    // "file.py":1:2 is a place, not a name.
    else if (first.kind == TokenKind::kString && !inside.peek().is(':'))
      location.name = unescape(first.text);
    lexer_.skip_brackets();
    return location;
  }

  /// {key = value, key, "key" = value}: those that matter here.
  Result<Attributes> parse_attributes() {
    Attributes out;
    TFD_TRY(expect('{', "before attributes"));
    while (!lexer_.accept('}')) {
      const Token key = lexer_.take();
      if (key.kind != TokenKind::kWord && key.kind != TokenKind::kString)
        return fail_at(key, "expected an attribute's name, not {}", shown(key));
      if (lexer_.accept('=')) TFD_TRY(parse_attribute(key.text, out));
      if (!lexer_.accept(',') && !lexer_.peek().is('}'))
        return fail_at(lexer_.peek(), "expected ',' or '}}' after attribute {}, not {}", shown(key),
                       shown(lexer_.peek()));
    }
    return out;
  }
  Result<void> parse_attribute(std::string_view key, Attributes& out) {
    const Token value = lexer_.peek();
    const auto number = [&](std::int64_t least) { return parse_integer(value.text, least, 1 << 20); };
    const auto context = [&] { return fmt::format("line {}: {}", lexer_.line_of(value.at), key); };
    if (key == "tf.aliasing_output") out.aliases_output = static_cast<int>(TFD_TRY(number(0), context()));
    if (key == "mhlo.num_partitions") out.partitions = static_cast<int>(TFD_TRY(number(1), context()));
    if (key == "mhlo.num_replicas") out.replicas = static_cast<int>(TFD_TRY(number(1), context()));
    if (value.kind == TokenKind::kString) {
      if (key == "jax.arg_info") out.argument_info = unescape(value.text);
      if (key == "jax.result_info") out.result_info = unescape(value.text);
      if (key == "mhlo.layout_mode") out.layout_mode = unescape(value.text);
      if (key == "mhlo.sharding") out.sharding.mhlo = value.text;
      if (key == "jax.global_constant") out.is_platform_index = value.text == "_platform_index";
    }
    if (key == "sdy.sharding" && value.kind == TokenKind::kAlias && value.text == "sdy.sharding") {
      lexer_.take();
      if (lexer_.peek().is('<')) out.sharding.shardy = lexer_.take_angles();
    }
    while (lexer_.peek().kind != TokenKind::kEnd && !lexer_.peek().is(',') && !lexer_.peek().is('}')) {
      if (lexer_.peek().is('(') || lexer_.peek().is('[') || lexer_.peek().is('{') || lexer_.peek().is('<'))
        lexer_.skip_brackets();
      else
        lexer_.take();
    }
    return {};
  }

  /// module @name attributes {…}, up to its '{'.
  Result<void> parse_module_header() {
    lexer_.take();
    if (lexer_.peek().kind == TokenKind::kSymbol) lexer_.take();
    if (!lexer_.peek().is_word("attributes")) return {};
    lexer_.take();
    const Attributes attributes = TFD_TRY(parse_attributes());
    facts_.partitions = attributes.partitions;
    facts_.replicas = attributes.replicas;
    return {};
  }

  /// func.func [public|private] @main(…) -> …, up to its body; of other functions only the name.
  Result<void> parse_function() {
    lexer_.take();
    bool is_private = false;
    if (lexer_.peek().kind == TokenKind::kWord) is_private = lexer_.take().text != "public";
    if (lexer_.peek().kind != TokenKind::kSymbol || lexer_.peek().text != "main") return {};
    const Token name = lexer_.take();
    if (is_private) {
      private_main_ = true;
      return {};
    }
    if (found_main_) return fail_at(name, "a second @main");
    found_main_ = true;
    TFD_TRY(parse_arguments());
    TFD_TRY(parse_results());
    if (lexer_.peek().is_word("attributes")) {
      lexer_.take();
      TFD_TRY(parse_attributes());
    }
    if (!lexer_.peek().is('{'))
      return fail_at(lexer_.peek(), "expected the body of @main, not {}", shown(lexer_.peek()));
    body_.enter_main(facts_.platform ? facts_.platform->value : std::string());
    facts_.body_at = lexer_.peek().at + 1;
    is_in_main_ = true;
    return {};
  }
  void leave_main() {
    body_.leave_main();
    is_in_main_ = false;
  }

  Result<void> parse_arguments() {
    TFD_TRY(expect('(', "after @main"));
    while (!lexer_.accept(')')) {
      const Token value = lexer_.take();
      if (value.kind != TokenKind::kValue) return fail_at(value, "expected an argument of @main, not {}", shown(value));
      TFD_TRY(expect(':', "after an argument"));
      const std::string what =
          fmt::format("argument {} (%{})", facts_.signature.arguments.size(), value.text.substr(0, 40));
      Parameter argument;
      bool is_complex = false;
      argument.spec = TFD_TRY(parse_type(what, is_complex));
      if (is_complex)
        facts_.complex.arguments.push_back(
            {facts_.signature.arguments.size(), text_.substr(value.at, 1 + value.text.size())});
      Names names{{}, {}, {}, std::string(value.text)};
      StatedSharding sharding;
      const UnstatedSharding place = place_for_sharding(argument.spec, lexer_.peek().is('{'));
      if (lexer_.peek().is('{')) {
        const Attributes attributes = TFD_TRY(parse_attributes());
        if (attributes.is_platform_index) {
          TFD_TRY(take_platform_index(value, argument.spec, what));
          continue;
        }
        TFD_TRY(check_layout(attributes, value, what));
        argument.aliases_output = attributes.aliases_output;
        names.info = attributes.argument_info;
        sharding = attributes.sharding;
      }
      if (lexer_.peek().is_word("loc")) {
        Location location = parse_location();
        names.location = std::move(location.name);
        names.alias = std::move(location.alias);
      }
      names_.push_back(std::move(names));
      sharding.is_complex = is_complex;
      note_sharding(sharding, place);
      argument_shardings_.push_back(sharding);
      facts_.signature.arguments.push_back(std::move(argument));
      if (!lexer_.accept(',') && !lexer_.peek().is(')'))
        return fail_at(lexer_.peek(), "expected ',' or ')' after {}, not {}", what, shown(lexer_.peek()));
    }
    return {};
  }

  /// Records the argument, from its value to the comma after it: it isn't part of the signature.
  Result<void> take_platform_index(const Token& value, const tensor::TensorSpec& spec, const std::string& what) {
    if (!facts_.signature.arguments.empty() || facts_.platform)
      return fail_at(value, "{} is jax's platform index, which comes first", what);
    if (spec != tensor::TensorSpec{tensor::DType::kS32, {}})
      return fail_at(value, "{} is jax's platform index, which is s32[], not {}", what, tensor::format_spec(spec));
    if (lexer_.peek().is_word("loc")) parse_location();
    if (!lexer_.peek().is(',') && !lexer_.peek().is(')'))
      return fail_at(lexer_.peek(), "expected ',' or ')' after {}, not {}", what, shown(lexer_.peek()));
    const std::size_t end = lexer_.peek().at + (lexer_.peek().is(',') ? 1 : 0);
    facts_.platform = PlatformArgument{std::string(value.text), value.at, end};
    lexer_.accept(',');
    return {};
  }

  Result<void> parse_results() {
    if (lexer_.peek().kind != TokenKind::kArrow) return {};
    lexer_.take();
    if (!lexer_.accept('(')) return parse_result(true);
    while (!lexer_.accept(')')) {
      TFD_TRY(parse_result(false));
      if (!lexer_.accept(',') && !lexer_.peek().is(')'))
        return fail_at(lexer_.peek(), "expected ',' or ')' after a result, not {}", shown(lexer_.peek()));
    }
    return {};
  }
  Result<void> parse_result(bool is_bare) {
    const std::string what = fmt::format("result {}", facts_.signature.results.size());
    const Token start = lexer_.peek();
    Parameter result;
    StatedSharding& sharding = result_shardings_.emplace_back();
    bool is_complex = false;
    result.spec = TFD_TRY(parse_type(what, is_complex));
    if (is_complex) facts_.complex.results.push_back(facts_.signature.results.size());
    const bool has_attributes = lexer_.peek().is('{') && inside_parentheses_or_attributes();
    UnstatedSharding place = place_for_sharding(result.spec, has_attributes);
    if (is_bare && !has_attributes) place.bare = start.at;
    if (has_attributes) {
      const Attributes attributes = TFD_TRY(parse_attributes());
      TFD_TRY(check_layout(attributes, start, what));
      result.name = attributes.result_info;
      sharding = attributes.sharding;
    }
    sharding.is_complex = is_complex;
    note_sharding(sharding, place);
    facts_.signature.results.push_back(std::move(result));
    return {};
  }
  /// A result without parentheses has no attributes: the '{' after it opens the body. Attributes start with a name and
  /// '=' or ','; a body starts with a value, a label or an operation without results.
  bool inside_parentheses_or_attributes() const {
    Lexer ahead = lexer_;
    ahead.take();
    const Token key = ahead.take();
    if (key.kind != TokenKind::kWord && key.kind != TokenKind::kString) return false;
    return ahead.peek().is('=') || ahead.peek().is(',') || ahead.peek().is('}');
  }

  Result<void> check_layout(const Attributes& attributes, const Token& at, const std::string& what) const {
    if (attributes.layout_mode.empty() || attributes.layout_mode == "default") return {};
    return fail_at(at, "{}: layout '{}' is not supported, only the default one", what,
                   printable(attributes.layout_mode));
  }

  /// Parses a type; a complex one becomes that of its parts, which is noted for the header.
  Result<tensor::TensorSpec> parse_type(const std::string& what, bool& is_complex) {
    const Token word = lexer_.take();
    if (word.kind == TokenKind::kType && word.text == "stablehlo.token")
      return fail_at(word,
                     "{} is a token: the function has ordered effects (jax.debug.print or io_callback with "
                     "ordered=True), which only Python can serve; export it without them",
                     what);
    if (!word.is_word("tensor") || !lexer_.peek().is('<'))
      return fail_at(word, "{}: expected a tensor, not {}", what, shown(word));
    const std::string_view inside = lexer_.take_angles();
    auto type = parse_tensor_type(inside);
    if (!type) return fail_at(word, "{}: tensor<{}>: {}", what, printable(inside.substr(0, 60)), type.error().message);
    is_complex = type->is_complex;
    if (is_complex) {
      const auto end = static_cast<std::size_t>(inside.data() - text_.data()) + inside.size() + 1;
      facts_.complex.header.push_back({word.at, end, format_tensor_type(type->spec)});
    }
    return std::move(type->spec);
  }
  /// Names of arguments come last: a location may be defined after the function. jax's come first (its older versions
  /// print "jax.arg_info", the newer ones locations), then what the text itself calls the value. TensorFlow gives all
  /// arguments one location, which names none of them.
  void name_parameters() {
    auto& arguments = facts_.signature.arguments;
    std::map<std::string, int> uses;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Names& names = names_[i];
      arguments[i].name = names.info.empty() ? names.location : names.info;
      if (const auto alias = aliases_.find(names.alias); arguments[i].name.empty() && alias != aliases_.end())
        arguments[i].name = alias->second.name;
      ++uses[arguments[i].name];
    }
    const auto plain = [&](std::size_t i) {
      const std::string& value = names_[i].value;
      const bool is_number = value.find_first_not_of("0123456789") == std::string::npos;
      return is_number ? fmt::format("arg{}", i) : value;
    };
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].name.empty() || uses[arguments[i].name] > 1) arguments[i].name = plain(i);
    std::set<std::string> all;
    for (const Parameter& argument : arguments) all.insert(argument.name);
    if (all.size() < arguments.size())  // one's location is another's name: values' own names always differ
      for (std::size_t i = 0; i < arguments.size(); ++i) arguments[i].name = plain(i);
    auto& results = facts_.signature.results;
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i].name.empty()) results[i].name = fmt::format("result{}", i);
  }

  std::string_view text_;
  Lexer lexer_;
  ModuleFacts facts_;
  BodyScan body_;
  std::vector<Names> names_;  // of the arguments
  std::vector<StatedSharding> argument_shardings_, result_shardings_;
  std::map<std::string, Mesh, std::less<>> meshes_;
  std::map<std::string, Location, std::less<>> aliases_;
  bool found_main_ = false, private_main_ = false, is_in_main_ = false;
  bool is_generic_ = false;  // it has "func.func" as a text
};

}  // namespace

Result<ModuleFacts> parse_mlir_text(std::string_view text) { return Parser(text).parse(); }

}  // namespace tfd::hlo
