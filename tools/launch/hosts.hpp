#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// --hosts: starts a tfd-launch on each host, through ssh, and passes on what they write, signals, and the exit code.
// Thread rule: main thread.
#include <string>
#include <string_view>
#include <vector>

#include "tfd/cli/tool.hpp"

namespace tfd::tool_launch {

struct Host {
  std::string login;  // for ssh: "user@h1"
  std::string name;   // for the others: "h1"
  int tasks = 1;
};
/// "h1:2,user@h2,[::1]:3". kUsage says which one is wrong.
Result<std::vector<Host>> parse_hosts(std::string_view text);

struct HostsChoice {
  std::vector<Host> hosts;
  std::vector<std::string> options;    // for all: "--nnodes", "2", …
  std::vector<std::string> variables;  // --env
  std::string key_file;
  bool insecure = false;
  bool is_elastic = false;  // a host that is lost is started again while the first one runs
  bool prefixed = true;
  Duration grace{};
};

/// Returns the exit code that the hosts agree on; 69 where one can't be reached, or is lost for good. Ends this process
/// by a signal that it got, if the tasks died of that.
Result<int> run_hosts(const HostsChoice& choice, cli::Io& io);

}  // namespace tfd::tool_launch
