// SPDX-License-Identifier: Apache-2.0
//
// tfd-resolve: who is in the cluster, and who am I. Prints one cluster spec, or becomes a command that has it in its
// environment.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>

#include "tfd/base/text.hpp"
#include "tfd/cli/tool.hpp"
#include "tfd/cluster/formats.hpp"
#include "tfd/cluster/json_value.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/resolve/hostlist.hpp"
#include "tfd/resolve/resolver.hpp"
#include "tfd/resolve/spec_source.hpp"

namespace {

using namespace tfd;

const std::vector<std::string> kKinds{"simple", "local", "tf-config", "slurm", "auto", "hostlist"};

struct Asked {
  std::string kind;
  std::vector<std::string> expressions;
  std::optional<std::string> jobs;
  std::vector<std::string> job;
  std::optional<std::string> task;
  std::optional<std::string> master;
  std::optional<std::string> rpc_layer;
  std::optional<std::string> environment;
  std::optional<std::int64_t> port_base;
  std::optional<std::int64_t> gpus_per_node;
  std::optional<std::int64_t> gpus_per_task;
  std::optional<std::string> tasks_per_node;
  bool auto_set_gpu = true;
  std::optional<std::string> compat;
  std::optional<std::string> format;
  bool json = false;
  std::optional<std::string> get;
  bool list_tasks = false;
  bool fold = false;
  Duration timeout = std::chrono::seconds(10);
};

std::vector<cli::Option> options(Asked& a) {
  return {
      {.names = "KIND",
       .help = "Where to look: given addresses, this host alone, TF_CONFIG, a Slurm job, whichever of the last two is "
               "there; hostlist only expands",
       .target = &a.kind,
       .choices = kKinds},
      {.names = "EXPR", .help = "hostlist: what to expand, such as n[1-3]", .target = &a.expressions},
      {.names = "--jobs",
       .placeholder = "NAME=COUNT,…",
       .help = "local, slurm: how many tasks each job has; slurm hands out the ranks to the jobs by name",
       .target = &a.jobs},
      {.names = "--job",
       .placeholder = "NAME=ADDR,…",
       .help = "simple: the addresses of a job; may be repeated",
       .target = &a.job},
      {.names = "--task",
       .placeholder = "JOB:INDEX",
       .help = "Which task this is, where it can't be known or is another one",
       .target = &a.task,
       .complete = "tfd-resolve --list-tasks"},
      {.names = "--master", .placeholder = "ADDR", .help = "simple: the master's address", .target = &a.master},
      {.names = "--rpc-layer",
       .placeholder = "NAME",
       .help = "simple, tf-config, slurm: what stands before :// in a master's URL; slurm: grpc unless given",
       .target = &a.rpc_layer},
      {.names = "--environment",
       .placeholder = "TEXT",
       .help = "simple, tf-config: the spec's environment",
       .target = &a.environment},
      {.names = "--port-base",
       .placeholder = "PORT",
       .help = "slurm: the first port of a host, instead of Slurm's reserved ones or those derived from job and step",
       .target = &a.port_base,
       .least = 0,
       .most = 65535},
      {.names = "--gpus-per-node",
       .placeholder = "N",
       .help = "slurm: instead of CUDA_VISIBLE_DEVICES, SLURM_GPUS_ON_NODE or nvidia-smi",
       .target = &a.gpus_per_node,
       .least = 0,
       .most = 65535},
      {.names = "--gpus-per-task",
       .placeholder = "N",
       .help = "slurm: instead of an equal share of the node's",
       .target = &a.gpus_per_task,
       .least = 0,
       .most = 65535},
      {.names = "--tasks-per-node",
       .placeholder = "N|HOST=N,…",
       .help = "slurm: instead of SLURM_STEP_TASKS_PER_NODE",
       .target = &a.tasks_per_node},
      {.names = "--auto-set-gpu",
       .help = "slurm: give each task its share of the GPUs in CUDA_VISIBLE_DEVICES",
       .target = &a.auto_set_gpu,
       .shown_default = "on",
       .negatable = true},
      {.names = "--compat",
       .placeholder = "WHAT",
       .help = "Answer exactly as TensorFlow 2.21, where that differs",
       .target = &a.compat,
       .choices = {"tensorflow"}},
      {.names = "--format",
       .placeholder = "FORMAT",
       .help = "The form of the answer",
       .target = &a.format,
       .choices = cluster::format_names(),
       .shown_default = "json"},
      {.names = "--json", .help = "Short for --format json", .target = &a.json},
      {.names = "--get", .placeholder = "PATH", .help = "Print one value bare, such as master", .target = &a.get},
      {.names = "--list-tasks", .help = "Print the tasks, one JOB:INDEX a line", .target = &a.list_tasks},
      {.names = "--fold", .help = "hostlist: the inverse, of EXPRs or of stdin's lines", .target = &a.fold},
      {.names = "--timeout", .placeholder = "DUR", .help = "For nvidia-smi to answer", .target = &a.timeout},
  };
}

resolve::Compat compat_of(const Asked& asked) {
  return asked.compat ? resolve::Compat::kTensorflow : resolve::Compat::kNone;
}

/// What is wrong on the command line is a usage error, whoever finds it.
template <class T>
Result<T> as_usage(Result<T> result, std::string_view option) {
  if (result) return result;
  Error error = std::move(result).error().within(option);
  error.code = Code::kUsage;
  return fail(std::move(error));
}

Result<void> refuse_foreign_options(const Asked& a) {
  struct Rule {
    std::string_view name;
    bool given;
    std::vector<std::string_view> kinds;
  };
  const Rule rules[] = {{"EXPR", !a.expressions.empty(), {"hostlist"}},
                        {"--jobs", a.jobs.has_value(), {"local", "slurm"}},
                        {"--job", !a.job.empty(), {"simple"}},
                        {"--task", a.task.has_value(), {"simple", "local", "tf-config", "slurm", "auto"}},
                        {"--master", a.master.has_value(), {"simple"}},
                        {"--rpc-layer", a.rpc_layer.has_value(), {"simple", "tf-config", "slurm"}},
                        {"--environment", a.environment.has_value(), {"simple", "tf-config"}},
                        {"--port-base", a.port_base.has_value(), {"slurm"}},
                        {"--gpus-per-node", a.gpus_per_node.has_value(), {"slurm"}},
                        {"--gpus-per-task", a.gpus_per_task.has_value(), {"slurm"}},
                        {"--tasks-per-node", a.tasks_per_node.has_value(), {"slurm"}},
                        {"--no-auto-set-gpu", !a.auto_set_gpu, {"slurm"}},
                        {"--fold", a.fold, {"hostlist"}},
                        {"--get", a.get.has_value(), {"simple", "local", "tf-config", "slurm", "auto"}},
                        {"--list-tasks", a.list_tasks, {"simple", "local", "tf-config", "slurm", "auto"}}};
  for (const Rule& rule : rules) {
    if (!rule.given || std::find(rule.kinds.begin(), rule.kinds.end(), a.kind) != rule.kinds.end()) continue;
    const std::vector<std::string> kinds(rule.kinds.begin(), rule.kinds.end());
    return fail(Code::kUsage, "{} doesn't take {}, only {}", a.kind, rule.name, join_words(kinds));
  }
  return {};
}

Result<void> check_usage(const Asked& a, const cli::Io& io) {
  if (a.kind.empty()) return fail(Code::kUsage, "KIND is missing: {}", join_words(kKinds));
  TFD_TRY(refuse_foreign_options(a));
  if (a.json && a.format && *a.format != "json")
    return fail(Code::kUsage, "--json and --format {} exclude each other", *a.format);
  const int forms = (a.json || a.format ? 1 : 0) + (a.get ? 1 : 0) + (a.list_tasks ? 1 : 0);
  if (forms > 1) return fail(Code::kUsage, "--format, --get and --list-tasks exclude each other");
  if (forms > 0 && !io.command.empty())
    return fail(Code::kUsage, "a command prints its own output: no --format, --get or --list-tasks");
  if (a.kind == "hostlist" && !io.command.empty()) return fail(Code::kUsage, "hostlist doesn't take a command");
  if (a.kind == "hostlist" && a.format && *a.format != "json")
    return fail(Code::kUsage, "hostlist doesn't take --format {}", *a.format);
  return {};
}

Result<cluster::ClusterConfig> resolve_simple(const Asked& a, const std::optional<cluster::TaskId>& task) {
  resolve::SimpleOptions options;
  if (a.job.empty()) return fail(Code::kUsage, "--job is missing: --job NAME=ADDR,…");
  for (const std::string& text : a.job) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Code::kUsage, "--job: '{}' is not NAME=ADDR,…", printable(text));
    const std::string addresses = text.substr(equals + 1);
    options.jobs.emplace_back(text.substr(0, equals),
                              addresses.empty() ? std::vector<std::string>() : split(addresses, ','));
  }
  options.task = task;
  options.master = a.master.value_or("");
  options.environment = a.environment.value_or("");
  options.rpc_layer = a.rpc_layer;
  return resolve::resolve_simple(options);
}

