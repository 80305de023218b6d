// SPDX-License-Identifier: Apache-2.0
//
// tfd-status: how every task of a cluster is, what it does and what it waits for.
#include <algorithm>
#include <chrono>

#include "key_option.hpp"
#include "status/ask.hpp"
#include "status/report.hpp"
#include "tfd/base/units.hpp"
#include "tfd/cli/tool.hpp"
#include "tfd/resolve/spec_source.hpp"
#include "tfd/runtime/key.hpp"

namespace {

using namespace tfd;

struct Asked {
  std::string cluster;
  std::string key_file;
  std::string format = "table";
  bool json = false;
  bool wait = false;
  bool watch = false;
  Duration interval = std::chrono::seconds(2);
  std::optional<Duration> timeout;
};

std::vector<cli::Option> options(Asked& a) {
  return {
      {.names = "--cluster",
       .placeholder = "FILE|-|KIND",
       .help = "The cluster spec; else stdin, else TF_CONFIG",
       .target = &a.cluster},
      key_option(a.key_file),
      {.names = "--format",
       .placeholder = "FORMAT",
       .help = "How to print what is seen",
       .target = &a.format,
       .choices = {"table", "json"}},
      {.names = "--json", .help = "Short for --format json", .target = &a.json},
      {.names = "--wait", .help = "Wait until every task is ready", .target = &a.wait},
      {.names = "--watch", .help = "Look again and again, until interrupted", .target = &a.watch},
      {.names = "--interval", .placeholder = "DUR", .help = "Between two looks of --watch", .target = &a.interval},
      {.names = "--timeout",
       .placeholder = "DUR",
       .help = "How long to wait for answers",
       .target = &a.timeout,
       .env = "TFD_TIMEOUT",
       .shown_default = "2s, with --wait 30s"},
  };
}

using Reports = std::vector<status::TaskReport>;

bool all_ready(const Reports& reports) { return std::ranges::all_of(reports, &status::TaskReport::is_ready); }

Result<void> print(const Asked& a, const Reports& reports, cli::Io& io) {
  return io.out.write(a.json || a.format == "json" ? status::as_json(reports) : status::as_table(reports));
}

/// Until it is interrupted, or its reader goes away: both end the process.
Result<cli::ExitCode> watch(const Asked& a, status::Tasks& tasks, Duration patience, cli::Io& io) {
  const bool is_table = !a.json && a.format == "table";
  for (bool first = true;; first = false) {
    const Deadline deadline = Deadline::after(a.interval);
    const Reports reports = tasks.ask(patience);
    if (is_table && io.out.is_terminal())
      TFD_TRY(io.out.write("\033[H\033[2J"));
    else if (is_table && !first)
      TFD_TRY(io.out.write("\n"));
    TFD_TRY(print(a, reports, io));
    tasks.wait_for_change(deadline);
  }
}

Result<cli::ExitCode> run(const Asked& a, cli::Io& io) {
  if (a.wait && a.watch) return fail(Code::kUsage, "--wait and --watch exclude each other");
  if (a.interval <= Duration::zero()) return fail(Code::kUsage, "--interval must be above 0");
  const Duration timeout = a.timeout.value_or(std::chrono::seconds(a.wait ? 30 : 2));
  const Deadline deadline = Deadline::after(timeout);
  resolve::InputReader input(io.in_fd);
  const Deadline for_spec = a.wait || a.timeout ? deadline : Deadline::after(std::chrono::seconds(30));
  const auto config =
      TFD_TRY(resolve::find_spec({.cluster = a.cluster}, input, io.env, for_spec, io.log.for_room("resolve")));
  const auto make_endpoint = runtime::endpoints_under(TFD_TRY(runtime::find_key(a.key_file, config, io.env)));
  auto tasks = TFD_TRY(status::Tasks::connect(config.cluster, make_endpoint, io.log.for_room("transport")));
  if (a.watch) return watch(a, tasks, timeout, io);
  const Reports reports = a.wait ? tasks.wait(deadline, [] { return false; }) : tasks.ask(timeout);
  TFD_TRY(print(a, reports, io));
  if (all_ready(reports)) return cli::ExitCode::kDone;
  if (a.wait)
    return fail(Code::kDeadlineExceeded, "waited {} for {}", format_duration(timeout), status::missing(reports));
  return cli::ExitCode::kNo;
}

}  // namespace

int main(int argc, char** argv) {
  Asked asked;
  return tfd::cli::run_tool(
      {.name = "tfd-status",
       .summary = "show what every task of a cluster is doing",
       .options = options(asked),
       .examples = {{"tfd-status --cluster spec.json", "a table; exit code 1 when a task isn't up"},
                    {"tfd-status --cluster spec.json --wait --timeout 30s && tfd-coordinate program.json",
                     "begin when all are ready"},
                    {"tfd-status --cluster spec.json --json | jq -r '.tasks[] | select(.state != \"up\").task'",
                     "the tasks that aren't up"}},
       .group = "cluster",
       .environment = {key_variable()},
       .run = [&](tfd::cli::Io& io) { return run(asked, io); }},
      argc, argv);
}
