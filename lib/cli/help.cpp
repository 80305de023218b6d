// SPDX-License-Identifier: Apache-2.0
//
// --help and -h: two aligned columns for options; as wide as the terminal, from 80 to 120 columns.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "internal.hpp"
#include "tfd/base/text.hpp"

namespace tfd::cli {
namespace {

constexpr std::size_t kWidestLabel = 26;  // a longer one gets a line of its own

std::string label_of(const Option& option) {
  if (is_positional(option)) return option.names + (is_repeatable(option) ? " …" : "");
  std::string shorts, longs;
  for (const std::string& name : names_of(option)) {
    std::string& list = name.starts_with("--") ? longs : shorts;
    list += list.empty() ? "" : ", ";
    list += option.negatable && name.starts_with("--") ? "--[no-]" + name.substr(2) : name;
  }
  std::string label = shorts.empty() ? "    " + longs : longs.empty() ? shorts : shorts + ", " + longs;
  if (option.value_is_optional)
    label += "[=" + option.placeholder + "]";
  else if (!option.placeholder.empty())
    label += " " + option.placeholder;
  return label;
}

std::string paragraph_of(const Option& option) {
  std::string text = option.help;
  if (!option.choices.empty()) text += fmt::format(" ({})", fmt::join(option.choices, ", "));
  if (const std::string shown = default_of(option); !shown.empty()) text += fmt::format(" (default: {})", shown);
  if (is_repeatable(option) && !is_positional(option) && option.help.find("repeat") == std::string::npos)
    text += " (repeatable)";
  if (!option.env.empty()) text += fmt::format(" [{}]", option.env);
  return text;
}

/// Columns of a help text: where descriptions begin, and where lines end.
struct Layout {
  std::size_t column, columns;

  std::string described(std::string_view text) const { return fill(text, column, column, "", columns); }
};

/// The options under their title; empty if `shows` is true for none of them.
template <class Shows>
std::string section(std::string_view title, std::span<const Option> options, const Layout& layout, Shows shows) {
  std::string out;
  for (const Option& option : options) {
    if (option.hidden || !shows(option)) continue;
    const std::string label = "  " + label_of(option);
    const std::size_t width = width_of(label);
    out += label;
    out +=
        width + 2 <= layout.column ? std::string(layout.column - width, ' ') : "\n" + std::string(layout.column, ' ');
    out += layout.described(paragraph_of(option));
  }
  return out.empty() ? out : fmt::format("\n{}:\n{}", title, out);
}

std::string environment_of(const Tool& tool, const Layout& layout) {
  if (tool.environment.empty()) return "";
  std::string out = "\nEnvironment:\n";
  for (const auto& [name, what] : tool.environment) {
    out += "  " + name;
    out += name.size() + 4 <= layout.column ? std::string(layout.column - name.size() - 2, ' ')
                                            : "\n" + std::string(layout.column, ' ');
    out += layout.described(what);
  }
  return out;
}

std::string examples_of(const Tool& tool, std::size_t columns) {
  if (tool.examples.empty()) return "";
  std::string out = "\nExamples:\n";
  for (const Example& example : tool.examples)
    out += "  " + fill(example.command, 6, 2, " \\", columns) + "      " + fill(example.what, 6, 6, "", columns);
  return out;
}

/// The column where descriptions begin, which most labels leave free.
std::size_t column_of(std::span<const Option> options) {
  std::size_t widest = 0;
  for (const Option& option : options) {
    const std::size_t width = width_of(label_of(option));
    if (!option.hidden && width <= kWidestLabel) widest = std::max(widest, width);
  }
  return widest + 4;
}

/// Name, summary and usage.
std::string beginning_of(const Tool& tool, std::size_t columns) {
  const std::string usage = fmt::format("Usage: {} ", tool.name);
  return fill(fmt::format("{}: {}", tool.name, tool.summary), 2, 0, "", columns) + "\n" + usage +
         fill(usage_line(tool), usage.size(), usage.size(), "", columns);
}

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string fill(std::string_view text, std::size_t indent, std::size_t column, std::string_view line_end,
                 std::size_t columns) {
  const std::size_t last = columns - line_end.size();
  std::string out;
  bool first = true;
  for (const std::string& word : split(text, ' ')) {
    if (word.empty()) continue;
    const std::size_t width = width_of(word);
    if (!first && column + 1 + width > last) {
      out += fmt::format("{}\n{}", line_end, std::string(indent, ' '));
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += width;
    first = false;
  }
  return out + "\n";
}

std::string usage_line(const Tool& tool) {
  if (!tool.usage.empty()) return tool.usage;
  std::string line = "[OPTIONS]";
  for (const Option& option : tool.options) {
    if (option.hidden) continue;
    if (!is_positional(option)) {
      if (option.required) line += fmt::format(" {} {}", title_of(option), option.placeholder);
      continue;
    }
    const std::string name = option.names + (is_repeatable(option) ? "…" : "");
    line += option.required ? " " + name : " [" + name + "]";
  }
  if (tool.command_is_positional) return line + " CMD [ARG…]";
  return tool.takes_command ? line + " [-- CMD [ARG…]]" : line;
}

std::string help_text(const Tool& tool, std::span<const Option> common, std::size_t columns) {
  const Layout layout{std::max(column_of(tool.options), column_of(common)), columns};
  const auto is_in = [&tool](const Option& option, std::string_view title) {
    const bool has_title = std::ranges::find(tool.sections, option.section) != tool.sections.end();
    return !is_positional(option) && (has_title ? option.section == title : title.empty());
  };
  std::string out = beginning_of(tool, columns);
  out += section("Arguments", tool.options, layout, is_positional);
  out += section("Options", tool.options, layout, [&](const Option& option) { return is_in(option, ""); });
  for (const std::string& title : tool.sections)
    out += section(title, tool.options, layout, [&](const Option& option) { return is_in(option, title); });
  out += section("Options of every tool", common, layout, [](const Option&) { return true; });
  out += environment_of(tool, layout);
  out += examples_of(tool, columns);
  out += fmt::format("\nMore: man {}; exit codes: man tfd-exit\n", tool.name);
  return out;
}

std::string short_help_text(const Tool& tool, std::size_t columns) {
  std::vector<Option> shown;
  std::ranges::copy_if(tool.options, std::back_inserter(shown),
                       [](const Option& option) { return is_positional(option) || option.essential; });
  const auto order_of = [&tool](const Option& option) { return std::ranges::find(tool.sections, option.section); };
  std::ranges::stable_sort(shown, {}, order_of);
  const Layout layout{column_of(shown), columns};
  std::string out = beginning_of(tool, columns);
  out += section("Arguments", shown, layout, is_positional);
  out += section("Options used most", shown, layout, [](const Option& option) { return !is_positional(option); });
  out += examples_of(tool, columns);
  out += fmt::format("\nAll options: {} --help; more: man {}\n", tool.name, tool.name);
  return out;
}

}  // namespace tfd::cli
