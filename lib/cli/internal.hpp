#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Declarations shared by the files of this room: parsing of the option table, and the steps of run_tool(). Not for
// other rooms. Thread rule: plain values and functions.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/cli/tool.hpp"

namespace tfd::cli {

// table.cpp: questions about one option.
std::vector<std::string> names_of(const Option& option);  // "-k", "--keep-order"
bool is_positional(const Option& option);
/// It takes no argument after it; with value_is_optional it may have a value behind "=".
bool is_switch(const Option& option);
bool is_repeatable(const Option& option);
/// Its name in messages: the long name, or the positional's.
std::string title_of(const Option& option);
/// Default as --help shows it; empty for none.
std::string default_of(const Option& option);
/// "file", "dir", "command", a command line, or nothing.
std::string completion_of(const Option& option);
/// Text to target. kUsage: "--timeout: 'x' is not a duration (e.g. 250ms, 30s, 1m30s)". `title` names option or
/// variable.
Result<void> assign(const Option& option, std::string_view title, std::span<const std::string> values);

// parse.cpp: a command line taken apart, no values converted.
struct Line {
  std::vector<std::vector<std::string>> values;  // one entry per option of the table; a switch has "true" or "false"
  std::vector<std::string> positionals;
  std::vector<std::string> command;  // after "--", or from the first positional on
  bool separator = false;            // "--" was given
};
enum class CommandForm { kNone, kAfterSeparator, kFirstPositional };
/// kUsage: an unknown option (with where it is, or the nearest one) or a missing value.
Result<Line> parse_line(std::span<const Option> table, const std::vector<std::string>& arguments, CommandForm form,
                        std::span<const Elsewhere> elsewhere);
/// Where a word stands that no positional of the table takes, with none but known options before it, as a command does
/// that "--" is missing before. nullopt: nowhere before "--".
std::optional<std::size_t> find_superfluous(std::span<const Option> table, std::span<const std::string> arguments);

// help.cpp, dump.cpp: the whole interface as text and as JSON. `common` are the options that every tool has.
/// `columns`: the width of its lines.
std::string help_text(const Tool& tool, std::span<const Option> common, std::size_t columns = 80);
/// The same with the essential options only, of a tool with sections.
std::string short_help_text(const Tool& tool, std::size_t columns = 80);
std::string dump_text(const Tool& tool, std::span<const Option> common);
std::string usage_line(const Tool& tool);
/// Columns on a terminal: code points, since texts of tfd use no wide or combining ones.
std::size_t width_of(std::string_view text);

// log.cpp
/// Default level by -v and -q, rooms by TFD_LOG ("debug", "transport=debug,cli=info"); a wrong entry is said once.
Log make_log(std::string tool, Output err, int verbose, bool quiet, bool color, const std::string& tfd_log);

}  // namespace tfd::cli
