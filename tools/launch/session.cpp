// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::tool_launch {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

constexpr int kMostStops = 3;  // the third kills the tasks, the next leaves the other launchers

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
    const std::size_t tasks = options_.joint ? static_cast<std::size_t>(options_.joint->tasks) : members.here.size();
    launch::OutputRelay relay(loop_, {.prefixed = options_.prefixed,
                                      .as_is = !options_.prefixed && tasks == 1,
                                      .on_failure = [this](Error error) { stop_with(std::move(error)); }});
    relay_ = &relay;
    if (options_.joint) report_to_others();
    std::ranges::copy_if(options_.faults, std::back_inserter(options_.group.faults_at_steps),
                         [](const launch::Fault& fault) { return fault.step.has_value(); });
    launch::TaskGroup group(loop_, relay, std::move(files), options_.group, std::move(members.here),
                            [this](const std::string& line) { say(line); });
    group_ = &group;
    loop_.watch(signals.fd(), POLLIN, [&](short) {
      while (const auto signal = signals.next()) on_signal(*signal);
    });
    if (options_.remote != nullptr) options_.remote->watch(loop_, [this](int number) { on_signal(number); });
    if (options_.timeout) loop_.at(Clock::now() + *options_.timeout, [this] { expire(); });
    if (options_.joint)
      TFD_TRY(meet());
    else
      start();
    while (!gives_up_ && !(has_ended() && relay.is_idle())) TFD_TRY(loop_.turn());
    rendezvous_.reset();
    if (error_) return fail(std::move(*error_));
    if (!options_.joint) end_ = group.end();
    return start_code_ != 0 ? start_code_ : end_.code;
  }

  /// The signal to end by; 0: none.
  int signal() const { return options_.remote == nullptr ? end_.signal : 0; }

 private:
  void say(const std::string& line) {
    if (!io_.quiet) relay_->say("tfd-launch: " + line);
  }

  /// This host's tasks alone.
  void start() {
    plan_faults();
    const auto started = group_->start();
    if (started) return;
    relay_->say(fmt::format("tfd-launch: {}", started.error().message));
    start_code_ = process::exit_code_of_start_error(started.error());
  }

  void plan_faults() {
    for (const launch::Fault& fault : options_.faults)
      if (!fault.step)
        loop_.at(Clock::now() + fault.after, [this, fault] { group_->signal(fault.task, fault.signal); });
  }

  bool has_ended() const {
    if (!options_.joint) return group_->ended();
    return group_->is_idle() && (is_alone_ || rendezvous_->is_done());
  }

  // ---- with launchers of other hosts

  void report_to_others() {
    using Report = rendezvous::Report;
    options_.group.on_failure = [this](const launch::TaskFailure& failure) {
      rendezvous_->report({.kind = Report::Kind::kFailed,
                           .generation = generation_,
                           .task = failure.task,
                           .line = failure.line,
                           .cause = failure.cause,
                           .time = failure.time,
                           .step = failure.step,
                           .code = failure.status.code,
                           .signal = failure.status.signal,
                           .is_refused = failure.is_refused,
                           .is_final = failure.is_final});
    };
    if (options_.joint->rendezvous.agreement.bounds.is_elastic)
      options_.group.on_standings = [this](const launch::Standings& standings) {
        rendezvous_->report({.kind = Report::Kind::kStanding, .generation = generation_, .standings = standings});
      };
    options_.group.on_idle = [this](int generation) {
      rendezvous_->report({.kind = Report::Kind::kIdle, .generation = generation});
    };
  }

  Result<void> meet() {
    rendezvous::RendezvousOptions& options = options_.joint->rendezvous;
    options.say = [this](const std::string& line) { say(line); };
    options.on_command = [this](const rendezvous::Command& command) { obey(command); };
    options.on_failure = [this](Error error) {
      if (!error_) error_ = std::move(error);
      is_alone_ = true;
      group_->halt();
    };
    rendezvous_ = TFD_TRY(rendezvous::Rendezvous::open(loop_, std::move(options)));
    return {};
  }

  void obey(const rendezvous::Command& command) {
    using Kind = rendezvous::Command::Kind;
    // A signal is no news where one tfd-launch sends it to all.
    const bool is_news = command.kind != Kind::kStop || (command.count > stops_ && options_.remote == nullptr);
    if (!command.line.empty() && is_news) say(command.line);
    switch (command.kind) {
      case Kind::kSay:
        return;
      case Kind::kStart: {
        is_alone_ = error_.has_value();  // a start again, without this host
        if (is_alone_) return;
        auto members = options_.joint->members(command.plan);
        if (!members) return stop_with(std::move(members).error());
        generation_ = command.plan.generation;
        if (!std::exchange(has_started_, true)) plan_faults();
        return group_->start_again(generation_, std::move(*members), command.plan.joins);
      }
      case Kind::kReplace: {
        auto members = options_.joint->members(command.plan);
        if (!members) return stop_with(std::move(members).error());
        generation_ = command.plan.generation;
        return group_->replace_failed(generation_, std::move(*members), command.wait);
      }
      case Kind::kHalt:
        return group_->halt();
      case Kind::kStop:
        for (; stops_ < command.count; ++stops_) group_->stop(command.signal);
        return;
      case Kind::kEnd:
        // A launcher that wasn't sent the signal itself ends with its code.
        end_ = {.code = command.code, .signal = own_signal_ == command.signal ? command.signal : 0};
        return;
    }
  }

  /// A signal that asks for the end, to this launcher.
  void stop_all(int number) {
    ++own_stops_;
    own_signal_ = number;
    if (!rendezvous_->has_joined() || own_stops_ > kMostStops) {
      end_ = {.code = 128 + number, .signal = number};
      gives_up_ = true;
      return;
    }
    if (own_stops_ <= stops_) return;  // another launcher got it, too, and was faster
    stops_ = own_stops_;
    group_->stop(number);
    // A host that is taken away sends SIGTERM; at a terminal, and through the tfd-launch of --hosts, all are meant.
    const bool is_own = number == SIGTERM && own_stops_ == 1 && options_.remote == nullptr;
    rendezvous_->report({.kind = is_own ? rendezvous::Report::Kind::kLeave : rendezvous::Report::Kind::kStop,
                         .generation = generation_,
                         .signal = number,
                         .count = stops_});
  }

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
      case SIGHUP:
        // The kernel and the shell may both send it where a terminal is closed, which asks once.
        if (std::exchange(has_hung_up_, true)) return;
        [[fallthrough]];
      default:
        gives_up_ = has_ended();  // only the reader of our output is waited for
        return options_.joint ? stop_all(number) : group_->stop(number);
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
    const std::string why = fmt::format("{} still {} after {} (--timeout)", join_words(names),
                                        names.size() == 1 ? "runs" : "run", format_duration(*options_.timeout));
    if (!options_.joint) return group_->expire(why);
    if (!rendezvous_->has_joined()) return stop_with({Code::kDeadlineExceeded, why, {}});
    rendezvous_->report({.kind = rendezvous::Report::Kind::kExpired, .generation = generation_, .line = why});
  }

  void stop_with(Error error) {
    is_alone_ = !rendezvous_ || !rendezvous_->has_joined();
    if (!is_alone_)
      rendezvous_->report({.kind = rendezvous::Report::Kind::kFailed,
                           .generation = generation_,
                           .line = error.message,
                           .code = static_cast<int>(cli::exit_code_of(error))});
    if (!error_) error_ = std::move(error);
    if (group_ != nullptr) group_->stop(SIGTERM);
  }

  SessionOptions options_;
  cli::Io& io_;
  process::EventLoop loop_;
  launch::OutputRelay* relay_ = nullptr;
  launch::TaskGroup* group_ = nullptr;
  std::unique_ptr<rendezvous::Rendezvous> rendezvous_;
  std::optional<Error> error_;
  launch::GroupEnd end_;
  int start_code_ = 0;
  bool gives_up_ = false;
  bool has_hung_up_ = false;  // SIGHUP came
  int generation_ = 0;        // of a joint start
  bool has_started_ = false;
  bool is_alone_ = false;  // the others are no longer waited for
  int stops_ = 0;          // signals that asked for the end, to whichever launcher got most
  int own_stops_ = 0;      // the same, to this one
  int own_signal_ = 0;     // the last such that this one got
};

}  // namespace

Result<int> run_session(SessionOptions options, launch::Members members, cli::Io& io) {
  Session session(std::move(options), io);
  const int code = TFD_TRY(session.run(std::move(members)));
  if (session.signal() != 0) process::die_of_signal(session.signal());
  return code;
}

}  // namespace tfd::tool_launch
