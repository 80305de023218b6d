// SPDX-License-Identifier: Apache-2.0
#include "ask.hpp"

#include <algorithm>
#include <condition_variable>

#include "tfd/base/thread_annotations.hpp"
#include "tfd/base/units.hpp"
#include "tfd/cluster/address.hpp"

namespace tfd::status {
namespace {

constexpr Duration kPatience = std::chrono::seconds(2);      // timeout of one poll, while waiting for all
constexpr Duration kPause = std::chrono::milliseconds(200);  // between polls, unless something changes
constexpr Duration kRefused = std::chrono::seconds(2);       // an earlier run's server, or its spec, may be ending

bool serves(const cluster::TaskId& task) { return task.job != "chief" && task.job != "evaluator"; }

TaskReport report_of(const cluster::Task& task, Duration patience, Result<task::TaskStatus> answer) {
  TaskReport report{.task = task, .state = State::kUp};
  if (!answer) {
    report.state = State::kUnreachable;
    report.code = answer.error().code;
    report.reason = answer.error().message;
    const std::string own = cluster::format_task(task.id) + " ";  // its line names it already
    if (report.reason.starts_with(own)) report.reason.erase(0, own.size());
    if (answer.error().code == Code::kDeadlineExceeded) {
      // The reason is kept in brackets; the exact waiting time is dropped.
      const auto known = report.reason.find(" (");
      report.reason = fmt::format("no answer within {}{}", format_duration(patience),
                                  known == std::string::npos ? "" : report.reason.substr(known));
    }
    return report;
  }
  report.status = std::move(*answer);
  if (report.status->task != task.id) {
    report.state = State::kUnreachable;
    report.reason = cluster::format_task(report.status->task) + " answers at its address";
    report.status.reset();
  } else if (report.status->incarnation == 0) {
    report.state = State::kStarting;
  }
  return report;
}

/// Keeps reasons of the previous poll for tasks that a truncated last poll knows nothing about.
void keep_reasons(std::vector<TaskReport>& now, const std::vector<TaskReport>& before) {
  for (std::size_t i = 0; i < before.size(); ++i)
    if (now[i].code == Code::kDeadlineExceeded && before[i].state == State::kUnreachable) now[i] = before[i];
}

}  // namespace

struct Tasks::Bell {
  Mutex mutex;
  std::condition_variable rang;
  std::size_t left TFD_GUARDED_BY(mutex) = 0;  // outstanding answers of the current poll
  std::vector<TaskReport> reports TFD_GUARDED_BY(mutex);
  bool changed TFD_GUARDED_BY(mutex) = false;  // a task appeared or was lost
  bool is_over TFD_GUARDED_BY(mutex) = false;  // the answer is no longer wanted
};

Tasks::Tasks(Tasks&&) noexcept = default;
Tasks& Tasks::operator=(Tasks&&) noexcept = default;
Tasks::~Tasks() = default;

Result<Tasks> Tasks::connect(const cluster::ClusterSpec& spec, const transport::EndpointFactory& make_endpoint,
                             const Log& log) {
  Tasks out;
  out.tasks_ = spec.tasks();
  if (out.tasks_.empty()) return fail(Code::kInvalidArgument, "the cluster spec has no tasks");
  for (const cluster::Task& task : out.tasks_) {
    const auto address = cluster::parse_address(task.address);
    const std::string where = "cluster." + cluster::format_task(task.id);
    if (!address) return fail(Error(address.error()).within(where));
    if (address->port == 0 && serves(task.id))
      return fail(Code::kInvalidArgument, "{}: cannot connect to port 0\nhint: nothing serves this spec yet", where);
  }
  out.bell_ = std::make_shared<Bell>();
  transport::EndpointOptions options;
  options.name = "status";
  options.log = log;
  options.on_peer = [bell = out.bell_](const transport::PeerEvent&) {
    const MutexLock lock(bell->mutex);
    bell->changed = true;
    bell->rang.notify_all();
  };
  out.endpoint_ = TFD_TRY(make_endpoint(std::move(options)));
  for (const cluster::Task& task : out.tasks_) {
    const std::string name = cluster::format_task(task.id);
    out.clients_.emplace_back(*out.endpoint_, out.endpoint_->add_peer(name, task.address), name);
  }
  return out;
}

std::vector<TaskReport> Tasks::ask(Duration patience) {
  const Deadline deadline = Deadline::after(patience);
  {
    const MutexLock lock(bell_->mutex);
    bell_->left = tasks_.size();
    bell_->reports.assign(tasks_.size(), {});
  }
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    clients_[i].status(deadline, [bell = bell_, i, patience, task = tasks_[i]](Result<task::TaskStatus> answer) {
      const bool answered = answer.has_value();
      TaskReport report = report_of(task, patience, std::move(answer));
      if (!answered && !serves(task.id)) report.state = State::kNotServed;
      const MutexLock lock(bell->mutex);
      bell->reports[i] = std::move(report);
      if (--bell->left == 0) bell->rang.notify_all();
    });
  MutexLock lock(bell_->mutex);
  // Every request is answered, or failed, by the deadline.
  lock.wait(bell_->rang, Deadline::never(),
            [this]() TFD_REQUIRES(bell_->mutex) { return bell_->left == 0 || bell_->is_over; });
  bell_->changed = false;  // the reports say it
  return bell_->reports;
}

std::vector<TaskReport> Tasks::wait(Deadline deadline, const std::function<bool()>& in_vain) {
  std::vector<TaskReport> before;
  Deadline refused_until = Deadline::never();  // time until which a refusal is considered transient
  for (;;) {
    const Duration left = std::chrono::ceil<std::chrono::milliseconds>(deadline.remaining());
    auto reports = ask(std::min(kPatience, left));
    if (left < kPatience) keep_reasons(reports, before);
    if (std::ranges::none_of(reports, &TaskReport::is_refused))
      refused_until = Deadline::never();
    else if (refused_until.is_never())
      refused_until = Deadline::after(kRefused);
    if (std::ranges::all_of(reports, &TaskReport::is_ready) || deadline.expired() || in_vain()) return reports;
    if (refused_until.expired()) return reports;
    before = std::move(reports);
    wait_for_change(Deadline::after(kPause).earlier_of(deadline));
  }
}

void Tasks::wait_for_change(Deadline deadline) {
  MutexLock lock(bell_->mutex);
  lock.wait(bell_->rang, deadline, [this]() TFD_REQUIRES(bell_->mutex) { return bell_->changed; });
}

void Tasks::give_up() {
  const MutexLock lock(bell_->mutex);
  bell_->is_over = true;
  bell_->rang.notify_all();
}

}  // namespace tfd::status
