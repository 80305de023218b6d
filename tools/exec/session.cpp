// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <limits.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/process/child.hpp"

namespace tfd::exec {
namespace {

constexpr std::size_t kMostJobs = 8192;                    // read and not printed
constexpr std::size_t kMostHeld = std::size_t{256} << 20;  // bytes of output buffered to keep the order
constexpr int kNotStarted = 126;

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Shortens a command for a message: one line of limited length.
std::string shortened(const std::string& command) {
  constexpr std::size_t kMost = 200;
  return printable(command.size() <= kMost ? command : command.substr(0, kMost) + "...");
}

std::size_t printed_bytes(const task::CommandOutcome& outcome) {
  return (outcome.output.has_value() ? outcome.output.byte_size() : 0) +
         (outcome.errors.has_value() ? outcome.errors.byte_size() : 0);
}

bool has_failed(const task::CommandOutcome& outcome) {
  return outcome.code != 0 || outcome.timed_out || outcome.overflowed;
}

tensor::Tensor text_tensor(const std::string& text) {
  auto out = tensor::Tensor::uninitialized(tensor::DType::kU8, {static_cast<std::int64_t>(text.size())});
  std::memcpy(out.mutable_data(), text.data(), text.size());
  return out;
}

/// Outcome of a command that couldn't be scheduled, or was given up.
task::CommandOutcome outcome_of(const Error& error) {
  task::CommandOutcome out;
  out.code = kNotStarted;
  out.task = error.task;
  out.started_us = static_cast<std::int64_t>(seconds_since_1970() * 1e6);
  out.output = text_tensor("");
  out.errors = text_tensor(fmt::format("tfd-exec: {}\n", error.message));
  return out;
}

std::string describe(const task::CommandOutcome& outcome) {
  if (outcome.timed_out) return "took longer than --timeout";
  if (outcome.overflowed) return "printed too much";
  return process::describe({outcome.code, outcome.signal});
}

}  // namespace

Result<Summary> Session::run(coordinator::ClusterCoordinator& coordinator, Arguments& arguments) {
  TFD_TRY(loop_->accept_posts());
  loop_->watch(signals_.fd(), POLLIN, [](short) {});  // wakes: take_signal() reads it
  while (!ends_now_) {
    TFD_TRY(schedule_more(coordinator, arguments));
    if (running_ == 0 && (arguments.has_ended() || summary_.halted)) break;
    TFD_TRY(wait(arguments));
    TFD_TRY(take_events(coordinator));
    take_signal();
    TFD_TRY(print_ready());
  }
  for (const auto& [number, job] : jobs_)  // commands that ended out of order
    if (job.outcome) TFD_TRY(print(job));
  summary_.stopped = running_;
  return summary_;
}

bool Session::take_signal() {
  const auto signal = signals_.next();
  if (!signal) return false;
  summary_.signal = *signal;
  ends_now_ = true;
  return true;
}

bool Session::has_room() const { return jobs_.size() < kMostJobs && held_bytes_ < kMostHeld; }

Result<void> Session::schedule_more(coordinator::ClusterCoordinator& coordinator, Arguments& arguments) {
  // --halt soon: the next command starts only once the last one's outcome is known.
  const bool waits = options_.halt.when == Halt::When::kSoon;
  while (!summary_.halted && has_room() && (!waits || running_ < std::max<std::size_t>(1, coordinator.windows()))) {
    const auto next = TFD_TRY(arguments.next());
    if (!next) return {};
    const std::uint64_t number = next_number_++;
    std::string command = command_.fill(*next, number);
    if (TFD_TRY(is_done_before(number, command))) continue;
    Job& job = jobs_[number];
    if (options_.tag) job.tag = as_field(join(*next)) + "\t";
    job.command = std::move(command);
    ++running_;
    TFD_TRY(schedule(coordinator, number));
  }
  return {};
}

Result<bool> Session::is_done_before(std::uint64_t number, const std::string& command) {
  const auto found = before_.find(number);
  if (found == before_.end()) return false;
  if (found->second.command != as_field(command))
    return fail(
        Code::kInvalidArgument,
        "command {} is '{}', but in the joblog it is '{}': the joblog belongs to another run, so it can't be resumed",
        number, shortened(command), shortened(found->second.command));
  ++summary_.skipped;
  return true;
}

Result<void> Session::schedule(coordinator::ClusterCoordinator& coordinator, std::uint64_t number) {
  Job& job = jobs_.at(number);
  ++job.tries;
  job.scheduled = seconds_since_1970();
  coordinator::Call call;
  call.label = fmt::format("command {}", number);
  call.command = task::ShellCommand{job.command, number, options_.timeout};
  const auto post = [this, loop = loop_](Event event) {
    loop->post([this, event = std::move(event)] { events_.push_back(event); });
  };
  call.on_done = [post, number](const coordinator::RemoteValue& value) { post({number, value, {}}); };
  call.on_moved = [post, number](const std::string& task, const std::string&) { post({number, std::nullopt, task}); };
  TFD_TRY(coordinator.schedule(std::move(call)));
  return {};
}

Result<void> Session::take_events(coordinator::ClusterCoordinator& coordinator) {
  for (Event& event : std::exchange(events_, {})) {
    if (!event.value) {
      TFD_TRY(log_moved(event.number, event.task));
      continue;
    }
    if (event.value->state() == coordinator::ClosureState::kCancelled) {  // dropped before it started
      --running_;
      jobs_.erase(event.number);
      continue;
    }
    const bool is_ready = event.value->state() == coordinator::ClosureState::kReady;
    jobs_.at(event.number).is_given_up = !is_ready && event.value->error().code == Code::kAborted;
    TFD_TRY(on_outcome(coordinator, event.number,
                       is_ready ? *event.value->outcome().command : outcome_of(event.value->error())));
    if (ends_now_) return {};
  }
  return {};
}

Result<void> Session::on_outcome(coordinator::ClusterCoordinator& coordinator, std::uint64_t number,
                                 task::CommandOutcome outcome) {
  Job& job = jobs_.at(number);
  const bool failed = has_failed(outcome);
  if (failed && job.tries < options_.tries && !job.is_given_up && !summary_.halted) {
    io_.log.info("command {} {}; trying again: {}", number, describe(outcome), shortened(job.command));
    return schedule(coordinator, number);
  }
  --running_;
  ++summary_.done;
  if (failed && summary_.failed++ == 0)
    summary_.first_failure =
        fmt::format("{}: {}", job.is_given_up ? "lost its workers" : describe(outcome), shortened(job.command));
  TFD_TRY(log_outcome(number, job, outcome));
  held_bytes_ += printed_bytes(outcome);
  job.outcome = std::move(outcome);
  if (!summary_.halted && options_.halt.is_due(summary_.failed, summary_.done)) {
    summary_.halted = true;
    ends_now_ = options_.halt.when == Halt::When::kNow;
    if (!ends_now_) coordinator.drop_queued();
  }
  return {};
}

Result<void> Session::log_outcome(std::uint64_t number, const Job& job, const task::CommandOutcome& outcome) {
  if (!joblog_) return {};
  LogLine line;
  line.number = number;
  line.host = outcome.task.empty() ? "-" : outcome.task;
  line.started = static_cast<double>(outcome.started_us) / 1e6;
  line.duration = static_cast<double>(outcome.duration_us) / 1e6;
  line.sent = job.command.size();
  line.received = printed_bytes(outcome);
  const bool has_ended_itself = !outcome.timed_out && !outcome.overflowed && !job.is_given_up;
  line.signal = job.is_given_up ? SIGKILL : has_ended_itself ? outcome.signal : SIGTERM;
  line.exit_value = !has_ended_itself ? kNoExit : outcome.signal != 0 ? 0 : outcome.code;
  line.command = job.command;
  return joblog_->write(line);
}

/// Logs a lost command with exitval -1 and no signal: it is rescheduled, and its effects on the lost worker are
/// unknown.
Result<void> Session::log_moved(std::uint64_t number, const std::string& task) {
  const auto found = jobs_.find(number);
  if (!joblog_ || found == jobs_.end()) return {};
  LogLine line;
  line.number = number;
  line.host = task;
  line.started = found->second.scheduled;
  line.duration = seconds_since_1970() - found->second.scheduled;
  line.sent = found->second.command.size();
  line.exit_value = kNoExit;
  line.command = found->second.command;
  return joblog_->write(line);
}

Result<void> Session::print_ready() {
  for (auto next = jobs_.begin(); next != jobs_.end();) {
    if (!next->second.outcome) {
      if (options_.keep_order) return {};
      ++next;
      continue;
    }
    TFD_TRY(print(next->second));
    held_bytes_ -= printed_bytes(*next->second.outcome);
    next = jobs_.erase(next);
  }
  return {};
}

Result<void> Session::print(const Job& job) {
  TFD_TRY(write(io_.out, job.outcome->output, job.tag));
  return write(io_.err, job.outcome->errors, job.tag);
}

Result<void> Session::write(cli::Output& out, const tensor::Tensor& text, const std::string& tag) {
  if (!text.has_value() || text.byte_size() == 0) return {};
  std::string_view rest(reinterpret_cast<const char*>(text.data()), text.byte_size());
  std::string tagged;
  while (!tag.empty() && !rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    tagged += tag;
    tagged += rest.substr(0, end);
    rest.remove_prefix(end);
  }
  const auto written = write(out, tag.empty() ? rest : std::string_view(tagged));
  if (written || &out == &io_.err) return {};
  if (written.error().code != Code::kUnavailable) return written;  // the disk is full
  summary_.signal = SIGPIPE;
  ends_now_ = true;
  return {};
}

/// Writes output. A reader that doesn't read blocks it, but not signals: nothing more is printed after a signal that
/// comes meanwhile, or once the reader is gone.
Result<void> Session::write(cli::Output& out, std::string_view text) {
  if (summary_.is_stuck || summary_.signal == SIGPIPE) return {};
  const bool may_block = process::has_reader(out.fd()) || out.is_terminal();
  while (!text.empty()) {
    std::string_view piece = text;
    if (may_block) {
      pollfd fds[] = {{out.fd(), POLLOUT, 0}, {signals_.fd(), POLLIN, 0}};
      if (::poll(fds, 2, -1) < 0) continue;  // EINTR
      if (fds[0].revents == 0) {
        summary_.is_stuck = take_signal();
        if (summary_.is_stuck) return {};
        continue;
      }
      piece = text.substr(0, PIPE_BUF);  // always fits when poll reports POLLOUT
    }
    TFD_TRY(out.write(piece));
    text.remove_prefix(piece.size());
  }
  return {};
}

Result<void> Session::wait(const Arguments& arguments) {
  const bool waits = options_.halt.when == Halt::When::kSoon && running_ > 0;  // for one to end
  const bool wants_more = !summary_.halted && !arguments.has_ended() && has_room() && !waits;
  const int input = wants_more ? arguments.fd() : -1;
  loop_->watch(input, POLLIN, [](short) {});  // wakes: schedule_more() reads it
  auto turned = loop_->turn();
  loop_->forget(input);
  return turned;
}

}  // namespace tfd::exec
