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

/// CLI11 2.1 takes the next argument as the value of "--name=": make it two arguments, the second one empty.
void split_empty_values(std::vector<std::string>& arguments, const Names& names) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") return;
    if (!argument.starts_with("--") || !argument.ends_with('=')) continue;
    const auto found = names.find(std::string_view(argument).substr(0, argument.size() - 1));
    if (found == names.end() || is_switch(*found->second)) continue;
    arguments[i].pop_back();
    arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::string());
  }
}

tl::unexpected<Error> unknown_option(std::string_view argument, const Names& names) {
  const std::string_view name = argument.substr(0, argument.find('='));
  std::vector<std::string> candidates;
  for (const auto& [candidate, option] : names)
    if (!option->hidden && candidate.starts_with("--")) candidates.push_back(candidate);
  return fail(Code::kUsage, "unknown option '{}'{}", printable(name), did_you_mean(name, candidates));
}

/// CLI11 always takes the first value, whatever it looks like: so one can only be missing at the end of the line.
tl::unexpected<Error> missing_value(const std::vector<std::string>& arguments, const Names& names) {
  const std::string& last = arguments.back();
  auto found = names.find(last);
  if (found == names.end() && last.size() > 1) found = names.find(std::string("-") + last.back());
  if (found == names.end()) return fail(Code::kUsage, "an option's value is missing after '{}'", printable(last));
  return fail(Code::kUsage, "{} needs a value: {}", found->first, found->second->placeholder);
}

}  // namespace

Result<Line> parse_line(std::span<const Option> table, const std::vector<std::string>& arguments, CommandForm form) {
  const Names names = all_names(table);
  Line line;
  std::vector<std::string> left = arguments;
  const auto separator = std::find(left.begin(), left.end(), "--");
  if (form != CommandForm::kFirstPositional && separator != left.end()) {
    line.separator = true;
    line.command.assign(separator + 1, left.end());
    left.erase(separator, left.end());
  }
  split_empty_values(left, names);

  CLI::App app;
  std::vector<CLI::Option*> handles(table.size(), nullptr);
  try {
    app.set_help_flag();
    app.allow_windows_style_options(false);
    app.allow_extras();
    if (form == CommandForm::kFirstPositional) app.prefix_command();
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (is_positional(table[i])) continue;
      handles[i] = is_switch(table[i]) ? app.add_flag(cli11_names(table[i])) : app.add_option(table[i].names);
      if (!is_switch(table[i])) handles[i]->expected(1)->type_size(1)->allow_extra_args(false);
      handles[i]->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
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
  if (form == CommandForm::kFirstPositional) {
    if (!rest.empty() && rest.front().size() > 1 && rest.front().starts_with('-') && rest.front() != "--")
      return unknown_option(rest.front(), names);
    if (!rest.empty() && rest.front() == "--") rest.erase(rest.begin());
    line.command = std::move(rest);
    return line;
  }
  for (std::string& argument : rest) {
    if (argument.size() > 1 && argument.starts_with('-')) return unknown_option(argument, names);
    line.positionals.push_back(std::move(argument));
  }
  if (form == CommandForm::kNone) {  // "--" only ends the options: what follows are positionals, whatever they look like
    line.positionals.insert(line.positionals.end(), line.command.begin(), line.command.end());
    line.command.clear();
  }
  return line;
}

}  // namespace tfd::cli
