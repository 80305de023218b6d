// SPDX-License-Identifier: Apache-2.0
//
// tfd NAME ARG…: executes tfd-NAME, found beside this executable or in PATH. `tfd help` asks each tool for its summary.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "main.hpp"
#include "tfd/base/descriptors.hpp"
#include "tfd/base/executable.hpp"
#include "tfd/base/file.hpp"
#include "tfd/base/text.hpp"
#include "tfd/cli/tool.hpp"
#include "tfd/process/child.hpp"
#include "tfd/process/fd.hpp"

namespace {

using namespace tfd;
namespace fs = std::filesystem;
using cli::ExitCode;
using cli::Io;

constexpr std::string_view kPrefix = "tfd-";
constexpr auto kAnswerTime = std::chrono::seconds(5);  // timeout of --dump-cli for programs called tfd-* in PATH

fs::path own_directory() { return own_executable().parent_path(); }

/// Maps "serve" to ".../tfd-serve": tools beside this executable win over PATH, earlier entries over later ones.
std::map<std::string, fs::path> find_tools(const Environment& env) {
  std::vector<std::string> directories = split(env.get("PATH"), ':');
  directories.insert(directories.begin(), own_directory().string());
  std::map<std::string, fs::path> tools;
  for (const std::string& directory : directories) {
    if (directory.empty()) continue;
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
      const std::string file = entry->path().filename().string();
      std::error_code ignored;
      if (!file.starts_with(kPrefix) || file.find_first_of(".~ ") != std::string::npos) continue;
      if (!entry->is_regular_file(ignored) || ::access(entry->path().c_str(), X_OK) != 0) continue;
      tools.emplace(file.substr(kPrefix.size()), entry->path());
    }
  }
  return tools;
}

/// `also`: what else may be meant by a name that is unknown.
Result<fs::path> find_tool(const std::string& name, const Environment& env, const std::vector<std::string>& also = {}) {
  const auto tools = find_tools(env);
  if (const auto found = tools.find(name); found != tools.end()) return found->second;
  for (const std::string_view like : {"train", "fit", "evaluate", "predict"})
    if (name == like)
      return fail(Code::kUsage,
                  "unknown command '{}': tfd run trains, evaluates and predicts on this host, tfd coordinate "
                  "on a cluster",
                  name);
  if (name == "init" || name == "new")
    return fail(Code::kUsage,
                "unknown command '{}': tfd example NAME copies an example, tfd help export says how a model becomes a "
                "program",
                name);
  std::vector<std::string> names{"help", "schema"};
  for (const auto& [known, path] : tools) names.push_back(known);
  names.insert(names.end(), also.begin(), also.end());
  return fail(Code::kUsage, "unknown command '{}'{}", printable(name), did_you_mean(name, names));
}

/// Executes another program in place of this process; returns only on failure.
int become(const std::string& path, std::vector<std::string> arguments, Io& io) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  restore_descriptor_limit();
  ::execvp(path.c_str(), argv.data());
  const int error = errno;
  const Error failure = fail_errno(error, fmt::format("cannot run {}", path)).value();
  (void)io.err.write(cli::error_line("tfd", failure));
  return error == ENOENT ? 127 : 126;
}

/// Captures a program's stdout; nullopt if it fails.
std::optional<std::string> output_of(std::vector<std::string> argv, const Environment& env) {
  auto pipe = process::make_pipe();
  const process::Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!pipe || !null) return std::nullopt;
  auto child = process::Child::start(
      {.argv = std::move(argv), .environment = env, .stdout_fd = pipe->write.get(), .stderr_fd = null.get()});
  pipe->write.reset();
  if (!child) return std::nullopt;
  const Deadline deadline = Deadline::after(kAnswerTime);
  auto text = process::read_all(pipe->read.get(), deadline, std::size_t{1} << 20);
  const auto status = child->wait(deadline);
  if (!text || !status || status->code != 0) return std::nullopt;
  return *std::move(text);
}

struct Listed {
  std::string name;
  std::string summary;
};

/// The tools by group, with their own summaries.
std::map<std::string, std::vector<Listed>> describe_tools(const Environment& env) {
  std::map<std::string, std::vector<Listed>> groups;
  for (const auto& [name, path] : find_tools(env)) {
    const std::string text = output_of({path.string(), "--dump-cli"}, env).value_or("");
    const auto dump = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (dump.is_object() && dump.value("name", "") == fmt::format("{}{}", kPrefix, name)) {
      groups[dump.value("group", "other")].push_back({name, dump.value("summary", "")});
    } else {
      groups["other"].push_back({name, "(" + path.string() + " doesn't describe itself)"});
    }
  }
  return groups;
}

