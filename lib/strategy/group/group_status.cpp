// SPDX-License-Identifier: Apache-2.0
#include "group_status.hpp"

#include <algorithm>

#include "tfd/base/units.hpp"

namespace tfd::strategy {
namespace {

Duration median(std::vector<Duration> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::int64_t milliseconds(Duration duration) { return std::chrono::round<std::chrono::milliseconds>(duration).count(); }

}  // namespace

void Lateness::add(Duration step, const std::vector<Duration>& waits) {
  std::vector<Duration> late(members_);
  const auto last = std::ranges::min_element(waits);
  Duration least = Duration::max();
  for (auto one = waits.begin(); one != waits.end(); ++one)
    if (one != last) least = std::min(least, *one);
  if (members_ > 1) late[static_cast<std::size_t>(last - waits.begin())] = least - *last;
  steps_.push_back({step, std::move(late)});
  if (steps_.size() > kSteps) steps_.pop_front();
}

std::vector<Duration> Lateness::medians() const {
  std::vector<Duration> out;
  for (std::size_t rank = 0; rank < members_; ++rank) {
    std::vector<Duration> times;
    for (const Step& one : steps_) times.push_back(one.late[rank]);
    out.push_back(median(std::move(times)));
  }
  return out;
}

std::optional<Lateness::Straggler> Lateness::straggler() const {
  if (steps_.size() < kSteps) return std::nullopt;
  std::vector<std::size_t> last(members_);
  std::vector<Duration> took;
  for (const Step& one : steps_) {
    const auto most = std::ranges::max_element(one.late);
    if (*most > Duration::zero()) ++last[static_cast<std::size_t>(most - one.late.begin())];
    took.push_back(one.took);
  }
  const auto most = std::ranges::max_element(last);
  const auto rank = static_cast<std::size_t>(most - last.begin());
  const Straggler out{rank, *most, medians()[rank], median(std::move(took))};
  if (out.steps < kLastInSteps || out.late < kLeast || out.late * kPartOfStep <= out.step) return std::nullopt;
  return out;
}

void GroupStatus::enter(std::uint64_t generation, const std::vector<std::string>& names, std::size_t rank,
                        const step::ReplicaRange& replicas, std::int64_t step) {
  const MutexLock lock(mutex_);
  generation_ = generation;
  names_ = names;
  rank_ = rank;
  replicas_ = replicas;
  step_ = step;
  if (rank != 0) standing_.clear();  // the chief's
  lateness_ = Lateness(names.size());
  looked_at_ = 0;
  named_.reset();
}

std::optional<std::string> GroupStatus::made(std::int64_t step, Clock::time_point began,
                                             const std::vector<Duration>& waits) {
  const MutexLock lock(mutex_);
  step_ = step;
  lateness_.add(Clock::now() - began, waits);
  if (++looked_at_ < Lateness::kSteps) return std::nullopt;
  looked_at_ = 0;
  const auto found = lateness_.straggler();
  if (!found) named_.reset();
  if (!found || found->rank == named_ || rank_ != (found->rank == 0 ? 1 : 0)) return std::nullopt;
  named_ = found->rank;
  return fmt::format("{} is last in {} of {} steps, by {} of {} ms", names_[found->rank], found->steps,
                     Lateness::kSteps, milliseconds(found->late), milliseconds(found->step));
}

void GroupStatus::wait_for(const std::string& whom, Duration waited) {
  const MutexLock lock(mutex_);
  whom_ = whom;
  begin_at(Doing::kWaiting, Clock::now() - std::chrono::duration_cast<Clock::duration>(waited));
}

void GroupStatus::set_data(std::string source) {
  const MutexLock lock(mutex_);
  data_ = std::move(source);
}

void GroupStatus::describe_doing(task::TaskStatus& status) const {
  const Doing doing = doing_;
  const auto since = Clock::time_point(Clock::duration(since_.load()));
  status.doing = doing == Doing::kEvaluation ? fmt::format("the evaluation after step {}", step_)
                 : doing == Doing::kSaving   ? fmt::format("the checkpoint of step {}", step_)
                                             : fmt::format("step {}", step_ + 1);
  status.doing_ms = std::max<std::int64_t>(milliseconds(Clock::now() - since), 0);
  const auto compiled = compiling_ ? compiling_->module() : std::nullopt;
  if (doing == Doing::kWaiting)
    status.waits_for = whom_;
  else if (doing == Doing::kSaving)
    status.waits_for = "its disk";
  else if (compiled)
    status.waits_for = fmt::format("the compiler ({})", *compiled);
  else if (doing == Doing::kData)
    status.waits_for = data_.empty() ? "its data" : fmt::format("its data ({})", data_);
}

void GroupStatus::show(std::string standing) {
  const MutexLock lock(mutex_);
  standing_ = std::move(standing);
  shown_ = Clock::now();
}

void GroupStatus::describe(task::TaskStatus& status) const {
  const MutexLock lock(mutex_);
  describe_doing(status);
  if (generation_ == 0) return;
  status.training = standing_;
  if (!standing_.empty()) status.training_age_ms = milliseconds(Clock::now() - shown_);
  task::MembershipStatus& out = status.group.emplace();
  out.step = step_;
  out.generation = generation_;
  out.first_replica = replicas_.first;
  out.own_replicas = replicas_.count;
  out.replicas = replicas_.all;
  const std::vector<Duration> late = lateness_.medians();
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (i != rank_)
      out.late.emplace_back(names_[i], std::chrono::duration_cast<std::chrono::microseconds>(late[i]).count());
}

}  // namespace tfd::strategy
