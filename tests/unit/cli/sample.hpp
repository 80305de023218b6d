#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A tool with an option of every kind, run in-process. Thread rule: one thread.
#include <string>
#include <vector>

#include "tfd/cli/tool.hpp"

namespace tfd::cli {

/// An environment of one variable.
inline Environment with(std::string name, std::string value) {
  Environment env;
  env.set(std::move(name), std::move(value));
  return env;
}

struct Sample {
  std::string kind;
  std::vector<std::string> files;
  std::string cluster;
  std::string format = "json";
  bool wait = false;
  bool keep = true;
  int count = 3;
  std::int64_t big = 0;
  double rate = 0.5;
  std::vector<std::string> set;
  std::optional<std::string> name;
  std::optional<std::int64_t> port;
  Duration timeout = std::chrono::seconds(30);
  std::optional<Duration> grace;
  std::optional<Bytes> limit;

  int code = -1;
  std::string out, err;
  Io io;

  Tool tool() {
    return {
        .name = "tfd-sample",
        .summary = "show one option of every kind",
        .options =
            {{.names = "KIND", .help = "Which kind", .target = &kind, .choices = {"local", "slurm"}},
             {.names = "FILES", .help = "More files", .target = &files, .complete = "file"},
             {"--cluster", "FILE|-", "The cluster spec", &cluster},
             {.names = "-f,--format",
              .placeholder = "FORMAT",
              .help = "How the result is printed",
              .target = &format,
              .choices = {"json", "tf-config", "table"}},
             {"-w,--wait", "", "Wait until every task is ready", &wait},
             {.names = "--keep", .help = "Keep the servers", .target = &keep, .negatable = true},
             {.names = "-n,--count", .placeholder = "N", .help = "How many", .target = &count, .least = 1, .most = 100},
             {"--big", "N", "A large number", &big},
             {"--rate", "X", "A number", &rate},
             {"--set", "PATH=VALUE", "Override a value of the program", &set},
             {"--name", "NAME", "A name", &name},
             {.names = "--port", .placeholder = "PORT", .help = "A port", .target = &port, .least = 0, .most = 65535},
             {.names = "--timeout",
              .placeholder = "DUR",
              .help = "Give up after this",
              .target = &timeout,
              .env = "TFD_TIMEOUT"},
             {"--grace", "DUR", "Time to stop", &grace},
             {"--limit", "SIZE", "Largest size", &limit},
             {.names = "--secret", .help = "Not shown", .target = &wait, .hidden = true}},
        .examples = {{"tfd-sample local", "the local one"},
                     {"tfd-sample slurm --wait --timeout 5m --cluster spec.json --set train.steps=10 --format table",
                      "one that is too long for a line"},
                     {"tfd-sample local -- true", "with a command"}},
        .takes_command = true,
        .group = "training",
        .run = [](Io&) -> Result<ExitCode> { return ExitCode::kDone; }};
  }

  /// Runs it, or `other`; gathers exit code, stdout and stderr.
  Sample& run(const std::vector<std::string>& arguments, Environment env = {}) {
    return run(tool(), arguments, std::move(env));
  }
  Sample& run(const Tool& other, const std::vector<std::string>& arguments, Environment env = {}) {
    out.clear();
    err.clear();
    io = Io{};
    io.out = Output(&out);
    io.err = Output(&err);
    io.env = std::move(env);
    code = run_tool_with(other, arguments, io);
    return *this;
  }
};

}  // namespace tfd::cli
