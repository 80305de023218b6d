#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The parameter server of a task: serves its variables. Thread rule: lives on the endpoint's I/O thread, where nothing
// blocks: requests are ordered there, and a few threads execute them (variable_queues.hpp). A program is compiled and
// its variables are created on a thread of their own, while the previous ones are still served.
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "messages/protocol.hpp"
#include "staged_updates.hpp"
#include "state_transfers.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/step/rules.hpp"
#include "tfd/variable/store.hpp"
#include "variable_queues.hpp"

namespace tfd::task {

/// Makes the worker's own variables, with their initial values.
Result<variable::VariableStore> make_own_store(const program::Program& program, const step::ReplicaCopies& copies);

class PsService {
 public:
  /// The engine is for user-defined optimizers. `threads` apply updates; 0: one per core, up to a few.
  PsService(std::string name, step::MakeEngine make_engine, int threads = 0);
  ~PsService() { stop(); }

  using Post = std::function<void(std::function<void()>)>;  // to the I/O thread
  using PostAt = std::function<void(Clock::time_point, std::function<void()>)>;
  /// Sets the callbacks; called before the first request.
  void begin(Post post, PostAt post_at);
  /// Waits for compilations and updates in progress; requests that haven't started are dropped. Not on the I/O thread.
  void stop();

  /// Creates the variables that are placed on this task, unless it has this epoch already; answered when they exist.
  /// TaskServer has checked the epochs of all requests.
  void load_program(LoadProgram load, transport::Responder responder);
  /// Moves the run to another epoch.
  void adopt(const transport::Message& request, transport::Responder responder);
  /// Any other request.
  void handle(const transport::Caller& caller, const transport::Message& request, transport::Responder responder);
  /// Drops the caller's waiting reads and state transfers.
  void caller_gone(const transport::Caller& caller);
  /// True if client 0's update with this sequence number was applied.
  bool is_applied(std::uint64_t sequence) const { return served_->store().applied().contains(sequence); }

  void fill(TaskStatus& status) const;
  std::uint64_t epoch() const { return epoch_; }
  /// Epoch of the latest load request, also while its program is being loaded.
  std::uint64_t newest() const { return newest_; }

 private:
  struct Loading {
    LoadProgram load;
    int position = 0;
    std::shared_ptr<transport::Responder> responder;  // shared with the posted action
    std::optional<Result<variable::VariableStore>> store = {};
    PartWriter::Names finite = {};  // variables that must be finite in checkpoints
    bool has_modules = false;
  };
  /// A read that would keep too many versions of a variable alive.
  struct WaitingRead {
    std::uint64_t connection = 0;
    Deadline deadline;
    Clock::time_point since;
    std::vector<std::string> names;
    transport::Responder responder;
  };
  /// A request of a worker that waits until what the worker has staged is decided; without a request the answer is only
  /// that it may stage again.
  struct Undecided {
    transport::Caller caller;
    std::optional<transport::Message> request;
    transport::Responder responder;
  };
  Result<transport::Message> adopt(const transport::Message& request);
  void epoch_is(std::uint64_t epoch);
  void run_loads();
  void loaded(Loading& loading);

  void read(const transport::Caller& caller, const transport::Message& request, transport::Responder responder);
  /// Answers or starts a read; false if it must wait.
  bool try_read(WaitingRead& read, const std::vector<bool>* claims);
  void look_at_waiting();
  // These reply, or return an error and leave the responder untouched.
  Result<void> read_rows(const transport::Message& request, transport::Responder& responder);
  Result<void> update(const transport::Message& request, transport::Responder& responder);
  /// Applies updates, whose values it takes; true if they, or the same, are admitted; else the answer is "busy".
  Result<bool> apply(UpdateRequest& update, transport::Responder& responder);
  // ps_staging.cpp
  Result<void> stage(const transport::Caller& caller, const transport::Message& request,
                     transport::Responder& responder);
  Result<void> commit(const transport::Message& request, transport::Responder& responder);
  Result<void> abort(const transport::Message& request);
  void answer_again(const Commit& commit, transport::Responder responder);
  void decided();
  Result<void> assign(const transport::Message& request, transport::Responder& responder);
  Result<void> assign_rows(const transport::Message& request, transport::Responder& responder);
  Result<void> change(Kind kind, std::vector<variable::Update> updates, transport::Responder& responder);
  Result<void> settle(const transport::Message& request, transport::Responder& responder);
  Result<void> find_due(const transport::Message& request, transport::Responder& responder);
  Result<void> make_due(const transport::Message& request, transport::Responder& responder);
  void use_averages(transport::Responder responder);
  void move_state(const transport::Caller& caller, const transport::Message& request, transport::Responder responder);
  void drop_unused_states();
  bool is_small(const std::vector<std::size_t>& targets, const std::vector<variable::Update>& updates) const;
  bool are_rows_alone(const std::vector<std::size_t>& targets, const std::vector<variable::Update>& updates) const;

  std::string name_;
  step::MakeEngine make_engine_;
  Post post_;
  PostAt post_at_;
  std::uint64_t epoch_ = 0;
  std::uint64_t newest_ = 0;  // epoch of the latest load request
  std::size_t loading_ = 0;   // not answered yet
  Clock::time_point loading_since_{};
  std::uint64_t updates_ = 0;  // requests answered
  Clock::time_point updated_ = Clock::now();
  VariableExecutor executor_;
  std::shared_ptr<PinWatch> watch_;         // shared with pins that are still held
  std::shared_ptr<VariableQueues> served_;  // shared with requests in flight; never null
  bool has_modules_ = false;                // they are updated by a user-defined optimizer's modules
  std::deque<WaitingRead> waiting_;         // in the order they came
  StateTransfers states_;
  StagedUpdates staged_;
  std::deque<Undecided> undecided_;  // in the order they came

  Mutex mutex_;  // shared with the loading thread and stop()
  std::deque<std::shared_ptr<Loading>> loads_ TFD_GUARDED_BY(mutex_);
  bool stopping_ TFD_GUARDED_BY(mutex_) = false;
  std::condition_variable wake_;
  std::thread loader_;  // started with the first program, unless stopping_
};

}  // namespace tfd::task
