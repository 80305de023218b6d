// SPDX-License-Identifier: Apache-2.0
#include "common.hpp"

#include <iterator>

#include "key_option.hpp"
#include "tfd/base/text.hpp"

namespace tfd::training {

std::vector<cli::Option> options(Common& common, std::vector<cli::Option> own, Words words) {
  std::vector<cli::Option> out{
      {.names = "PROGRAM",
       .help = "The program file, JSON",
       .target = &common.program,
       .required = true,
       .complete = "file"},
      {.names = "--cluster", .placeholder = "FILE|-|KIND", .help = std::move(words.cluster), .target = &common.cluster},
      {.names = "--jobs",
       .placeholder = "JOB=N,…",
       .help = "The jobs of a cluster that Slurm or MPI knows, such as ps=2,worker=3",
       .target = &common.jobs},
      {.names = "--task",
       .placeholder = "JOB:INDEX",
       .help = "Which task this is, where the spec doesn't say",
       .target = &common.task},
  };
  std::move(own.begin(), own.end(), std::back_inserter(out));
  std::vector<cli::Option> rest{
      {.names = "--set",
       .placeholder = "PATH=VALUE",
       .help = "Override a value of the program; may be repeated",
       .target = &common.overrides},
      {.names = "--check", .help = std::move(words.check), .target = &common.check},
      {.names = "--keep-servers", .help = std::move(words.keep_servers), .target = &common.keep_servers},
      {.names = "--insecure", .help = std::move(words.insecure), .target = &common.insecure},
      key_option(common.key_file),
      {.names = "--data-root", .placeholder = "DIR", .help = std::move(words.data_root), .target = &common.data_root},
      {.names = "--timeout",
       .placeholder = "DUR",
       .help = std::move(words.timeout),
       .target = &common.timeout,
       .env = "TFD_TIMEOUT"},
      {.names = "--grace",
       .placeholder = "DUR",
       .help = "From SIGTERM or SIGINT to the end, checkpoint included",
       .target = &common.grace},
  };
  std::move(rest.begin(), rest.end(), std::back_inserter(out));
  return out;
}

Result<cluster::ClusterConfig> find_cluster(const Common& common, resolve::InputReader& input, cli::Io& io) {
  std::optional<cluster::TaskId> task;
  if (!common.task.empty()) task = TFD_TRY(cli::as_usage(cluster::parse_task(common.task), "--task"));
  const resolve::SpecSource source{.cluster = common.cluster, .jobs = common.jobs, .task = std::move(task)};
  return resolve::find_spec(source, input, io.env, Deadline::after(common.timeout), io.log.for_room("resolve"));
}

std::string format_metrics(const strategy::Metrics& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics) text += fmt::format("{}{} {:.4g}", text.empty() ? "" : ", ", name, value);
  return text;
}

void say(cli::Io& io, std::string_view tool, const std::string& line) {
  if (!io.quiet) (void)io.err.write(fmt::format("{}: {}\n", tool, printable(line)));
}

void connect_sinks(strategy::TrainOptions& train, cli::Progress& progress, cli::Io& io) {
  train.write_event = [&io](std::string_view line) { return io.out.write(line); };
  train.on_progress = [&progress](const strategy::TrainProgress& at) {
    progress.update(at.step, format_metrics(at.metrics));
  };
  train.say = [&progress](const std::string& line) { progress.say(line); };
}

}  // namespace tfd::training
