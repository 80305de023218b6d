// SPDX-License-Identifier: Apache-2.0
//
// A function of the kind `command`. Thread rule: thread-safe. A kept filter is started, spoken to and ended on one
// thread of its own, for a child dies with the thread that started it (process/child.hpp).
#include <poll.h>

#include <condition_variable>
#include <stop_token>
#include <thread>

#include "command_lines.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/command/command_process.hpp"
#include "tfd/function/command.hpp"

namespace tfd::function {
namespace {

class CommandFunction final : public Function {
 public:
  CommandFunction(command::CommandDef command, command::CommandPlace place, hlo::Signature signature)
      : command_(std::move(command)),
        place_(std::move(place)),
        signature_(std::move(signature)),
        most_(most_result_bytes(signature_)) {
    if (command_.keep) thread_ = std::jthread([this](std::stop_token stop) { serve(stop); });
  }

  const hlo::Signature& signature() const override { return signature_; }

  Result<std::vector<tensor::Tensor>> call(const std::vector<tensor::Tensor>& arguments) override {
    TFD_TRY(hlo::check_arguments(signature_, arguments));
    const MutexLock one_at_a_time(call_mutex_);
    const std::string line = format_arguments(arguments);
    if (!command_.keep) return run_once(line);
    MutexLock lock(mutex_);
    asked_ = &line;
    called_.request();
    lock.wait(answered_, Deadline::never(), [this]() TFD_REQUIRES(mutex_) { return answer_.has_value(); });
    auto answer = std::move(*answer_);
    answer_.reset();
    return answer;
  }

 private:
  using Answer = Result<std::vector<tensor::Tensor>>;

  Error named(Error error, std::string_view extra = "") const {
    error.message = fmt::format("command '{}' {}{}", printable(command_.argv[0]), error.message, extra);
    return error;
  }

  Answer run_once(const std::string& line) const {
    auto process = TFD_TRY(command::CommandProcess::start(command_, place_));
    const std::string text = TFD_TRY(process.run_once(line, most_, Deadline::after(command_.timeout)));
    if (signature_.results.empty()) return std::vector<tensor::Tensor>{};
    auto results = parse_results(text, signature_);
    if (!results) return fail(named(std::move(results).error()));
    return results;
  }

  void serve(const std::stop_token& stop) {
    const std::stop_callback on_stop(stop, [this] { called_.request(); });
    std::optional<command::CommandProcess> filter;
    while (const std::string* line = wait_for_call(filter, stop)) {
      Answer answer = ask(filter, *line);
      if (!answer) filter.reset();  // its next line would answer this call, not the next
      const MutexLock lock(mutex_);
      answer_.emplace(std::move(answer));
      answered_.notify_all();
    }
  }

  /// Waits for the next call and returns its line, whose caller is blocked; null at the end. A filter that is stopped
  /// meanwhile ends.
  const std::string* wait_for_call(std::optional<command::CommandProcess>& filter, const std::stop_token& stop) {
    for (;;) {
      pollfd fds[] = {{called_.fd(), POLLIN, 0}, {filter && place_.stop ? place_.stop->fd() : -1, POLLIN, 0}};
      ::poll(fds, 2, -1);
      if (stop.stop_requested()) return nullptr;
      if (fds[1].revents != 0) {
        filter->stop();
        filter.reset();
      }
      if (fds[0].revents == 0) continue;
      called_.clear();
      const MutexLock lock(mutex_);
      if (asked_ != nullptr) return std::exchange(asked_, nullptr);
    }
  }

  Answer ask(std::optional<command::CommandProcess>& filter, const std::string& line) const {
    if (filter && filter->is_spoilt()) filter.reset();
    const bool is_fresh = !filter;
    if (!filter) filter.emplace(TFD_TRY(command::CommandProcess::start(command_, place_)));
    auto answer = filter->exchange(line, most_, Deadline::after(command_.timeout));
    if (!answer && !is_fresh && filter->left_unread()) {  // it was exiting when we checked
      filter.reset();
      filter.emplace(TFD_TRY(command::CommandProcess::start(command_, place_)));
      answer = filter->exchange(line, most_, Deadline::after(command_.timeout));
    }
    const std::string text = TFD_TRY(std::move(answer));
    if (signature_.results.empty()) return std::vector<tensor::Tensor>{};
    auto results = parse_results(text, signature_);
    if (!results) return fail(named(std::move(results).error()));
    return results;
  }

  const command::CommandDef command_;
  const command::CommandPlace place_;
  const hlo::Signature signature_;
  const std::size_t most_;
  Mutex call_mutex_;  // held by a call
  Mutex mutex_;
  std::condition_variable answered_;
  const command::CommandStop called_;  // wakes the filter's thread: for a call, or to end
  const std::string* asked_ TFD_GUARDED_BY(mutex_) = nullptr;
  std::optional<Answer> answer_ TFD_GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace

std::shared_ptr<Function> make_command_function(command::CommandDef command, command::CommandPlace place,
                                                hlo::Signature signature) {
  return std::make_shared<CommandFunction>(std::move(command), std::move(place), std::move(signature));
}

}  // namespace tfd::function
