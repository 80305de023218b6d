#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A question to several parameter servers at once, and the wait for those that were cut off. Private to the room.
// Thread rule: thread-safe; answers come on the I/O thread.
#include <algorithm>
#include <condition_variable>
#include <set>

#include "activity.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/task/parameter_servers.hpp"

namespace tfd::task {

/// Time for which a thread that waits does the endpoint's I/O: what takes longer may come by another thread.
inline constexpr Duration kDrivenAtMost = std::chrono::milliseconds(20);

/// Positions of the servers that have parts.
template <class Parts>
std::vector<std::size_t> with_parts(const Parts& parts) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!parts[i].empty()) out.push_back(i);
  return out;
}

/// A question to some parameter servers until all have answered. Those that failed can be asked again.
class ParameterServers::Operation : public Waits, public std::enable_shared_from_this<Operation> {
 public:
  using Done = std::function<void(std::optional<Error>)>;  // keeps the operation
  using Question = std::function<void(ServerClient& task, Done done)>;
  struct Failure {
    std::size_t server;
    Error error;
  };

  /// Unchecked: before start(), nobody else uses it.
  void add(std::size_t server, const std::string& name, Question question) TFD_UNCHECKED_THREADS {
    parts_.push_back({server, name, std::move(question)});
  }

  /// Asks those that haven't answered and aren't being asked.
  void start(std::vector<ServerClient>& tasks);

  /// Waits for all answers, or for the first failure. Each request ends by its own deadline. `driven`: the endpoint
  /// whose work this thread does meanwhile, or none.
  Result<void> wait(const std::stop_token& stop, bool for_all, transport::Endpoint* driven);

  /// Takes the failures; start() asks those servers again.
  std::vector<Failure> take_failures();

  /// Calls `finished` when all have answered, on the I/O thread, or now; with the first failure, if there is one.
  void then(std::function<void(Result<void>)> finished);

  std::vector<std::string> missing() const override;

 private:
  enum class PartState : std::uint8_t { kToAsk, kAsked, kAnswered };
  struct Part {
    std::size_t server;
    std::string name;
    Question question;
    PartState state = PartState::kToAsk;
    std::optional<Error> error = {};
  };

  bool has(PartState state) const TFD_REQUIRES(mutex_) {
    return std::ranges::find(parts_, state, &Part::state) != parts_.end();
  }

  bool is_over(bool for_all) const TFD_REQUIRES(mutex_) {
    return !has(PartState::kAsked) || (!for_all && first_failure_.has_value());
  }
  void answered(Part& part, std::optional<Error>& error);
  /// Takes the callback that is due now, with its argument.
  std::function<void()> take_finished() TFD_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::condition_variable_any done_;
  std::vector<Part> parts_ TFD_GUARDED_BY(mutex_);  // complete before the first start()
  std::optional<Error> first_failure_ TFD_GUARDED_BY(mutex_);
  std::function<void(Result<void>)> finished_ TFD_GUARDED_BY(mutex_);
};

/// Waits for disconnected parameter servers whose processes aren't known to have ended.
class ParameterServers::Rejoin {
 public:
  explicit Rejoin(Duration patience) : patience_(patience) {}

  /// Notes which processes have ended. On the I/O thread.
  void look(const transport::PeerEvent& event);

  Result<void> wait(ParameterServers& servers, const Error& why, int attempt) const;

 private:
  static constexpr int kAttempts = 5;

  Result<void> wait_for_all(const ParameterServers& servers) const;

  const Duration patience_;
  mutable Mutex mutex_;
  std::set<std::string> gone_ TFD_GUARDED_BY(mutex_);  // tasks whose process has ended: filled on the I/O thread
};

}  // namespace tfd::task
