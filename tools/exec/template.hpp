#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Placeholders for arguments in a command: {} {.} {/} {//} {/.}, the same of one source ({2}, {2.}, {-1}, …), {#} and
// {%}. Source: the replacement strings of GNU parallel. Thread rule: immutable.
//
//   Template command({"convert", "{}", "{.}.jpg"});
//   command.fill({"a b.png"}, 1) == "convert 'a b.png' 'a b'.jpg"
#include <string>
#include <string_view>
#include <vector>

namespace tfd::exec {

class Template {
 public:
  /// Parses a command, whose words are joined by spaces. Without words, the argument is the command itself; without a
  /// placeholder, {} is appended.
  explicit Template(const std::vector<std::string>& words);
  std::string fill(const std::vector<std::string>& arguments, std::uint64_t number) const;
  /// The highest {N}; 0 if there is none.
  std::size_t highest_source() const;

 private:
  enum class Kind { kText, kArgument, kNumber, kSlot };
  enum class Form { kWhole, kNoExtension, kBase, kDirectory, kBaseNoExtension };
  struct Piece {
    Kind kind = Kind::kText;
    std::string text;
    Form form = Form::kWhole;
    std::size_t source = 0;  // from 1; 0: all of them
    bool from_end = false;   // the last source is 1
  };
  static bool parse_piece(std::string_view inner, Piece& piece);
  static std::string apply(Form form, const std::string& argument);

  std::vector<Piece> pieces_;
  bool is_argument_itself_ = false;
};

}  // namespace tfd::exec
