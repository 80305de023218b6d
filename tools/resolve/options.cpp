// SPDX-License-Identifier: Apache-2.0
#include "asked.hpp"
#include "kinds.hpp"
#include "tfd/cluster/formats.hpp"

namespace tfd::tool_resolve {
namespace {

using Options = std::vector<cli::Option>;

constexpr const char* kSimple = "Options of simple";
constexpr const char* kSlurm = "Options of slurm and mpi";
constexpr const char* kKubernetes = "Options of kubernetes";
constexpr const char* kGoogle = "Options of tpu and gce";

void add_common(Options& all, Asked& a) {
  all.push_back(
      {.names = "KIND",
       .help = "Where to look for the cluster; auto: the first kind that is found; hostlist: only expand host names",
       .target = &a.kind,
       .choices = kind_names()});
  all.push_back({.names = "ARG",
                 .help = "union: files with specs, - for stdin; tpu: its name, grpc://ADDRESS or local; hostlist: "
                         "what to expand, such as n[1-3]",
                 .target = &a.arguments,
                 .complete = "file"});
  all.push_back({.names = "--jobs",
                 .placeholder = "NAME=COUNT,…",
                 .help = "local, slurm, mpi, kubernetes, auto: the number of tasks of each job; slurm and mpi assign "
                         "ranks to the jobs by name; slurm also takes NAME=het:N, a component of the Slurm job",
                 .target = &a.jobs,
                 .essential = true});
  all.push_back({.names = "--task",
                 .placeholder = "JOB:INDEX",
                 .help = "Which task this is, if it is not detected, or detected wrongly",
                 .target = &a.task,
                 .complete = "tfd-resolve --list-tasks",
                 .essential = true});
  all.push_back({.names = "--rpc-layer",
                 .placeholder = "NAME",
                 .help = "Protocol before :// in the master's URL (default: grpc; simple, tf-config and union: "
                         "nothing)",
                 .target = &a.rpc_layer,
                 .allows_empty = true});
  all.push_back({.names = "--environment",
                 .placeholder = "TEXT",
                 .help = "simple, tf-config: the spec's environment",
                 .target = &a.environment,
                 .allows_empty = true});
}

void add_simple(Options& all, Asked& a) {
  all.push_back({.names = "--job",
                 .placeholder = "NAME=ADDR,…",
                 .help = "simple: the addresses of a job; may be repeated",
                 .target = &a.job});
  all.push_back({.names = "--master",
                 .placeholder = "ADDR",
                 .help = "simple: the master's address",
                 .target = &a.master,
                 .allows_empty = true});
  all.push_back({.names = "--accelerators",
                 .placeholder = "TYPE=N,…",
                 .help = "simple: how many devices of each type a task has; may be repeated",
                 .target = &a.accelerators});
}

void add_slurm_and_mpi(Options& all, Asked& a) {
  all.push_back({.names = "--port-base",
                 .placeholder = "PORT",
                 .help = "slurm, mpi: the first port on each host (default: Slurm's reserved ports, or derived from "
                         "the job's id)",
                 .target = &a.port_base,
                 .essential = true,
                 .least = 0,
                 .most = 65535});
  all.push_back({.names = "--gpus-per-node",
                 .placeholder = "N",
                 .help = "slurm: the GPUs of a node (default: from CUDA_VISIBLE_DEVICES, SLURM_GPUS_ON_NODE or "
                         "nvidia-smi)",
                 .target = &a.gpus_per_node,
                 .least = 0,
                 .most = 65535});
  all.push_back({.names = "--gpus-per-task",
                 .placeholder = "N",
                 .help = "slurm: the GPUs of a task (default: an equal share of the node's)",
                 .target = &a.gpus_per_task,
                 .least = 0,
                 .most = 65535});
  all.push_back({.names = "--tasks-per-node",
                 .placeholder = "N|HOST=N,…",
                 .help = "slurm: the tasks on each node (default: from SLURM_STEP_TASKS_PER_NODE)",
                 .target = &a.tasks_per_node});
  all.push_back({.names = "--auto-set-gpu",
                 .help = "slurm: give each task its share of the GPUs in CUDA_VISIBLE_DEVICES",
                 .target = &a.auto_set_gpu,
                 .shown_default = "on",
                 .negatable = true});
  all.push_back({.names = "--hostfile",
                 .placeholder = "FILE",
                 .help = "mpi: the hosts and their slots, the same file that mpirun got",
                 .target = &a.hostfile,
                 .essential = true});
}

void add_kubernetes(Options& all, Asked& a) {
  all.push_back({.names = "--selector",
                 .placeholder = "JOB=LABELS",
                 .help = "kubernetes: the label selector of a job's pods; may be repeated (default: "
                         "worker=job-name=tensorflow)",
                 .target = &a.selector,
                 .essential = true});
  all.push_back({.names = "--namespace",
                 .placeholder = "NAME",
                 .help = "kubernetes: look only in this namespace (default: in all)",
                 .target = &a.namespace_});
  all.push_back({.names = "--port",
                 .placeholder = "PORT",
                 .help =
                     "kubernetes, gce, tpu: the port of the tasks, if nothing else says it (default: 8470; gce: must "
                     "be given)",
                 .target = &a.port,
                 .least = 0,
                 .most = 65535});
  all.push_back({.names = "--address",
                 .placeholder = "WHICH",
                 .help = "kubernetes: which address of a pod to use (default: pod-ip)",
                 .target = &a.address,
                 .choices = {"pod-ip", "host-ip", "hostname"}});
  all.push_back({.names = "--kubeconfig",
                 .placeholder = "FILE",
                 .help = "kubernetes: the configuration (default: KUBECONFIG, then the pod's own, then ~/.kube/config)",
                 .target = &a.kubeconfig});
  all.push_back({.names = "--context",
                 .placeholder = "NAME",
                 .help = "kubernetes: the context in the kubeconfig (default: the current one)",
                 .target = &a.context});
  all.push_back({.names = "--insecure-skip-tls-verify",
                 .help = "kubernetes: do not verify the certificate of the API server",
                 .target = &a.insecure_skip_tls_verify});
  all.push_back({.names = "--wait",
                 .placeholder = "DUR",
                 .help = "kubernetes: how long to wait for pods that are pending or missing",
                 .target = &a.wait,
                 .essential = true});
}

void add_google(Options& all, Asked& a) {
  all.push_back({.names = "--zone",
                 .placeholder = "NAME",
                 .help = "tpu, gce: the zone (default: from the metadata server)",
                 .target = &a.zone});
  all.push_back({.names = "--project",
                 .placeholder = "NAME",
                 .help = "tpu, gce: the project (default: from the metadata server)",
                 .target = &a.project});
  all.push_back({.names = "--job-name",
                 .placeholder = "NAME",
                 .help = "tpu, gce: the job that the hosts belong to (default: worker)",
                 .target = &a.job_name});
  all.push_back({.names = "--coordinator-name",
                 .placeholder = "NAME",
                 .help = "tpu: add a coordinator, as a job of this name",
                 .target = &a.coordinator_name});
  all.push_back({.names = "--coordinator-address",
                 .placeholder = "ADDR",
                 .help = "tpu: where the coordinator listens",
                 .target = &a.coordinator_address});
  all.push_back({.names = "--instance-group",
                 .placeholder = "NAME",
                 .help = "gce: the group whose running instances are the cluster",
                 .target = &a.instance_group,
                 .essential = true});
  all.push_back({.names = "--credentials",
                 .placeholder = "FILE",
                 .help = "tpu, gce: a key file of a service account or user (default: application-default credentials)",
                 .target = &a.credentials});
  all.push_back({.names = "--api-url",
                 .placeholder = "URL",
                 .help = "tpu, gce: the root URL of the API, instead of Google's",
                 .target = &a.api_url});
  all.push_back({.names = "--discovery-url",
                 .placeholder = "URL",
                 .help = "tpu: the URL of the API's discovery document, with {api} and {apiVersion}; "
                         "TPU_API_DISCOVERY_URL overrides it",
                 .target = &a.discovery_url});
  all.push_back({.names = "--wait-healthy",
                 .placeholder = "DUR",
                 .help = "tpu: how long to wait until it is healthy, asking every --interval",
                 .target = &a.wait_healthy});
  all.push_back({.names = "--recoverable",
                 .help = "tpu: print nothing; exit with 0 if it can be used again, with 1 if it was preempted or ran "
                         "out of memory",
                 .target = &a.recoverable});
  all.push_back({.names = "--runtime-oom-exit",
                 .help = "tpu: --recoverable counts a host that ran out of memory",
                 .target = &a.runtime_oom_exit,
                 .shown_default = "on",
                 .negatable = true});
  all.push_back({.names = "--hbm-oom-exit",
                 .help = "tpu: --recoverable counts a TPU that ran out of memory",
                 .target = &a.hbm_oom_exit,
                 .shown_default = "on",
                 .negatable = true});
  all.push_back({.names = "--system-metadata",
                 .help = "tpu: add system_metadata to the spec: cores, hosts, topology, devices",
                 .target = &a.system_metadata});
  all.push_back({.names = "--connect", .help = "tpu: fail unless there are TPU devices", .target = &a.connect});
}

void add_answer(Options& all, Asked& a) {
  all.push_back({.names = "--compat",
                 .placeholder = "WHAT",
                 .help = "Do exactly what TensorFlow 2.21 does, even where tfd differs",
                 .target = &a.compat,
                 .choices = {"tensorflow"}});
  all.push_back({.names = "--format",
                 .placeholder = "FORMAT",
                 .help = "The output format; with a command: which variables it gets (jax: a script must pass "
                         "JAX_NUM_PROCESSES and JAX_PROCESS_ID to initialize() itself)",
                 .target = &a.format,
                 .choices = cluster::format_names(),
                 .shown_default = "json",
                 .essential = true});
  all.push_back({.names = "--json", .help = "Short for --format json", .target = &a.json});
  all.push_back({.names = "--get",
                 .placeholder = "PATH",
                 .help = "Print one value without quotes, such as master",
                 .target = &a.get,
                 .essential = true});
  all.push_back({.names = "--list-tasks",
                 .help = "Print the tasks, one JOB:INDEX a line",
                 .target = &a.list_tasks,
                 .essential = true});
  all.push_back({.names = "--watch",
                 .help = "Print a new line whenever the cluster changes",
                 .target = &a.watch,
                 .essential = true});
  all.push_back({.names = "--interval",
                 .placeholder = "DUR",
                 .help = "tpu, gce, auto: how often --watch and --wait-healthy ask (default: 30s)",
                 .target = &a.interval});
  all.push_back({.names = "--fold",
                 .help = "hostlist: the inverse: fold ARGs, or the lines of stdin, into one hostlist",
                 .target = &a.fold});
  all.push_back({.names = "--timeout",
                 .placeholder = "DUR",
                 .help = "How long to wait for nvidia-smi, an API, or the specs of other tools (union: no limit "
                         "unless given)",
                 .target = &a.timeout,
                 .shown_default = "10s",
                 .essential = true});
}

}  // namespace

std::vector<cli::Option> options(Asked& a) {
  Options all;
  const auto add = [&](const char* section, void (*add_some)(Options&, Asked&)) {
    const std::size_t before = all.size();
    add_some(all, a);
    for (std::size_t i = before; i < all.size(); ++i) all[i].section = section;
  };
  add("", add_common);
  add(kSimple, add_simple);
  add(kSlurm, add_slurm_and_mpi);
  add(kKubernetes, add_kubernetes);
  add(kGoogle, add_google);
  add("", add_answer);
  return all;
}

std::vector<std::string> sections() { return {kSimple, kSlurm, kKubernetes, kGoogle}; }

std::vector<std::string_view> given_options(const Asked& a) {
  const std::pair<std::string_view, bool> all[] = {
      {"ARG", !a.arguments.empty()},
      {"--jobs", a.jobs.has_value()},
      {"--job", !a.job.empty()},
      {"--task", a.task.has_value()},
      {"--master", a.master.has_value()},
      {"--accelerators", !a.accelerators.empty()},
      {"--rpc-layer", a.rpc_layer.has_value()},
      {"--environment", a.environment.has_value()},
      {"--port-base", a.port_base.has_value()},
      {"--gpus-per-node", a.gpus_per_node.has_value()},
      {"--gpus-per-task", a.gpus_per_task.has_value()},
      {"--tasks-per-node", a.tasks_per_node.has_value()},
      {"--no-auto-set-gpu", !a.auto_set_gpu},
      {"--hostfile", a.hostfile.has_value()},
      {"--selector", !a.selector.empty()},
      {"--namespace", a.namespace_.has_value()},
      {"--port", a.port.has_value()},
      {"--address", a.address.has_value()},
      {"--kubeconfig", a.kubeconfig.has_value()},
      {"--context", a.context.has_value()},
      {"--insecure-skip-tls-verify", a.insecure_skip_tls_verify},
      {"--wait", a.wait.has_value()},
      {"--zone", a.zone.has_value()},
      {"--project", a.project.has_value()},
      {"--job-name", a.job_name.has_value()},
      {"--coordinator-name", a.coordinator_name.has_value()},
      {"--coordinator-address", a.coordinator_address.has_value()},
      {"--instance-group", a.instance_group.has_value()},
      {"--credentials", a.credentials.has_value()},
      {"--api-url", a.api_url.has_value()},
      {"--discovery-url", a.discovery_url.has_value()},
      {"--wait-healthy", a.wait_healthy.has_value()},
      {"--recoverable", a.recoverable},
      {"--system-metadata", a.system_metadata},
      {"--connect", a.connect},
      {"--no-runtime-oom-exit", !a.runtime_oom_exit},
      {"--no-hbm-oom-exit", !a.hbm_oom_exit},
      {"--fold", a.fold},
      {"--get", a.get.has_value()},
      {"--list-tasks", a.list_tasks},
      {"--watch", a.watch},
      {"--interval", a.interval.has_value()},
  };
  std::vector<std::string_view> given;
  for (const auto& [name, is_given] : all)
    if (is_given) given.push_back(name);
  return given;
}

resolve::Compat compat_of(const Asked& asked) {
  return asked.compat ? resolve::Compat::kTensorflow : resolve::Compat::kNone;
}

Result<std::optional<cluster::TaskId>> task_of(const Asked& asked) {
  if (!asked.task) return std::nullopt;
  return TFD_TRY(cli::as_usage(cluster::parse_task(*asked.task), "--task"));
}

}  // namespace tfd::tool_resolve
