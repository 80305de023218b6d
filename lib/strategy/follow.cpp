// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/follow.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>

#include "tfd/base/json_line.hpp"
#include "tfd/strategy/checkpoints.hpp"
#include "tfd/strategy/kept_best.hpp"
#include "tfd/strategy/run_end.hpp"

namespace tfd::strategy {
namespace {

constexpr Duration kFollowerLook = std::chrono::seconds(1);

/// Waits that an interruption ends.
class Bell {
 public:
  void ring() {
    const std::scoped_lock lock(mutex_);
    rung_ = true;
    rang_.notify_all();
  }
  /// Until ring() or the deadline.
  void wait(Deadline deadline) {
    std::unique_lock lock(mutex_);
    rang_.wait_until(lock, deadline.when(), [this] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable rang_;
  bool rung_ = false;
};

class Follower {
 public:
  Follower(const program::Program& program, const FollowJob& job, const TrainOptions& options)
      : program_(program), train_(*program.train), job_(job), options_(options) {}

  Result<TrainSummary> run() {
    options_.interrupts->on_ask([this] {
      bell_.ring();
      if (job_.on_stop && options_.interrupts->stopping()) job_.on_stop();
    });
    auto summary = follow();
    options_.interrupts->on_ask({});
    if (summary)
      TFD_TRY(emit(
          event("end").add("reason", summary->reason).add("step", summary->step).add("metrics", summary->metrics)));
    return summary;
  }

 private:
  Result<TrainSummary> follow() {
    TrainSummary summary;
    summary.steps = train_.steps;
    TFD_TRY(emit(event("start").add("program", program_.path).add("follows", train_.checkpoint->directory)));
    if (job_.on_begin) job_.on_begin();
    const std::string& directory = train_.checkpoint->directory;
    // What an earlier one left, where this one trains on, which begins by removing it.
    auto left = find_run_end(directory);
    if (left && train_.checkpoint->resume && is_over(*left, train_)) left.reset();
    for (;;) {
      const auto ended = find_run_end(directory);  // looked at first: its last checkpoint is there then
      TFD_TRY(look(summary));
      while (!seen_.empty() && !options_.interrupts->stopping()) {
        TFD_TRY(evaluate_first(summary));
        TFD_TRY(look(summary));  // others came meanwhile, and some may have gone
      }
      summary.reason = "interrupted";
      if (options_.interrupts->stopping()) return summary;
      summary.reason = "done";
      if (!summary.checkpoint.empty() && train_.steps && summary.step >= *train_.steps) return summary;
      const bool is_left = ended && left && ended->time == left->time;
      const bool is_of_other = ended && !ended->run.empty() && ended->run != run_;
      if (!summary.checkpoint.empty() && ended && !is_left && !is_of_other && summary.step >= ended->step) {
        summary.reason = ended->reason;
        return summary;
      }
      bell_.wait(Deadline::after(kFollowerLook));
    }
  }

  /// Which checkpoints are there now and weren't looked at: each is evaluated that is still there when its turn comes.
  Result<void> look(TrainSummary& summary) {
    auto index = TFD_TRY(variable::read_checkpoint_index(train_.checkpoint->directory));
    const auto is_seen = [this](const auto& one) { return newest_ && one.first >= *newest_; };
    // An older tfd's directory, which gets its index while it goes on, stays the same run's.
    const bool has_begun_anew =
        index.run != run_ && (!run_.empty() || std::ranges::none_of(index.checkpoints, is_seen));
    if (has_begun_anew && newest_ && !index.run.empty()) {
      if (options_.say) options_.say(fmt::format("another run begins in {}", train_.checkpoint->directory));
      seen_.clear();
      newest_.reset();
      summary.checkpoint.clear();
    }
    if (has_begun_anew) keep_by_.reset();
    run_ = index.run;
    for (auto& [step, path] : index.checkpoints)
      if (!newest_ || step > *newest_) seen_.emplace(step, std::move(path));
    return {};
  }

  Result<void> evaluate_first(TrainSummary& summary) {
    const auto begun = Clock::now();
    const auto first = seen_.extract(seen_.begin());
    const std::string& path = first.mapped();
    auto checkpoint = variable::load_checkpoint(path);
    if (!checkpoint && checkpoint.error().code == Code::kNotFound) {
      if (options_.say)
        options_.say(fmt::format("{} was removed before its turn (train.checkpoint.keep): not evaluated", path));
      newest_ = first.key();  // that it is still listed, as a link to nowhere is, doesn't make it new
      return {};
    }
    if (!checkpoint) return fail(std::move(checkpoint).error());
    TFD_TRY(check_state(program_, *checkpoint));
    if (options_.say) options_.say(fmt::format("evaluating {}", path));
    auto metrics = job_.evaluate(*checkpoint);
    if (!metrics && metrics.error().code == Code::kCancelled && options_.interrupts->stopping()) return {};
    if (!metrics) return fail(std::move(metrics).error());
    newest_ = checkpoint->step;
    summary.metrics = std::move(*metrics);
    summary.step = checkpoint->step;
    summary.checkpoint = path;
    if (options_.on_progress) options_.on_progress({summary.step, summary.steps, summary.metrics});
    TFD_TRY(emit(event("eval")
                     .add("step", summary.step)
                     .add("metrics", summary.metrics)
                     .add("path", path)
                     .add("seconds", std::chrono::duration<double>(Clock::now() - begun).count())));
    if (!job_.keeps_best || !train_.checkpoint->keep_best) return {};
    if (!keep_by_) {
      keep_by_.emplace(*train_.checkpoint);
      keep_by_->go_on(run_);
    }
    return keep_by_->observe(summary.metrics) ? keep(*checkpoint) : Result<void>();
  }

  Result<void> keep(const variable::Checkpoint& checkpoint) {
    const auto path = keep_by_->save(checkpoint);
    if (path) return emit(event("checkpoint").add("step", checkpoint.step).add("path", *path).add_raw("best", "true"));
    options_.log.error("cannot write the best checkpoint, of step {}: {}", checkpoint.step, path.error().message);
    return {};
  }

  JsonLine event(std::string_view name) const {
    JsonLine line("event", name);
    if (!job_.task.empty()) line.add("task", job_.task);
    return line;
  }
  Result<void> emit(JsonLine line) {
    return options_.write_event ? options_.write_event(std::move(line).text()) : Result<void>();
  }

  const program::Program& program_;
  const program::TrainDef& train_;
  const FollowJob& job_;
  const TrainOptions& options_;
  std::string run_;  // whose checkpoints they are, as far as is known
  std::optional<KeptBest> keep_by_;
  std::map<std::int64_t, std::string> seen_;  // by step: there, and to be evaluated
  std::optional<std::int64_t> newest_;        // the newest one that was evaluated, or passed over
  Bell bell_;
};

}  // namespace

Result<void> check_followed(const program::Program& program) {
  if (!program.train || !program.train->evaluate)
    return fail(Code::kInvalidArgument, "{}: no train.evaluate: nothing to evaluate checkpoints with", program.path);
  if (!program.train->checkpoint)
    return fail(Code::kInvalidArgument, "{}: no train.checkpoint: no checkpoints to evaluate", program.path);
  return {};
}

Result<TrainSummary> follow_checkpoints(const program::Program& program, const FollowJob& job,
                                        const TrainOptions& options) {
  TFD_TRY(check_followed(program));
  TrainOptions with = options;
  if (!with.interrupts) with.interrupts = std::make_shared<Interrupts>();
  return Follower(program, job, with).run();
}

}  // namespace tfd::strategy