Result<resolve::SlurmOptions> slurm_options(const Asked& a) {
  resolve::SlurmOptions options;
  const auto narrow = [](const std::optional<std::int64_t>& value) {
    return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
  };
  if (a.jobs) options.jobs = TFD_TRY(as_usage(resolve::parse_job_counts(*a.jobs), "--jobs"));
  options.port_base = narrow(a.port_base);
  options.gpus_per_node = narrow(a.gpus_per_node);
  options.gpus_per_task = narrow(a.gpus_per_task);
  if (a.tasks_per_node && a.tasks_per_node->find('=') != std::string::npos) {
    options.tasks_per_node = TFD_TRY(as_usage(resolve::parse_job_counts(*a.tasks_per_node), "--tasks-per-node"));
  } else if (a.tasks_per_node) {
    const auto count = TFD_TRY(as_usage(parse_integer(*a.tasks_per_node, 1, resolve::kMostTasks), "--tasks-per-node"));
    options.tasks_per_node = static_cast<int>(count);
  }
  options.auto_set_gpu = a.auto_set_gpu;
  options.rpc_layer = a.rpc_layer.value_or("grpc");
  options.compat = compat_of(a);
  options.load_hostfile = [](const std::string& path) { return process::load_file(path, std::size_t{64} << 20); };
  return options;
}

