#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The parameter server's half of a task: its variables and what is done to them.
// Thread rule: lives on the endpoint's I/O thread, where nothing blocks: a program is compiled and its variables are
// made on a thread of their own, while others are still served.
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "protocol.hpp"
#include "tfd/base/error.hpp"
#include "tfd/runtime/rules.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::runtime {

/// The variables that every worker has of its own, with their initial values.
Result<variable::VariableStore> make_own_store(const program::Program& program, const ReplicaCopies& copies);

class PsService {
 public:
  /// The engine is for optimizers of one's own.
  PsService(std::string name, MakeEngine make_engine) : name_(std::move(name)), make_engine_(std::move(make_engine)) {}

  ~PsService() { stop(); }
  /// Waits for what is being compiled; what hasn't been begun is dropped. Not on the I/O thread.
  void stop();

  using Post = std::function<void(std::function<void()>)>;  // to the I/O thread
  /// Makes the variables that the placement gives to this task, unless they are those of this epoch already; answered
  /// when they are there. TaskServer has looked at the epochs of this and of all other requests.
  void load_program(LoadProgram load, Post post, transport::Responder responder);
  Result<transport::Message> read(const transport::Message& request) const;
  Result<transport::Message> read_rows(const transport::Message& request) const;
  Result<transport::Message> update(const transport::Message& request);
  Result<void> assign(const transport::Message& request);
  Result<void> assign_rows(const transport::Message& request);
  Result<void> settle(const transport::Message& request);
  Result<transport::Message> export_state() const;
  Result<void> import_state(const transport::Message& request);
  void use_averages() { store_.use_averages(); }

  void fill(TaskStatus& status) const;
  std::uint64_t epoch() const { return epoch_; }
  /// Of whoever asked for it last, while that program is still being loaded, too.
  std::uint64_t newest() const { return newest_; }

 private:
  struct Loading {
    LoadProgram load;
    int position = 0;
    Post post;
    std::shared_ptr<transport::Responder> responder;  // with the action that is posted
    std::optional<Result<variable::VariableStore>> store = {};
  };
  void run_loads();
  void loaded(Loading& loading);

  std::string name_;
  MakeEngine make_engine_;
  std::uint64_t epoch_ = 0;
  std::uint64_t newest_ = 0;  // epoch that asked to be loaded
  std::size_t loading_ = 0;   // not answered yet
  Clock::time_point loading_since_{};
  std::uint64_t updates_ = 0;  // requests answered
  Clock::time_point updated_ = Clock::now();
  variable::VariableStore store_;

  std::mutex mutex_;  // of what follows: with the loading thread, and with stop()
  std::deque<std::shared_ptr<Loading>> loads_;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread loader_;  // since the first program
};

}  // namespace tfd::runtime
