// SPDX-License-Identifier: Apache-2.0
//
// The only file that includes CLI11 (it costs 8 s of compiling). CLI11 finds the options and their values; choices,
// conversions, defaults, positionals and every message are ours, since its own texts and exit codes must not leak.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>

#include "internal.hpp"
#include "tfd/base/text.hpp"

namespace tfd::cli {
namespace {

using Names = std::map<std::string, const Option*, std::less<>>;

Names all_names(std::span<const Option> table) {
  Names names;
  for (const Option& option : table) {
    if (is_positional(option)) continue;
    for (std::string& name : names_of(option)) {
      if (option.negatable && name.starts_with("--")) names.emplace("--no-" + name.substr(2), &option);
      names.emplace(std::move(name), &option);
    }
  }
  return names;
}

/// CLI11's way to write names: "-k,--keep-order", "--wait,!--no-wait".
std::string cli11_names(const Option& option) {
  std::string text = option.names;
  if (option.negatable)
    for (const std::string& name : names_of(option))
      if (name.starts_with("--")) text += ",!--no-" + name.substr(2);
  return text;
}

/// How many of the next arguments are values of this one, if it is an option.
std::size_t count_values(std::string_view argument, const Names& names) {
  if (argument.starts_with("--")) {
    const auto found = names.find(argument);
    return found == names.end() || is_switch(*found->second) ? 0 : found->second->values;
  }
  for (std::size_t i = 1; i < argument.size(); ++i) {  // "-wn 5"
    const auto found = names.find(std::string("-") + argument[i]);
    if (found == names.end()) return 0;
    if (!is_switch(*found->second)) return i + 1 == argument.size() ? found->second->values : 0;
  }
  return 0;
}

/// Whether the option, with a value behind it or without, is one of these.
bool is_known(std::string_view argument, const Names& names) {
  if (argument.starts_with("--")) return names.contains(argument.substr(0, argument.find('=')));
  return names.contains(argument.substr(0, 2));
}

/// Where the options end: at "--", or at the first positional if that ends them, else at the end of the line. On the
/// way
/// "--name=" becomes two arguments, the second one empty, since CLI11 2.1 takes the next argument as its value.
std::size_t find_end_of_options(std::vector<std::string>& arguments, const Names& names, bool positional_ends) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string& argument = arguments[i];
    if (argument == "--") return i;
    if (argument.size() < 2 || argument.front() != '-') {
      if (positional_ends) return i;
      continue;
    }
    const std::string name = argument.substr(0, argument.size() - 1);
    if (argument.starts_with("--") && argument.ends_with('=') && count_values(name, names) == 1) {
      argument = name;
      arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(++i), std::string());
    } else {
      i += count_values(argument, names);
    }
  }
  return arguments.size();
}

/// CLI11 leaves "-ait" of "-wait" when it knows -w: what was typed is said.
std::string_view as_typed(std::string_view left, std::span<const std::string> arguments) {
  if (left.starts_with("--")) return left;
  for (const std::string& argument : arguments)
    if (argument.starts_with('-') && !argument.starts_with("--") && argument.ends_with(left.substr(1))) return argument;
  return left;
}

tl::unexpected<Error> unknown_option(std::string_view argument, const Names& names,
                                     std::span<const Elsewhere> elsewhere) {
  const std::string_view name = argument.substr(0, argument.find('='));
  std::string dashed(name);  // --batch_size is --batch-size
  std::ranges::replace(dashed, '_', '-');
  const auto here = std::ranges::find(elsewhere, dashed, &Elsewhere::option);
  if (here != elsewhere.end()) return fail(Code::kUsage, "no option '{}': {}", printable(name), here->where);
  const std::string_view word = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  std::vector<std::string> candidates;  // without the dashes, which all have in common
  for (const auto& [candidate, option] : names)
    if (!option->hidden && candidate.starts_with("--")) candidates.push_back(candidate.substr(2));
  const auto nearest = find_nearest(word, candidates);
  return fail(Code::kUsage, "unknown option '{}'{}", printable(name),
              nearest ? fmt::format(", did you mean '--{}'?", *nearest) : "");
}

