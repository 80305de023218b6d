// SPDX-License-Identifier: Apache-2.0
#include "tfd/cluster/formats.hpp"

#include <algorithm>
#include <unordered_set>

#include "process_group.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/base/names.hpp"
#include "tfd/base/shell.hpp"
#include "tfd/base/text.hpp"
#include "tfd/cluster/json_value.hpp"
#include "tfd/cluster/spec_json.hpp"

namespace tfd::cluster {
namespace {

using detail::require_task;

constexpr NameTable<Format, 11> kFormats{{{{Format::kJson, "json"},
                                           {Format::kTfConfig, "tf-config"},
                                           {Format::kEnv, "env"},
                                           {Format::kEnvFile, "env-file"},
                                           {Format::kTaskProlog, "task-prolog"},
                                           {Format::kHosts, "hosts"},
                                           {Format::kTable, "table"},
                                           {Format::kMpi, "mpi"},
                                           {Format::kPytorch, "pytorch"},
                                           {Format::kTorchrun, "torchrun"},
                                           {Format::kJax, "jax"}}}};

/// Linux takes no longer ones: every command would fail, and Slurm drops them without a word.
Result<void> check_lengths(const Environment& values) {
  constexpr std::size_t kMost = std::size_t{128} << 10;  // with its name, '=' and the final NUL
  for (const auto& [name, value] : values.values())
    if (name.size() + value.size() + 2 > kMost)
      return fail(Code::kInvalidArgument,
                  "{} would be {} bytes long, and an environment variable can't be longer than {}", name, value.size(),
                  kMost - name.size() - 2);
  return {};
}

Result<std::string> render_env(const Environment& values) {
  TFD_TRY(check_lengths(values));
  std::string out;
  for (const auto& [name, value] : values.values()) out += fmt::format("export {}={}\n", name, shell_quoted(value));
  return out;
}

/// Nothing is quoted where docker, systemd, CI systems and Slurm read it, so a value must fit on its line.
Result<std::string> render_lines(const Environment& values, std::string_view prefix, std::string_view format) {
  TFD_TRY(check_lengths(values));
  std::string out;
  for (const auto& [name, value] : values.values()) {
    if (value.find_first_of("\n\r") != std::string::npos || value.find('\0') != std::string::npos)
      return fail(Code::kInvalidArgument, "{} holds a line break, which {} can't express: use --format env", name,
                  format);
    out += fmt::format("{}{}={}\n", prefix, name, value);
  }
  return out;
}

/// Every host once, in the order of the tasks.
Result<std::string> render_hosts(const ClusterConfig& config) {
  std::string out;
  std::unordered_set<std::string> seen;
  for (const Task& task : config.cluster.tasks()) {
    const Address address = TFD_TRY(parse_address(task.address), printable(format_task(task.id)));
    if (seen.insert(address.host).second) out += address.host + '\n';
  }
  return out;
}

std::string render_table(const ClusterConfig& config) {
  std::vector<Task> tasks = config.cluster.tasks();
  std::size_t width = 4;
  for (const Task& task : tasks) width = std::max(width, printable(format_task(task.id)).size());
  std::string out = fmt::format("{:<{}}  ADDRESS\n", "TASK", width);
  for (const Task& task : tasks) {
    const bool self = config.task == task.id;
    out += fmt::format("{:<{}}  {}{}\n", printable(format_task(task.id)), width, printable(task.address),
                       self ? "  (this task)" : "");
  }
  return out;
}

}  // namespace

std::vector<std::string> format_names() { return kFormats.names(); }

Result<Format> parse_format(std::string_view name) {
  if (const auto format = kFormats.find(name)) return *format;
  const auto names = format_names();
  return fail(Code::kInvalidArgument, "'{}' is not a format{}", printable(name), did_you_mean(name, names));
}

std::string tf_config(const ClusterConfig& config) {
  JsonValue extra;
  if (config.extra != "{}")
    if (auto parsed = parse_json(config.extra, "extra")) extra = std::move(*parsed);
  std::string out = "{\"cluster\": ";
  append_spec(out, config.cluster);
  if (config.task) {
    out += ", \"task\": ";
    append_task(out, *config.task, extra.find("task"));
  }
  if (config.rpc_layer) {
    out += ", \"rpc_layer\": ";
    append_json_string(*config.rpc_layer, out);
  }
  if (const JsonValue* master = extra.find("session_master")) {  // read by TFConfigClusterResolver.master()
    out += ", \"session_master\": ";
    append_json(out, *master);
  }
  return out += '}';
}

Environment child_environment(const ClusterConfig& config) {
  Environment values;
  values.set("TF_CONFIG", tf_config(config));
  if (config.visible_devices) values.set(config.visible_devices_variable, *config.visible_devices);
  return values;
}

bool is_environment(Format format) {
  return format == Format::kEnv || format == Format::kPytorch || format == Format::kTorchrun || format == Format::kJax;
}

Result<Environment> child_environment(const ClusterConfig& config, Format format) {
  TFD_TRY(require_task(config));
  Environment values = child_environment(config);
  Environment added;
  if (format == Format::kPytorch || format == Format::kTorchrun) {
    added = TFD_TRY(format == Format::kPytorch ? detail::pytorch_environment(config)
                                               : detail::torchrun_environment(config));
    values.unset(config.visible_devices_variable);  // their processes choose by LOCAL_RANK among all of the host
  } else if (format == Format::kJax) {
    added = TFD_TRY(detail::jax_environment(config));
  }
  for (const auto& [name, value] : added.values()) values.set(name, value);
  TFD_TRY(check_lengths(values));
  return values;
}

Result<std::string> render(const ClusterConfig& config, Format format) {
  switch (format) {
    case Format::kJson:
      return cluster_config_to_json(config);
    case Format::kTfConfig:
      TFD_TRY(require_task(config));
      return tf_config(config) + '\n';
    case Format::kEnv:
      TFD_TRY(require_task(config));
      return render_env(child_environment(config));
    case Format::kEnvFile:
      TFD_TRY(require_task(config));
      return render_lines(child_environment(config), "", "env-file");
    case Format::kTaskProlog:
      TFD_TRY(require_task(config));
      return render_lines(child_environment(config), "export ", "task-prolog");
    case Format::kHosts:
      return render_hosts(config);
    case Format::kTable:
      return render_table(config);
    case Format::kMpi:
      return detail::render_hostfile(config);
    case Format::kPytorch:
      return render_env(TFD_TRY(detail::pytorch_environment(config)));
    case Format::kTorchrun:
      return render_env(TFD_TRY(detail::torchrun_environment(config)));
    case Format::kJax:
      return render_env(TFD_TRY(detail::jax_environment(config)));
  }
  return fail(Code::kInternal, "format {} is not in the table", static_cast<int>(format));
}

}  // namespace tfd::cluster
