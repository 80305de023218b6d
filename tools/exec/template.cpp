// SPDX-License-Identifier: Apache-2.0
#include "template.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "arguments.hpp"
#include "tfd/base/shell.hpp"

namespace tfd::exec {
namespace {

/// Removes the last ".x" of the file name; a name whose only dot is its first character has none.
std::string without_extension(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t dot = path.rfind('.');
  const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
  return dot == std::string::npos || dot <= start ? path : path.substr(0, dot);
}

/// The directory of a path, as dirname(1) prints it.
std::string directory_of(std::string path) {
  const auto drop_slashes = [&] {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  };
  drop_slashes();
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  path.resize(slash + 1);
  drop_slashes();
  return path;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

bool Template::parse_piece(std::string_view inner, Piece& piece) {
  if (inner == "#" || inner == "%") {
    piece.kind = inner == "#" ? Kind::kNumber : Kind::kSlot;
    return true;
  }
  if (inner.starts_with('-')) {
    piece.from_end = true;
    inner.remove_prefix(1);
  }
  const char* const begin = inner.data();
  const auto number = std::from_chars(begin, begin + inner.size(), piece.source);
  if (number.ec == std::errc()) {
    if (piece.source == 0 || *begin == '0') return false;
    inner.remove_prefix(static_cast<std::size_t>(number.ptr - begin));
  } else if (piece.from_end) {
    return false;
  }
  constexpr std::pair<std::string_view, Form> kForms[] = {{"", Form::kWhole},
                                                          {".", Form::kNoExtension},
                                                          {"/", Form::kBase},
                                                          {"//", Form::kDirectory},
                                                          {"/.", Form::kBaseNoExtension}};
  for (const auto& [text, form] : kForms) {
    if (inner != text) continue;
    piece.kind = Kind::kArgument;
    piece.form = form;
    return true;
  }
  return false;
}

Template::Template(const std::vector<std::string>& words) : is_argument_itself_(words.empty()) {
  const std::string text = join(words);
  std::string plain;
  bool has_any = is_argument_itself_;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string::npos;
    Piece piece;
    if (end == std::string::npos || !parse_piece(std::string_view(text).substr(at + 1, end - at - 1), piece)) {
      plain += text[at++];
      continue;
    }
    if (!plain.empty()) pieces_.push_back({Kind::kText, std::exchange(plain, {})});
    pieces_.push_back(piece);
    has_any = true;
    at = end + 1;
  }
  if (!has_any) plain += ' ';
  if (!plain.empty()) pieces_.push_back({Kind::kText, plain});
  if (!has_any) pieces_.push_back({Kind::kArgument, {}});
}

std::size_t Template::highest_source() const {
  std::size_t highest = 0;
  for (const Piece& piece : pieces_) highest = std::max(highest, piece.source);
  return highest;
}

std::string Template::apply(Form form, const std::string& argument) {
  switch (form) {
    case Form::kWhole:
      return argument;
    case Form::kNoExtension:
      return without_extension(argument);
    case Form::kBase:
      return base_name(argument);
    case Form::kBaseNoExtension:
      return without_extension(base_name(argument));
    case Form::kDirectory:
      break;
  }
  return directory_of(argument);
}

std::string Template::fill(const std::vector<std::string>& arguments, std::uint64_t number) const {
  if (is_argument_itself_) return join(arguments);
  std::string out;
  for (const Piece& piece : pieces_) {
    switch (piece.kind) {
      case Kind::kText:
        out += piece.text;
        break;
      case Kind::kNumber:
        out += std::to_string(number);
        break;
      case Kind::kSlot:
        out += "${TFD_JOB_SLOT}";  // only the worker knows it
        break;
      case Kind::kArgument:
        for (std::size_t i = 0; i < arguments.size(); ++i) {
          const std::size_t number_of_it = piece.from_end ? arguments.size() - i : i + 1;
          if (piece.source != 0 && piece.source != number_of_it) continue;
          if (piece.source == 0 && i > 0) out += ' ';
          out += shell_word(apply(piece.form, arguments[i]));
        }
        break;
    }
  }
  return out;
}

}  // namespace tfd::exec
