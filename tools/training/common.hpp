#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the tools that train have in common: options, how they find their cluster, how they say what happens.
// Thread rule: main thread.
#include <string>
#include <vector>

#include "tfd/cli/progress.hpp"
#include "tfd/cli/tool.hpp"
#include "tfd/resolve/spec_source.hpp"
#include "tfd/strategy/training.hpp"

namespace tfd::training {

struct Common {
  std::string program;
  std::string cluster;
  std::string jobs;
  std::string task;
  std::vector<std::string> overrides;
  bool check = false;
  bool keep_servers = false;
  bool insecure = false;
  std::string data_root;
  std::string key_file;
  Duration timeout = std::chrono::seconds(30);
  Duration grace = std::chrono::seconds(25);
};

/// What the options' help says, where the tools differ.
struct Words {
  std::string cluster;
  std::string check;
  std::string keep_servers;
  std::string insecure;
  std::string data_root;
  std::string timeout;
};

/// PROGRAM, --cluster, --jobs and --task, then `own`, then the rest.
std::vector<cli::Option> options(Common& common, std::vector<cli::Option> own, Words words);

/// As --cluster, --jobs, --task, stdin and the environment say.
Result<cluster::ClusterConfig> find_cluster(const Common& common, resolve::InputReader& input, cli::Io& io);

/// "loss 0.1234, accuracy 0.9".
std::string format_metrics(const strategy::Metrics& metrics);
/// A line of the tool on stderr, unless it is to be quiet.
void say(cli::Io& io, std::string_view tool, const std::string& line);

/// Where a training writes and what it is told. `progress` and `io` must outlive it.
void connect_sinks(strategy::TrainOptions& train, cli::Progress& progress, cli::Io& io);

}  // namespace tfd::training
