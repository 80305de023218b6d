#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the tools that train have in common: options, how they find their cluster, how they say what happens.
// Thread rule: main thread.
#include <string>
#include <vector>

#include "tfd/cli/progress.hpp"
#include "tfd/cli/tool.hpp"
#include "tfd/program/program.hpp"
#include "tfd/resolve/spec_source.hpp"
#include "tfd/train/training.hpp"

namespace tfd::training {

struct Common {
  std::string program;
  std::string cluster;
  std::string jobs;
  std::string task;
  std::vector<std::string> overrides;
  std::string checkpoint;
  bool start_over = false;
  bool check = false;
  bool keep_servers = false;
  bool insecure = false;
  std::string data_root;
  std::string key_file;
  bool ignore_sharding = false;
  std::string logdir;
  std::string trace;
  Duration timeout = std::chrono::seconds(30);
  Duration grace = std::chrono::seconds(25);
  Duration rejoin = std::chrono::seconds(30);
  bool take_over = false;
};

/// What the options' help says, where the tools differ.
struct Words {
  std::string cluster;  // where the spec comes from without --cluster
  std::string checkpoint;
  std::string trace;  // what a timeline shows
  std::string check;
  std::string keep_servers;
  std::string insecure;
  std::string timeout;
};

/// PROGRAM, --cluster, --jobs and --task, then `own`, then the rest.
std::vector<cli::Option> options(Common& common, std::vector<cli::Option> own, Words words);

/// As --cluster, --jobs, --task, stdin and the environment say. Where it isn't `required`, stdin is left alone, and the
/// config is empty where nothing names a cluster.
Result<cluster::ClusterConfig> find_cluster(const Common& common, resolve::InputReader& input, cli::Io& io,
                                            bool required = true);

/// Reads and checks the program, with --set and --data-root. Says every error that there is, but for the one that is
/// returned.
Result<program::Program> load_program(const Common& common, program::ProgramOptions options, std::string_view tool,
                                      cli::Io& io);
/// The same for a cluster that is known: where workers are on other hosts they may have the data files that aren't
/// here, which are named; else those are an error.
Result<program::Program> load_program_on(const cluster::ClusterConfig& config, const Common& common,
                                         program::ProgramOptions options, std::string_view tool, cli::Io& io);
/// The same for a program that was loaded with Program::missing_data before the cluster was known.
Result<program::Program> find_data(program::Program program, const Common& common, program::ProgramOptions options,
                                   const cluster::ClusterConfig& config, std::string_view tool, cli::Io& io);

/// Says with -v how much memory the variables take, on each parameter server. kResourceExhausted where all tasks are on
/// this host and it hasn't as much.
Result<void> check_memory(const program::Program& program, const cluster::ClusterConfig& config, cli::Io& io);

/// What to warn of where several workers run this function, or any where none is named (see lost_updates_of()). Of the
/// program as it was read: places in it are those of the file.
std::vector<std::string> find_lost_updates(const program::Program& program, const std::string& function,
                                           bool is_certain);
/// What to say before so many replicas run the program's training: that it is another one than that of one replica,
/// since its step updates variables by itself, or makes them of what each replica sees, as batch normalization does.
std::optional<std::string> split_training_of(const program::Program& program, std::int64_t replicas);

/// A line of the tool on stderr, unless it is to be quiet.
void say(cli::Io& io, std::string_view tool, const std::string& line);

/// Where a training writes, what it begins with, and what it is told. `progress` and `io` must outlive it.
void connect_sinks(train::TrainOptions& train, const Common& common, cli::Progress& progress, cli::Io& io);

/// --trace, where it is given; else null. Errors of Trace::open().
Result<std::shared_ptr<train::Trace>> open_trace(const Common& common);

/// --logdir, where it is given. `task`: whose metrics these are, where several write; else empty. Errors of
/// EventFiles::open().
Result<void> connect_logdir(train::TrainOptions& train, const Common& common, const std::string& task, cli::Io& io);

/// How a training was run, for what is said of its end.
struct Ending {
  std::string_view tool;
  std::string task = {};   // whose steps they are, where several train
  bool evaluates = false;  // it trained nothing, but evaluated checkpoints
  bool joins = false;      // another task saves checkpoints, and this one joins it again
  std::string command;     // train::command_to_continue()
  int signal = 0;          // that has ended it
};
/// Says how far it came, and what to do next; the exit code. A training that was interrupted and can't be continued
/// ends the process by the signal.
int conclude(const train::TrainSummary& summary, const Ending& ending, cli::Io& io);

}  // namespace tfd::training
