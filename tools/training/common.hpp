#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tools that train: options, finding the cluster, and messages. Thread rule: main thread.
#include <memory>
#include <string>
#include <vector>

#include "event_commands.hpp"
#include "http/board.hpp"
#include "tfd/cli/progress.hpp"
#include "tfd/cli/tool.hpp"
#include "tfd/program/program.hpp"
#include "tfd/resolve/spec_source.hpp"
#include "tfd/train/training.hpp"

namespace tfd::training {

/// Options of like tools', and where these are here.
std::vector<cli::Elsewhere> options_elsewhere(const std::string& devices);

/// Says that a cluster's spec waits in the pipe that stdin is, where this run uses none, or TF_CONFIG's; takes nothing
/// from it. False: none does by now.
bool warn_of_unread_spec(std::string_view tool, bool uses_none, cli::Io& io);

struct Common {
  std::string program;
  std::string cluster;
  std::string jobs;
  std::string hostfile;
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
  std::string format = "auto";
  std::string events;
  std::string logdir;
  std::vector<std::string> on;  // event, command, event, command, …
  std::string http;
  std::string trace;
  Duration timeout = std::chrono::seconds(30);
  Duration grace = std::chrono::seconds(25);
  Duration rejoin = std::chrono::seconds(30);
  bool take_over = false;
};

/// Parts of the options' help texts that differ between the tools.
struct Words {
  std::string cluster;  // source of the spec without --cluster
  std::string checkpoint;
  std::string trace;  // content of a timeline
  std::string check;
  std::string keep_servers;
  std::string insecure;
  std::string timeout;
};

/// Options in order: PROGRAM, --cluster, --jobs and --task, then `own`, then the rest.
std::vector<cli::Option> options(Common& common, std::vector<cli::Option> own, Words words);

/// How find_cluster() looks.
struct Search {
  bool required = true;              // else stdin isn't read, and the config is empty if no cluster is given
  bool prefers_environment = false;  // stdin isn't read where TF_CONFIG names a cluster
};
/// Finds the cluster by --cluster, --jobs, --hostfile, --task, stdin and the environment. kFailedPrecondition: hosts of
/// other TPU slices aren't known.
Result<cluster::ClusterConfig> find_cluster(const Common& common, resolve::InputReader& input, cli::Io& io,
                                            Search search);

/// Reads and checks the program, with --set and --data-root. Prints all errors except the returned one.
Result<program::Program> load_program(const Common& common, program::ProgramOptions options, std::string_view tool,
                                      cli::Io& io);
/// The same for a known cluster: if workers are on other hosts, data files missing here are named, since workers may
/// have them; else they are an error.
Result<program::Program> load_program_on(const cluster::ClusterConfig& config, const Common& common,
                                         program::ProgramOptions options, std::string_view tool, cli::Io& io);
/// The same for a program that was loaded with Program::missing_data before the cluster was known.
Result<program::Program> find_data(program::Program program, const Common& common, program::ProgramOptions options,
                                   const cluster::ClusterConfig& config, std::string_view tool, cli::Io& io);

/// Prints with -v the memory that the variables take on each parameter server. kResourceExhausted if all tasks are on
/// this host and it hasn't enough.
Result<void> check_memory(const program::Program& program, const cluster::ClusterConfig& config, cli::Io& io);

/// Warnings for several workers that run this function, or any function if none is named (see lost_updates_of()).
/// `program` is as it was read, so that JSON paths are the file's.
std::vector<std::string> find_lost_updates(const program::Program& program, const std::string& function,
                                           bool is_certain);
/// Warning if training on `replicas` differs from training on one, since the step assigns variables, possibly
/// statistics of each replica's data, as batch normalization does.
std::optional<std::string> split_training_of(const program::Program& program, std::int64_t replicas);

/// Prints a line of the tool on stderr, unless -q is given.
void say(cli::Io& io, std::string_view tool, const std::string& line);

/// Connects a training to events, progress, checkpoints, the board of --http and the commands of --on, if there are
/// any. `progress` and `io` must outlive it. Errors of Events::open().
Result<void> connect_sinks(train::TrainOptions& train, const Common& common, cli::Progress& progress, cli::Io& io,
                           std::shared_ptr<http::Board> board, std::shared_ptr<EventCommands> commands = nullptr);

/// The settings of a training as TrainOptions::settings: program (its SHA-256), overrides, seed, strategy (if it is
/// stated) and versions. `has_devices`: this process has the devices, so that its plug-in is a setting, too.
std::string describe_settings(const Common& common, const program::Program& program, std::string_view strategy,
                              bool has_devices, cli::Io& io);

/// Opens --trace if it is given; else returns null. Errors of Trace::open().
Result<std::shared_ptr<train::Trace>> open_trace(const Common& common);

/// Opens --logdir if it is given. `task` owns the metrics if several tasks write; else empty. Errors of
/// EventFiles::open().
Result<void> connect_logdir(train::TrainOptions& train, const Common& common, const std::string& task, cli::Io& io);

/// The next command after this training, apart from the checkpoint at the end: an evaluation, or, if it has none, a
/// look at the trained weights.
std::string next_command(const Common& common, const program::TrainDef& train);

/// How a training was run, for the messages at its end.
struct Ending {
  std::string_view tool;
  std::string task = {};   // task whose steps these are, if several train
  bool evaluates = false;  // it trained nothing, but evaluated checkpoints
  bool joins = false;      // another task saves checkpoints, and this one can rejoin it
  std::string command;     // train::command_to_continue()
  std::string next = {};   // next_command(), for people at a terminal; empty: another task says it
  int signal = 0;          // that has ended it
};
/// Prints how far it came and what to do next, and returns the exit code. A training that was interrupted and can't be
/// continued ends the process by the signal.
int conclude(const train::TrainSummary& summary, const Ending& ending, cli::Io& io);

}  // namespace tfd::training
