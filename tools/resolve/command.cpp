// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>

#include "print.hpp"
#include "tfd/base/descriptors.hpp"
#include "tfd/base/text.hpp"
#include "tfd/cluster/formats.hpp"

namespace tfd::tool_resolve {

Result<int> become_command(const Asked& asked, const cluster::ClusterConfig& config, cli::Io& io) {
  // The default form gives a command without a task a TF_CONFIG that names none.
  Environment added = cluster::child_environment(config);
  if (asked.format) added = TFD_TRY(cluster::child_environment(config, TFD_TRY(cluster::parse_format(*asked.format))));
  if (!config.task)
    io.log.warning("no task here{}{}; TF_CONFIG will not name one", config.no_task_reason.empty() ? "" : ": ",
                   config.no_task_reason);
  Environment env = io.env;
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
  restore_descriptor_limit();
  ::execvpe(argv[0], argv.data(), environment.data());
  const int saved = errno;
  Error error = fail_errno(saved, fmt::format("cannot run {}", printable(io.command.front()))).value();
  if (saved == E2BIG) error.message += fmt::format(": TF_CONFIG alone has {} bytes", env.get("TF_CONFIG").size());
  TFD_TRY(io.err.write(cli::error_line("tfd-resolve", error)));
  return saved == ENOENT ? 127 : 126;
}

}  // namespace tfd::tool_resolve