Result<cluster::ClusterConfig> resolve_slurm(const Asked& a, const std::optional<cluster::TaskId>& task,
                                             const cli::Io& io) {
  const auto options = TFD_TRY(slurm_options(a));
  cluster::ClusterConfig config =
      TFD_TRY(resolve::resolve_slurm(io.env, options, resolve::nvidia_smi_lister(io.env, Deadline::after(a.timeout))));
  if (!task) return config;
  const auto address = config.cluster.task_address(task->job, task->index);
  if (!address && task->job != "evaluator") return fail(Error(address.error()).within("--task"));
  config.task = task;
  config.master.reset();
  if (address) config.master = cluster::format_url(options.rpc_layer, *address);
  return config;
}

Result<cluster::ClusterConfig> resolve_kind(const Asked& a, cli::Io& io) {
  std::optional<cluster::TaskId> task;
  if (a.task) task = TFD_TRY(as_usage(cluster::parse_task(*a.task), "--task"));
  if (a.kind == "simple") return resolve_simple(a, task);
  if (a.kind == "slurm") return resolve_slurm(a, task, io);
  if (a.kind == "local") {
    if (!a.jobs) return fail(Code::kUsage, "--jobs is missing: --jobs NAME=COUNT,…");
    return resolve::resolve_local(TFD_TRY(as_usage(resolve::parse_job_counts(*a.jobs), "--jobs")), task);
  }
  if (a.kind == "tf-config") {
    resolve::TfConfigOptions options{.rpc_layer = a.rpc_layer, .environment = a.environment, .compat = compat_of(a)};
    if (task) options.task_type = task->job;
    if (task) options.task_id = task->index;
    return resolve::resolve_tf_config(io.env, options);
  }
  resolve::InputReader nothing(-1);
  return resolve::find_spec({.cluster = "auto", .task = task}, nothing, io.env, Deadline::after(a.timeout), io.log);
}

