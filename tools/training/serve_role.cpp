// SPDX-License-Identifier: Apache-2.0
#include "serve_role.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tfd/base/descriptors.hpp"
#include "tfd/base/file.hpp"

namespace tfd::training {

std::string find_tool(const std::string& name) {
  std::error_code error;
  const auto self = own_executable();
  const auto beside = self.parent_path() / name;
  return !self.empty() && std::filesystem::exists(beside, error) ? beside.string() : name;
}

std::vector<std::string> talk_options(const cli::Io& io) {
  if (io.quiet) return {"--quiet"};
  return std::vector<std::string>(static_cast<std::size_t>(io.verbosity), "-v");
}

std::vector<std::string> serve_command(const ServeOptions& options, const cli::Io& io) {
  std::vector<std::string> command{find_tool("tfd-serve")};
  if (options.insecure) command.emplace_back("--insecure");
  if (!options.data_root.empty()) command.insert(command.end(), {"--data-root", options.data_root});
  if (!options.key_file.empty()) command.insert(command.end(), {"--key-file", options.key_file});
  if (!options.http.empty()) command.insert(command.end(), {"--http", options.http});
  for (std::string& option : talk_options(io)) command.push_back(std::move(option));
  return command;
}

std::vector<std::string> serve_task_command(const cluster::TaskId& task, const ServeOptions& options,
                                            const cli::Io& io) {
  std::vector<std::string> command = serve_command(options, io);
  command.insert(command.end(), {"--cluster", "env", "--task", cluster::format_task(task), "--once", "--drain",
                                 format_duration(options.grace)});
  return command;
}

Error become(const std::vector<std::string>& command, const cluster::ClusterConfig& config, const cli::Io& io) {
  Environment env = io.env;
  const std::string spec = cluster::cluster_config_to_json(config);
  if (config.task && config.task->job == "evaluator")
    env.unset("TF_CONFIG");  // its cluster is its own
  else
    env.set("TF_CONFIG", spec.substr(0, spec.find('\n')));
  std::vector<std::string> pairs;
  for (const auto& [name, value] : env.values()) pairs.push_back(name + "=" + value);
  const auto pointers = [](const std::vector<std::string>& words) {
    std::vector<char*> out;
    for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));  // exec takes them so
    out.push_back(nullptr);
    return out;
  };
  const bool serves = config.task && config.task->job != "evaluator";
  if (serves) {  // its spec isn't printed: stdout holds the chief's events, even if all tasks share it
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null < 0 || ::dup2(null, STDOUT_FILENO) < 0) return fail_errno(errno, "cannot open /dev/null").value();
  }
  auto argv = pointers(command);
  auto envp = pointers(pairs);
  restore_descriptor_limit();
  ::execvpe(argv.front(), argv.data(), envp.data());
  return fail_errno(errno, "cannot run " + command.front()).value();
}

}  // namespace tfd::training
