#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The parameter server's half of a task: its variables and what is done to them.
// Thread rule: lives on the endpoint's I/O thread, where nothing blocks: it is decided there what is done and in which
// order, and a few threads do it (served_variables.hpp). A program is compiled and its variables are made on a thread
// of their own, while others are still served.
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "messages/protocol.hpp"
#include "state_transfers.hpp"
#include "tfd/base/error.hpp"
#include "tfd/step/rules.hpp"
#include "tfd/variable/store.hpp"
#include "variable_queues.hpp"

namespace tfd::task {

/// The variables that every worker has of its own, with their initial values.
Result<variable::VariableStore> make_own_store(const program::Program& program, const step::ReplicaCopies& copies);

class PsService {
 public:
  /// The engine is for optimizers of one's own. `threads` apply updates; 0: as many as the cores, up to a few.
  PsService(std::string name, step::MakeEngine make_engine, int threads = 0);
  ~PsService() { stop(); }

  using Post = std::function<void(std::function<void()>)>;  // to the I/O thread
  using PostAt = std::function<void(Clock::time_point, std::function<void()>)>;
  /// Before the first request.
  void begin(Post post, PostAt post_at);
  /// Waits for what is being compiled or applied; what hasn't been begun is dropped. Not on the I/O thread.
  void stop();

  /// Makes the variables that the placement gives to this task, unless they are those of this epoch already; answered
  /// when they are there. TaskServer has looked at the epochs of this and of all other requests.
  void load_program(LoadProgram load, transport::Responder responder);
  /// The run goes on as another epoch.
  void adopt(const transport::Message& request, transport::Responder responder);
  /// Any other request.
  void handle(const transport::Caller& caller, const transport::Message& request, transport::Responder responder);
  /// What it waits for, and the states that it moves, are given up.
  void caller_gone(const transport::Caller& caller);
  /// The update of this sequence number of client 0.
  bool is_applied(std::uint64_t sequence) const { return served_->store().applied().contains(sequence); }

  void fill(TaskStatus& status) const;
  std::uint64_t epoch() const { return epoch_; }
  /// Of whoever asked for it last, while that program is still being loaded, too.
  std::uint64_t newest() const { return newest_; }

 private:
  struct Loading {
    LoadProgram load;
    int position = 0;
    std::shared_ptr<transport::Responder> responder;  // with the action that is posted
    std::optional<Result<variable::VariableStore>> store = {};
    bool has_modules = false;
  };
  /// A read that would keep one more version of a variable alive than may be.
  struct WaitingRead {
    std::uint64_t connection = 0;
    Deadline deadline;
    Clock::time_point since;
    std::vector<std::string> names;
    transport::Responder responder;
  };
  Result<transport::Message> adopt(const transport::Message& request);
  void epoch_is(std::uint64_t epoch);
  void run_loads();
  void loaded(Loading& loading);

  void read(const transport::Caller& caller, const transport::Message& request, transport::Responder responder);
  /// Answers or begins it; false where it must wait.
  bool try_read(WaitingRead& read, const std::vector<bool>* claims);
  void look_at_waiting();
  // These reply, or leave the responder where it is and say why not.
  Result<void> read_rows(const transport::Message& request, transport::Responder& responder);
  Result<void> update(const transport::Message& request, transport::Responder& responder);
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

  std::string name_;
  step::MakeEngine make_engine_;
  Post post_;
  PostAt post_at_;
  std::uint64_t epoch_ = 0;
  std::uint64_t newest_ = 0;  // epoch that asked to be loaded
  std::size_t loading_ = 0;   // not answered yet
  Clock::time_point loading_since_{};
  std::uint64_t updates_ = 0;  // requests answered
  Clock::time_point updated_ = Clock::now();
  VariableExecutor executor_;
  std::shared_ptr<PinWatch> watch_;         // with the pins that are still about
  std::shared_ptr<VariableQueues> served_;  // with the requests that are under way; never null
  bool has_modules_ = false;                // they are updated by modules of one's own
  std::deque<WaitingRead> waiting_;         // in the order they came
  StateTransfers states_;

  std::mutex mutex_;  // of what follows: with the loading thread, and with stop()
  std::deque<std::shared_ptr<Loading>> loads_;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread loader_;  // since the first program
};

}  // namespace tfd::task
