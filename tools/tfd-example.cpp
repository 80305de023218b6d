// SPDX-License-Identifier: Apache-2.0
//
// tfd-example: lists the examples that come with tfd, or copies one to a directory of the user's own.
#include "example/examples.hpp"
#include "main.hpp"
#include "tfd/base/text.hpp"
#include "tfd/cli/tool.hpp"

namespace {

using namespace tfd;

struct Asked {
  std::string name, directory;
  bool names = false;
};

std::vector<cli::Option> options(Asked& a) {
  return {
      {.names = "NAME",
       .help = "The example to copy; without it, all are listed",
       .target = &a.name,
       .complete = "tfd-example --list-names"},
      {.names = "DIR",
       .help = "The directory to make, or an empty one",
       .target = &a.directory,
       .shown_default = "./NAME",
       .complete = "dir"},
      {.names = "--list-names", .help = "Print the names alone, for completions", .target = &a.names, .hidden = true},
  };
}

Result<cli::ExitCode> list_all(const std::filesystem::path& folder, bool names_only, cli::Io& io) {
  const auto all = TFD_TRY(example::list(folder));
  std::size_t widest = 0;
  for (const auto& [name, summary] : all) widest = std::max(widest, name.size());
  std::string text;
  for (const auto& [name, summary] : all)
    text += names_only ? name + "\n" : fmt::format("{:<{}}  {}\n", name, widest, summary);
  TFD_TRY(io.out.write(text));
  return cli::ExitCode::kDone;
}

Result<cli::ExitCode> run(const Asked& a, cli::Io& io) {
  const auto folder = TFD_TRY(example::find_folder());
  if (a.name.empty()) return list_all(folder, a.names, io);
  const std::filesystem::path to = a.directory.empty() ? a.name : a.directory;
  const std::string begin = TFD_TRY(example::copy(folder, a.name, to)).string();
  TFD_TRY(io.out.write(begin + "\n"));
  if (begin.ends_with(".json")) {
    const std::string first = example::first_command(begin);
    (void)io.err.write(fmt::format("hint: {} says what to try{}{}\n", (to / "README.md").string(),
                                   first.empty() ? "" : "; first of all: ", first));
  }
  return cli::ExitCode::kDone;
}

}  // namespace

int TFD_MAIN(tfd_example)(int argc, char** argv) {
  Asked asked;
  return tfd::cli::run_tool(
      {.name = "tfd-example",
       .summary = "list the examples, or copy one to a directory of your own",
       .options = options(asked),
       .examples = {{"tfd-example", "the examples, with descriptions"},
                    {"tfd-example digits && tfd-run digits/program.json", "copy one, and train it"},
                    {"tfd-run \"$(tfd-example linear /tmp/first)\"", "the same in one line, elsewhere"}},
       .group = "training",
       .run = [&](tfd::cli::Io& io) { return run(asked, io); }},
      argc, argv);
}