Result<int> print_hostlist(const Asked& a, cli::Io& io) {
  std::vector<std::string> hosts;
  if (a.expressions.empty()) {
    if (!a.fold) return fail(Code::kUsage, "EXPR is missing");
    for (const std::string& line : split(TFD_TRY(process::read_all(io.in_fd, Deadline::never())), '\n'))
      if (!line.empty()) hosts.push_back(line);
  }
  for (const std::string& expression : a.expressions) {
    const auto more = TFD_TRY(resolve::expand_hostlist(expression, compat_of(a)));
    hosts.insert(hosts.end(), more.begin(), more.end());
  }
  if (a.fold) hosts = {resolve::fold_hostlist(hosts)};
  std::string out;
  if (a.json || a.format) {
    for (const std::string& host : hosts) {
      out += out.empty() ? "[" : ", ";
      cluster::append_json_string(out, host);
    }
    out += out.empty() ? "[]\n" : "]\n";
  } else {
    for (const std::string& host : hosts) out += host + '\n';
  }
  TFD_TRY(io.out.write(out));
  return 0;
}

/// Becomes the command: signals and its exit code are its own. Only returns where it can't be run.
Result<int> become_command(const cluster::ClusterConfig& config, cli::Io& io) {
  if (!config.task)
    io.log.warning("no task here{}{}: TF_CONFIG will name none", config.no_task_reason.empty() ? "" : ": ",
                   config.no_task_reason);
  Environment env = io.env;
  const Environment added = cluster::child_environment(config);
  for (const auto& [name, value] : added.values()) env.set(name, value);
  std::vector<std::string> entries;
  for (const auto& [name, value] : env.values()) entries.push_back(name + '=' + value);
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
  };
  std::vector<char*> argv = pointers(io.command), environment = pointers(entries);
  ::execvpe(argv[0], argv.data(), environment.data());
  const int saved = errno;
  const auto error = fail_errno(saved, fmt::format("cannot run {}", printable(io.command.front())));
  TFD_TRY(io.err.write(cli::error_line("tfd-resolve", error.value())));
  return saved == ENOENT ? 127 : 126;
}

Result<int> run(Asked& a, cli::Io& io) {
  if (a.kind.empty() && a.list_tasks) a.kind = "auto";  // for completions
  TFD_TRY(check_usage(a, io));
  if (a.kind == "hostlist") return print_hostlist(a, io);
  const cluster::ClusterConfig config = TFD_TRY(resolve_kind(a, io));
  if (!io.command.empty()) return become_command(config, io);
  std::string out;
  if (a.list_tasks) {
    for (const cluster::Task& task : config.cluster.tasks()) out += format_task(task.id) + '\n';
  } else if (a.get) {
    out = TFD_TRY(cluster::get_path(config, *a.get)) + '\n';
  } else {
    out = TFD_TRY(cluster::render(config, TFD_TRY(cluster::parse_format(a.format.value_or("json")))));
  }
  TFD_TRY(io.out.write(out));
  return 0;
}

bool asks_for_env(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view word(argv[i]);
    if (word == "--format=env" || (word == "--format" && i + 1 < argc && std::string_view(argv[i + 1]) == "env"))
      return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  Asked asked;
  const int code = cli::run_tool(
      {.name = "tfd-resolve",
       .summary = "find the cluster that this process belongs to",
       .usage = "KIND [OPTIONS] [-- CMD [ARG…]]",
       .options = options(asked),
       .examples = {{"tfd-resolve local --jobs worker=3,ps=2 | tfd-serve", "a cluster on this host"},
                    {"srun tfd-resolve slurm --jobs chief=1,worker=3 -- python train.py", "TF_CONFIG for every task"},
                    {"eval \"$(tfd-resolve slurm --format env)\"",
                     "the same for this shell; fails if resolving fails"}},
       .takes_command = true,
       .group = "cluster",
       .environment = {{"TF_CONFIG", "The cluster, for tf-config and auto; set for CMD"},
                       {"SLURM_STEP_*, SLURM_JOB_*, …",
                        "What Slurm says of the step, for slurm and auto; tfd-resolve(1) lists them"},
                       {"CUDA_VISIBLE_DEVICES", "The GPUs of this task; set for CMD where they are shared out"}},
       .run_raw = [&](cli::Io& io) { return run(asked, io); }},
      argc, argv);
  // eval "$(…)" doesn't see the exit code, so the shell must be told in its own words.
  if (code != 0 && asks_for_env(argc, argv)) (void)!::write(STDOUT_FILENO, "false\n", 6);
  return code;
}
