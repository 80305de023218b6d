// SPDX-License-Identifier: Apache-2.0
#include "examples.hpp"

#include <algorithm>

#include "tfd/base/file.hpp"
#include "tfd/base/shell.hpp"
#include "tfd/base/text.hpp"

namespace tfd::example {
namespace {

namespace fs = std::filesystem;

/// The title of its page, without the name: "# Digits: a classifier on parameter servers".
std::string summary_of(const fs::path& example) {
  const std::string page = load_file((example / "README.md").string()).value_or("");
  std::string title = page.substr(0, page.find('\n'));
  title.erase(0, std::min(title.size(), title.find_first_not_of("# ")));
  if (const auto colon = title.find(": "); colon != std::string::npos) title.erase(0, colon + 2);
  return title;
}

/// Copies files that a program names as "../EXAMPLE/FILE" beside it, and names them so.
Result<void> bring_along(const fs::path& from, const fs::path& to) {
  constexpr std::string_view kAbove = "\"../";
  const fs::path program = to / "program.json";
  std::string text = TFD_TRY(load_file(program.string()));
  for (std::size_t at = 0; (at = text.find(kAbove, at)) != std::string::npos;) {
    const std::size_t begin = at + 1, end = text.find('"', begin);
    const fs::path named = text.substr(begin, end - begin);
    std::error_code error;
    fs::copy_file(from / named, to / named.filename(), fs::copy_options::skip_existing, error);
    if (error) return fail_errno(error.value(), fmt::format("cannot copy {}", (from / named).string()));
    text.replace(begin, end - begin, named.filename().string());
    at = begin;
  }
  return save_file(program.string(), text);
}

/// "DIR/" as it is typed in a shell, before a name.
std::string folder_word(const fs::path& folder) { return shell_word(folder.string()) + "/"; }

/// Has the page of a copy name its files as they are named where the copy was made: "examples/digits/" is "DIR/".
Result<void> name_as_copied(const fs::path& page, const std::string& example) {
  const std::string there = "examples/" + example + "/", here = folder_word(page.parent_path());
  std::string text = TFD_TRY(load_file(page.string()));
  for (std::size_t at = 0; (at = text.find(there, at)) != std::string::npos; at += here.size())
    text.replace(at, there.size(), here);
  return save_file(page.string(), text);
}

}  // namespace

Result<fs::path> find_folder() {
  std::error_code error;
  const fs::path beside = own_prefix() / "share" / "tfd" / "examples";
  for (const fs::path& folder : {beside, fs::path(TFD_EXAMPLES_CONFIGURED)})
    if (!folder.empty() && fs::is_directory(folder, error)) return folder;
  return fail(Code::kNotFound, "the examples aren't at {}: tfd was installed without them", beside.string());
}

Result<std::vector<Example>> list(const fs::path& folder) {
  std::vector<Example> out;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (fs::is_regular_file(entry->path() / "README.md"))
      out.push_back({entry->path().filename().string(), summary_of(entry->path())});
  if (error) return fail_errno(error.value(), fmt::format("cannot read {}", folder.string()));
  std::ranges::sort(out, {}, &Example::name);
  return out;
}

Result<fs::path> copy(const fs::path& folder, const std::string& name, const fs::path& to) {
  std::vector<std::string> names;
  for (const Example& one : TFD_TRY(list(folder))) names.push_back(one.name);
  if (std::ranges::find(names, name) == names.end())
    return fail(Code::kNotFound, "no example '{}'{}", printable(name), did_you_mean(name, names));
  std::error_code error;
  const bool is_there = fs::exists(to, error);
  if (is_there && (!fs::is_directory(to, error) || !fs::is_empty(to, error)))
    return fail(Code::kInvalidArgument, "{} exists, and isn't an empty directory: name another one", to.string());
  fs::create_directories(to, error);
  if (!error) fs::copy(folder / name, to, fs::copy_options::recursive, error);
  if (!error) fs::remove_all(to / "__pycache__", error);  // what pip has compiled
  if (error) {
    auto failed = fail_errno(error.value(), fmt::format("cannot make {}", to.string()));
    if (failed.value().code == Code::kNotFound) failed.value().code = Code::kSystem;  // 65 is another example's name
    return failed;
  }
  // Whoever installed them may have kept them from being written to.
  for (fs::recursive_directory_iterator entry(to, error), end; !error && entry != end; entry.increment(error))
    fs::permissions(entry->path(), fs::perms::owner_write, fs::perm_options::add, error);
  fs::permissions(to, fs::perms::owner_write, fs::perm_options::add, error);
  TFD_TRY(name_as_copied(to / "README.md", name));
  if (!fs::exists(to / "program.json")) return to / "README.md";
  TFD_TRY(bring_along(folder / name, to));
  return to / "program.json";
}

std::string first_command(const fs::path& program) {
  const std::string page = load_file((program.parent_path() / "README.md").string()).value_or("");
  const std::size_t fence = page.find("\n```\n");
  if (fence == std::string::npos) return "";
  const std::size_t begin = fence + 5, end = page.find('\n', begin);
  const std::string line = page.substr(begin, end - begin);
  const std::string word = folder_word(program.parent_path()) + program.filename().string();
  if (line.ends_with(word)) return "tfd-run " + word;  // no option is needed: the shortest way
  return line.find(word) == std::string::npos ? "" : line;
}

}  // namespace tfd::example