/// Pages that belong to no tool: `tfd help program`.
struct Guide {
  std::string_view name, what;
  std::string_view page = name;  // tfd-PAGE, a man page, or PAGE.md
};
constexpr std::array<Guide, 14> kGuides{{
    {"tutorial", "from a Keras model to a Slurm job in ten commands"},
    {"export", "models of JAX, Keras, TensorFlow and PyTorch as programs"},
    {"program", "the file of a program"},
    {"cluster", "the spec of a cluster"},
    {"closures", "the lines of tfd-coordinate --closures"},
    {"exit", "exit codes, and what to do"},
    {"tensorflow", "what its names are called here", "migrate"},
    {"torchrun", "what its options are called here", "migrate"},
    {"accelerate", "the same of its launcher", "migrate"},
    {"slurm", "batch scripts: trainings, sweeps, other frameworks"},
    {"kubernetes", "jobs and parameter servers in pods"},
    {"systemd", "a unit for each task of a cluster that stays"},
    {"ci", "tests that have a cluster around them"},
    {"operating", "ports, keys, memory, limits and failures"},
}};

std::vector<std::string> guides() {
  std::vector<std::string> names;
  for (const Guide& guide : kGuides) names.emplace_back(guide.name);
  return names;
}

Result<std::string> overview(Io& io) {
  std::string text =
      "tfd: TensorFlow's tf.distribute for the shell\n\nUsage: tfd COMMAND [ARG…]   the same as tfd-COMMAND [ARG…]\n";
  const auto groups = describe_tools(io.env);
  std::size_t widest = 0;
  for (const Guide& guide : kGuides) widest = std::max(widest, guide.name.size());
  for (const auto& [group, tools] : groups)
    for (const Listed& tool : tools) widest = std::max(widest, tool.name.size());
  for (const auto& [group, tools] : groups) {
    text += fmt::format("\n{}:\n", printable(group));
    for (const Listed& tool : tools)
      text += fmt::format("  {:<{}}  {}", printable(tool.name), widest,
                          cli::fill(printable(tool.summary), widest + 4, widest + 4));
  }
  if (groups.empty())
    text += fmt::format("\nNo tfd-* tool is installed beside {} or in PATH.\n", own_directory().string());
  text += fmt::format("\nschemas:\n  {:<{}}  the JSON Schema of programs, cluster specs or events\n", "schema", widest);
  text += "\nguides:\n";
  for (const Guide& guide : kGuides) text += fmt::format("  {:<{}}  {}\n", guide.name, widest, guide.what);
  return text + "\nMore: tfd help COMMAND or GUIDE; man tfd\n";
}

/// Has what is executed next write UTF-8, as all tools do: where the locale has no such characters, man warns of each.
void write_utf8(const Environment& env) {
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (locale.empty()) locale = env.get(name);
  if (locale.find("UTF-8") == std::string::npos && locale.find("utf8") == std::string::npos)
    ::setenv("LC_ALL", "C.UTF-8", 1);
}

/// What man is asked for a page, such as tfd-run(1) or tfd-program(5): the file beside this executable, in a build's
/// folder or an installation's, else its name, if man knows it. Empty: there is no such page, or no man.
std::vector<std::string> manual_of(const std::string& name, const Environment& env) {
  // A system without pages has a script of this name that says so, and succeeds.
  if (!output_of({"man", "--version"}, env).value_or("").starts_with("man")) return {};
  const std::string page = fmt::format("{}{}", kPrefix, name);
  const fs::path own = own_prefix();
  for (const char section : {'1', '5', '7'})
    for (const fs::path& folder : {own / "man", own / "share" / "man" / fmt::format("man{}", section)}) {
      const fs::path file = folder / fmt::format("{}.{}", page, section);
      std::error_code ignored;
      if (fs::exists(file, ignored)) return {"man", "-l", file.string()};
    }
  if (output_of({"man", "-w", page}, env)) return {"man", page};
  return {};
}

/// The file that has a page as text: a rendered man page, or a guide as it was written. It lies beside this executable,
/// in a build's folder or an installation's. Empty: there is none.
fs::path text_of(const std::string& name) {
  for (const fs::path& folder : {own_prefix() / "man", own_prefix() / "share" / "tfd" / "pages"})
    for (const std::string& file : {fmt::format("{}{}.txt", kPrefix, name), name + ".md"}) {
      std::error_code ignored;
      if (fs::exists(folder / file, ignored)) return folder / file;
    }
  return {};
}

