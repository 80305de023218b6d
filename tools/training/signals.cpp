// SPDX-License-Identifier: Apache-2.0
#include "signals.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <span>

#include "tfd/base/units.hpp"

namespace tfd::training {

void end_process(std::string_view tool, const Error& why, cli::Io& io) {
  (void)io.err.write(cli::error_line(tool, why));
  ::_exit(static_cast<int>(cli::exit_code_of(why)));
}

Result<std::unique_ptr<SignalThread>> SignalThread::start(std::string tool, Duration grace, cli::Io& io, bool trains) {
  constexpr std::array kSignals{SIGUSR1, SIGTERM, SIGINT, SIGHUP, SIGPIPE};
  const std::span<const int> all(kSignals);
  auto source = TFD_TRY(process::SignalSource::make(trains ? all : all.first(kSignals.size() - 1)));
  return std::unique_ptr<SignalThread>(
      new SignalThread(std::move(tool), std::move(source), TFD_TRY(process::make_pipe()), grace, io));
}

SignalThread::SignalThread(std::string tool, process::SignalSource source, process::Pipe ending, Duration grace,
                           cli::Io& io)
    : tool_(std::move(tool)),
      source_(std::move(source)),
      ending_(std::move(ending)),
      interrupts_(std::make_shared<train::Interrupts>()),
      grace_(grace),
      io_(io),
      thread_([this] { run(); }) {}

void SignalThread::run() {
  pollfd fds[] = {{source_.fd(), POLLIN, 0}, {ending_.read.get(), POLLIN, 0}};
  for (;;) {
    const int ready = ::poll(fds, 2, gives_up_.poll_ms());
    if (ready > 0 && fds[1].revents != 0) return;
    while (const auto signal = source_.next()) take(*signal);
    if (!gives_up_.expired()) continue;
    end_process(  // the main thread waits for tasks that don't answer
        tool_,
        {Code::kDeadlineExceeded,
         fmt::format("did not end within the grace period of {}; the same command continues", format_duration(grace_)),
         {}},
        io_);
  }
}

void SignalThread::take(int signal) {
  if (signal == SIGUSR1) return interrupts_->ask_checkpoint();
  const auto now = Clock::now();
  if (!training_) process::die_of_signal(signal);
  if (stopped_by_ != 0) {
    // A terminal that is closed may send SIGHUP several times, and a reader that is gone SIGPIPE.
    const bool is_asked_again = signal == SIGTERM || signal == SIGINT;
    if (is_asked_again && now - stopped_at_ >= std::chrono::seconds(1)) process::die_of_signal(signal);
    return;  // the same Ctrl-C again, forwarded by another process
  }
  stopped_at_ = now;
  stopped_by_ = signal;
  gives_up_ = Deadline::after(grace_);
  io_.log.info("stopping at the next step, within {}", format_duration(grace_));
  interrupts_->ask_stop();
}

}  // namespace tfd::training
