// SPDX-License-Identifier: Apache-2.0
//
// tfd-checkpoint: looks into checkpoints, compares, averages and converts them.
#include <algorithm>

#include "checkpoint/commands.hpp"
#include "main.hpp"
#include "tfd/base/text.hpp"

namespace {

using namespace tfd;
using checkpoint_tool::Asked;
using checkpoint_tool::Command;

std::vector<cli::Option> options(Asked& a) {
  std::vector<std::string> names;
  for (const Command& command : checkpoint_tool::commands()) names.emplace_back(command.name);
  return {
      {.names = "COMMAND",
       .help = "The command",
       .target = &a.command,
       .choices = std::move(names),
       .aliases = {{"ls", "list"}},
       .required = true},
      {.names = "PATH",
       .help = "A checkpoint or another safetensors file, or the directory of a training",
       .target = &a.paths,
       .complete = "file"},
      {.names = "-o,--output",
       .placeholder = "FILE|DIR",
       .help = "With average and convert: the file to write, NAME.safetensors; for convert also a folder of .npy files",
       .target = &a.output},
      {.names = "--variable",
       .placeholder = "NAME",
       .help = "With show, diff, average and convert: only this one; may be repeated",
       .target = &a.variables,
       .shown_default = "all"},
      {.names = "--tolerance",
       .placeholder = "DIFFERENCE",
       .help = "With diff: values that differ by no more are equal",
       .target = &a.tolerance},
      {.names = "--step",
       .placeholder = "N",
       .help = "With average and convert: the step that the new file says",
       .target = &a.step,
       .shown_default = "that of the last checkpoint",
       .least = 0},
      {.names = "--json",
       .help = "With list, verify, show and diff: print a line of JSON for each checkpoint or variable",
       .target = &a.json},
  };
}

Result<cli::ExitCode> run(const Asked& a, cli::Io& io) {
  const Command& command = *std::ranges::find(checkpoint_tool::commands(), a.command, &Command::name);
  if (a.paths.size() < command.least || a.paths.size() > command.most)
    return fail(Code::kUsage, "{} takes {}, not {}", command.name, command.takes, counted(a.paths.size(), "path"));
  if (command.writes && a.output.empty()) return fail(Code::kUsage, "{} needs --output, to write to", command.name);
  if (!command.writes && !a.output.empty())
    return fail(Code::kUsage, "{} writes no file: --output is for average and convert", command.name);
  if (a.tolerance < 0) return fail(Code::kUsage, "--tolerance: {} is less than 0", a.tolerance);
  return command.run(a, io);
}

}  // namespace

int TFD_MAIN(tfd_checkpoint)(int argc, char** argv) {
  Asked asked;
  return tfd::cli::run_tool(
      {.name = "tfd-checkpoint",
       .summary = "look into checkpoints, compare, average and convert them",
       .usage = "COMMAND [OPTIONS] PATH…",
       .options = options(asked),
       .examples = {{"tfd-checkpoint list ck", "the checkpoints of a training"},
                    {"tfd-checkpoint diff ck/step-00000200.safetensors ck", "the changes of the steps since then"},
                    {"tfd-checkpoint average ck -o mean.safetensors", "the mean of all that are kept"}},
       .group = "training",
       .run = [&](tfd::cli::Io& io) { return run(asked, io); }},
      argc, argv);
}