/// Prints a file; on a terminal by a pager, if there is one.
Result<int> show(const fs::path& file, Io& io) {
  if (io.out.is_terminal())
    for (const std::string pager : {"less", "more"})
      if (output_of({pager, "--version"}, io.env)) return become(pager, {pager, file.string()}, io);
  TFD_TRY(io.out.write(TFD_TRY(load_file(file.string()))));
  return 0;
}

/// Prints a JSON Schema, which lies beside this executable as manual_of()'s pages do.
Result<int> schema(const std::vector<std::string>& names, Io& io) {
  const std::vector<std::string> known{"program", "cluster", "events"};
  if (names.size() > 1) return fail(Code::kUsage, "unexpected argument '{}'", printable(names[1]));
  const std::string name = names.empty() ? known.front() : names.front();
  if (name == "--help" || name == "-h") {
    TFD_TRY(io.out.write(
        "Usage: tfd schema [program|cluster|events]\n\nPrints the JSON Schema of programs (default), cluster "
        "specs or events.\n"));
    return 0;
  }
  if (std::ranges::find(known, name) == known.end())
    return fail(Code::kUsage, "no schema '{}'{} (there: {})", printable(name), did_you_mean(name, known),
                join_words(known));
  const std::string file = name + ".schema.json";
  for (const fs::path& folder : {own_prefix() / "share" / "tfd" / "schema", own_prefix() / "share" / "schema"})
    if (const auto text = load_file((folder / file).string())) {
      TFD_TRY(io.out.write(*text));
      return 0;
    }
  return fail(Code::kFailedPrecondition, "the schema isn't at {}: tfd was installed without it",
              (own_prefix() / "share" / "tfd" / "schema" / file).string());
}

Result<int> help(const std::vector<std::string>& names, Io& io) {
  if (names.empty()) {
    TFD_TRY(io.out.write(TFD_TRY(overview(io))));
    return 0;
  }
  if (names.size() > 1) return fail(Code::kUsage, "unexpected argument '{}'", printable(names[1]));
  std::string name = names.front();
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  for (const std::string_view framework : {"keras", "jax", "flax", "pytorch", "torch"})
    if (name == framework) name = "export";
  const auto guide = std::ranges::find(kGuides, name, &Guide::name);
  const bool is_guide = guide != kGuides.end();
  if (is_guide) name = guide->page;
  if (is_guide || io.out.is_terminal()) {
    if (const auto manual = manual_of(name, io.env); !manual.empty()) {
      write_utf8(io.env);
      return become("man", manual, io);
    }
    if (const fs::path text = text_of(name); !text.empty()) return show(text, io);
    if (is_guide) return fail(Code::kFailedPrecondition, "the page of {} isn't installed", printable(names.front()));
  }
  if (name == "schema") return schema({"--help"}, io);
  const fs::path path = TFD_TRY(find_tool(name, io.env, guides()));
  return become(path.string(), {path.string(), "--help"}, io);
}

Result<int> run(Io& io) {
  if (io.command.empty()) {
    TFD_TRY(io.err.write("tfd: a command is missing\n\n" + TFD_TRY(overview(io))));
    return static_cast<int>(ExitCode::kUsage);
  }
  const std::string name = io.command.front();
  if (name == "help") return help({io.command.begin() + 1, io.command.end()}, io);
  if (name == "schema") return schema({io.command.begin() + 1, io.command.end()}, io);
  const fs::path path = TFD_TRY(find_tool(name, io.env));
  std::vector<std::string> argv{path.string()};
  argv.insert(argv.end(), io.command.begin() + 1, io.command.end());
  return become(path.string(), std::move(argv), io);
}

}  // namespace

int TFD_MAIN(tfd)(int argc, char** argv) {
  std::string command;  // only for the table: words after the options are in Io::command
  return cli::run_tool(
      {.name = "tfd",
       .summary = "run a tfd tool, or list them",
       .usage = "[OPTIONS] COMMAND [ARG…]",
       .options = {{.names = "COMMAND",
                    .help = "The tool to run: serve means tfd-serve; help [COMMAND] explains; schema [NAME] prints",
                    .target = &command,
                    .words = guides()}},  // what may follow help besides
       .examples = {{"tfd help", "the tools by group, with what they are for"},
                    {"tfd help serve", "the man page of tfd-serve"},
                    {"tfd schema program", "what a program may consist of, as a JSON Schema"},
                    {"tfd resolve local --jobs worker=2,ps=1 | tfd serve | tfd coordinate program.json",
                     "the same as with tfd-resolve, tfd-serve and tfd-coordinate"}},
       .command_is_positional = true,
       .group = "general",
       .run_raw = run},
      argc, argv);
}
