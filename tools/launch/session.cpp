// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <poll.h>
#include <signal.h>

#include <array>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::tool_launch {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

/// Stops this process as the terminal wanted it (Ctrl-Z), and returns when it goes on.
void stop_here() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTSTP);
  ::raise(SIGTSTP);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);  // stops here; not in a group that no shell would continue
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

class Session {
 public:
  Session(SessionOptions options, cli::Io& io) : options_(std::move(options)), io_(io) {}

  Result<int> run(launch::Members members) {
    auto files = TFD_TRY(launch::ErrorFiles::make(options_.error_directory, io_.env));
    auto signals = TFD_TRY(process::SignalSource::make(kSignals));
    launch::OutputRelay relay(loop_, {.prefixed = options_.prefixed,
                                      .as_is = !options_.prefixed && members.here.size() == 1,
                                      .on_failure = [this](Error error) { stop_with(std::move(error)); }});
    launch::TaskGroup group(loop_, relay, std::move(files), options_.group, std::move(members.here),
                            [this, &relay](const std::string& line) {
                              if (!io_.quiet) relay.say("tfd-launch: " + line);
                            });
    group_ = &group;
    loop_.watch(signals.fd(), POLLIN, [&](short) {
      while (const auto signal = signals.next()) on_signal(*signal);
    });
    if (options_.timeout) loop_.at(Clock::now() + *options_.timeout, [this] { expire(); });
    for (const launch::Fault& fault : options_.faults)
      loop_.at(Clock::now() + fault.after, [&group, fault] { group.signal(fault.task, fault.signal); });
    if (const auto started = group.start(); !started) {
      relay.say(fmt::format("tfd-launch: {}", started.error().message));
      start_code_ = process::exit_code_of_start_error(started.error());
    }
    while (!gives_up_ && !(group.ended() && relay.is_idle())) TFD_TRY(loop_.turn());
    if (error_) return fail(std::move(*error_));
    end_ = group.end();
    return start_code_ != 0 ? start_code_ : end_.code;
  }

  /// The signal to end by; 0: none.
  int signal() const { return end_.signal; }

 private:
  void on_signal(int number) {
    switch (number) {
      case SIGUSR1:
      case SIGUSR2:
      case SIGCONT:
        return group_->signal(number);
      case SIGTSTP:
        group_->signal(SIGTSTP);
        stop_here();
        return group_->signal(SIGCONT);
      default:
        gives_up_ = group_->ended();  // only the reader of our output is waited for
        return group_->stop(number);
    }
  }

  void expire() {
    std::vector<std::string> names = group_->running();
    if (names.empty()) names.emplace_back("nothing");  // before the next start
    if (names.size() > 4) {
      const std::string rest = fmt::format("{} more", names.size() - 3);
      names.resize(3);
      names.push_back(rest);
    }
    group_->expire(fmt::format("{} still {} after {} (--timeout)", join_words(names),
                               names.size() == 1 ? "runs" : "run", format_duration(*options_.timeout)));
  }

  void stop_with(Error error) {
    if (!error_) error_ = std::move(error);
    if (group_ != nullptr) group_->stop(SIGTERM);
  }

  SessionOptions options_;
  cli::Io& io_;
  process::EventLoop loop_;
  launch::TaskGroup* group_ = nullptr;
  std::optional<Error> error_;
  launch::GroupEnd end_;
  int start_code_ = 0;
  bool gives_up_ = false;
};

}  // namespace

Result<int> run_session(SessionOptions options, launch::Members members, cli::Io& io) {
  Session session(std::move(options), io);
  const int code = TFD_TRY(session.run(std::move(members)));
  if (session.signal() != 0) process::die_of_signal(session.signal());
  return code;
}

}  // namespace tfd::tool_launch
