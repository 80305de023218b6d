#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A tfd-launch among those of other hosts: where they meet, what this one brings, what its tasks are told. Thread rule:
// main thread.
#include <memory>
#include <string>

#include "session.hpp"
#include "tfd/cli/tool.hpp"

namespace tfd::tool_launch {

struct JointChoice {
  std::string rendezvous;  // HOST:PORT
  std::string advertise;
  std::string key_file;
  const Preamble* preamble = nullptr;  // of a tfd-launch that another one started: the key is that one's
  bool insecure = false;
  Duration settle = std::chrono::seconds(10);
  Duration silence = std::chrono::seconds(10);
  Duration join{};
  Duration grace{};
  int tasks = 1;  // of this host
  rendezvous::Bounds bounds = {};
  int max_failures = 0;
  std::vector<std::pair<std::string, std::string>> same = {};
};

/// Tells a task, if it is a tfd-run of a group, how long another one may be silent, where that isn't the default.
void set_silence(Environment& env, Duration silence);

/// kUsage: no address; kPermissionDenied: other hosts can connect, and there is no key; errors of make_local_lookup(),
/// listen_on() and find_key().
Result<JointOptions> make_joint(const JointChoice& choice, cli::Io& io);

}  // namespace tfd::tool_launch