/// CLI11 always takes the first value, whatever it looks like: so one can only be missing at the end of the line.
tl::unexpected<Error> missing_value(const std::vector<std::string>& arguments, const Names& names) {
  const std::string& last = arguments.back();
  auto found = names.find(last);
  if (arguments.size() > 1)  // the first value of two
    if (const auto before = names.find(arguments[arguments.size() - 2]);
        before != names.end() && before->second->values > 1)
      found = before;
  if (found == names.end() && last.size() > 1) found = names.find(std::string("-") + last.back());
  if (found == names.end()) return fail(Code::kUsage, "a value is missing after '{}'", printable(last));
  return fail(Code::kUsage, "{} needs a value: {}", found->first, found->second->placeholder);
}

/// Tells CLI11 the options; one handle per entry of the table, null for positionals.
std::vector<CLI::Option*> declare(CLI::App& app, std::span<const Option> table) {
  app.set_help_flag();
  app.allow_windows_style_options(false);
  app.allow_extras();
  std::vector<CLI::Option*> handles(table.size(), nullptr);
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (is_positional(table[i])) continue;
    handles[i] = is_switch(table[i]) ? app.add_flag(cli11_names(table[i])) : app.add_option(table[i].names);
    const auto values = static_cast<int>(table[i].values);
    if (!is_switch(table[i])) handles[i]->type_size(values)->expected(1)->allow_extra_args(false);
    handles[i]->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  return handles;
}

}  // namespace

std::optional<std::size_t> find_superfluous(std::span<const Option> table, std::span<const std::string> arguments) {
  const Names names = all_names(table);
  if (std::ranges::any_of(table, [](const Option& one) { return is_positional(one) && is_repeatable(one); }))
    return std::nullopt;
  auto taken = std::ranges::count_if(table, is_positional);
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& argument = arguments[i];
    if (argument.size() < 2 || argument.front() != '-') {
      if (taken-- == 0) return i;
    } else if (!is_known(argument, names)) {
      return std::nullopt;
    } else {
      i += count_values(argument, names);
    }
  }
  return std::nullopt;
}

Result<Line> parse_line(std::span<const Option> table, const std::vector<std::string>& arguments, CommandForm form,
                        std::span<const Elsewhere> elsewhere) {
  const Names names = all_names(table);
  Line line;
  std::vector<std::string> left = arguments;
  const bool positional_ends = form == CommandForm::kFirstPositional;
  const std::size_t options = find_end_of_options(left, names, positional_ends);
  const auto end = left.begin() + static_cast<std::ptrdiff_t>(options);
  if (end != left.end()) {
    line.separator = *end == "--";
    line.command.assign(end + (line.separator ? 1 : 0), left.end());
    left.erase(end, left.end());
  }

  CLI::App app;
  std::vector<CLI::Option*> handles;
  try {
    handles = declare(app, table);
  } catch (const std::exception& error) {  // a duplicate or malformed name in the table
    return fail(Code::kInternal, "option table: {}", error.what());
  }
  try {
    app.parse(std::vector<std::string>(left.rbegin(), left.rend()));
  } catch (const CLI::ArgumentMismatch&) {
    return missing_value(left, names);
  } catch (const std::exception& error) {
    return fail(Code::kUsage, "{}", printable(error.what()));
  }

  for (CLI::Option* handle : handles)
    line.values.push_back(handle == nullptr || handle->count() == 0 ? std::vector<std::string>() : handle->results());
  std::vector<std::string> rest = app.remaining();
  for (std::string& argument : rest) {
    if (argument.size() > 1 && argument.starts_with('-'))
      return unknown_option(as_typed(argument, left), names, elsewhere);
    line.positionals.push_back(std::move(argument));
  }
  if (form == CommandForm::kNone) {  // "--" only ends the options: all later words are positionals
    line.positionals.insert(line.positionals.end(), line.command.begin(), line.command.end());
    line.command.clear();
  }
  return line;
}

}  // namespace tfd::cli
