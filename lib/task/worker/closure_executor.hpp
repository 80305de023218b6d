#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The running half of a worker: the program that it holds with its functions compiled, iterators, the worker's own
// variables, and those of parameter servers as it sees them. WorkerService says what is run when, and for whom.
// Thread rule: one thread, the worker's executor; what is marked so may be called from any.
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "client/activity.hpp"
#include "messages/protocol.hpp"
#include "tfd/step/step_runner.hpp"
#include "tfd/task/parameter_servers.hpp"
#include "tfd/task/task_server.hpp"

namespace tfd::task {

class ClosureExecutor {
 public:
  ClosureExecutor(transport::Endpoint& endpoint, const TaskServerOptions& options, Activity& activity);

  /// The epoch of the program that is loaded; 0: none. From any thread.
  std::uint64_t epoch() const { return epoch_; }
  /// Of the program's commands: they end while it is requested. From any thread.
  const function::CommandStop& commands() const { return *stop_commands_; }

  /// Loads the program that was brought, unless it is there: then only iterators are ended that somebody made by name.
  /// Whatever fails leaves the program that was there before.
  Result<transport::Message> load(const transport::Message& request, const std::optional<transport::Message>& program,
                                  const std::stop_token& stop);
  /// Whatever else a worker is asked about its program but kRun. `stop`: nobody waits for the answer any more.
  Result<transport::Message> answer(const transport::Message& request, const std::stop_token& stop);
  Result<ClosureOutcome> run(const step::FunctionCall& call, const std::stop_token& stop);

  /// After commands were stopped: an iterator whose map was stopped on its way keeps that as its end, so it is made
  /// anew for who comes next.
  void forget_stopped();
  /// Ends what uses the endpoint, and elements that are being made.
  void end();

 private:
  Result<void> replace_program(const LoadProgram& load);
  Result<step::ReplicaCopies> make_copies(const program::Program& program, const Placement& placement) const;
  Result<void> create_iterator(const CreateIterator& create);
  Result<step::WorkerIterator*> find_iterator(const std::string& id);
  Result<void> position_iterators(const program::FunctionDef& def, const step::FunctionCall& call);
  bool is_dynamic(const std::string& dataset) const;
  bool is_own(std::string_view variable) const;
  /// Takes those of the worker's own out of the names.
  Result<step::VariableValues> read_own(std::vector<std::string>& names) const;
  /// What the call reads, of what its arguments name too. kNotFound.
  Result<std::vector<std::string>> variables_of(const step::CompiledFunction& function,
                                                const step::FunctionCall& call) const;
  /// Copies where a variable has any; one snapshot of each parameter server's. `meanwhile` is called once the request
  /// is on its way.
  Result<step::VariableValues> read_variables(std::vector<std::string> names,
                                              const std::function<Result<void>()>& meanwhile);
  Result<std::vector<tensor::Tensor>> look_up(const std::vector<step::RowLookup>& lookups);
  Result<void> apply_updates(const step::FunctionCall& call, std::vector<variable::Update> updates, bool is_skipped);
  Result<std::vector<step::Metric>> evaluate(const Evaluate& evaluate);
  Result<transport::Message> read(const transport::Message& request) const;
  Result<void> assign(const transport::Message& request);

  transport::Endpoint& endpoint_;
  const TaskServerOptions& options_;
  Activity& activity_;
  const std::shared_ptr<const function::CommandStop> stop_commands_;  // shared with the commands
  std::atomic<std::uint64_t> epoch_{0};
  std::stop_token stop_;  // of what is run now

  int replicas_ = 1;
  std::shared_ptr<function::Engine> engine_;  // shared with the functions it compiled
  std::unique_ptr<step::CompiledProgram> program_;
  std::optional<step::StepRunner> steps_;
  std::unique_ptr<ParameterServers> variables_;
  std::map<std::string, step::WorkerIterator, std::less<>> iterators_;
  WorkerOrders orders_;          // of iterators of the program's own datasets that are made from now on
  variable::VariableStore own_;  // of variables with per_worker
  std::uint64_t own_updates_ = 0;
};

}  // namespace tfd::task
