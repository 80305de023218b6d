// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/evaluator.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "tfd/base/json_line.hpp"
#include "tfd/base/notifier.hpp"
#include "tfd/train/checkpoint_manager.hpp"
#include "tfd/train/checkpoint_notes.hpp"

namespace tfd::strategy {
namespace {

constexpr Duration kFollowerLook = std::chrono::seconds(1);
constexpr Duration kUnseenDirectory = std::chrono::seconds(10);

class Follower {
 public:
  Follower(const program::Program& program, const FollowJob& job, const train::TrainOptions& options)
      : program_(program), train_(*program.train), job_(job), options_(options) {}

  Result<train::TrainSummary> run() {
    options_.interrupts->on_ask([this] {
      notifier_.notify();
      if (job_.on_stop && options_.interrupts->stopping()) job_.on_stop();
    });
    auto summary = follow();
    options_.interrupts->on_ask({});
    if (summary)
      TFD_TRY(emit(
          event("end").add("reason", summary->reason).add("step", summary->step).add("eval", summary->evaluation)));
    return summary;
  }

 private:
  Result<train::TrainSummary> follow() {
    train::TrainSummary summary;
    summary.steps = train_.steps;
    TFD_TRY(emit(event("start").add("program", program_.path).add("follows", train_.checkpoint->directory)));
    if (job_.on_begin) job_.on_begin();
    const std::string& directory = train_.checkpoint->directory;
    // An end left by an earlier run, which a continuing training removes when it begins.
    auto left = train::find_run_end(directory);
    if (left && train_.checkpoint->resume && train::is_over(*left, train_)) left.reset();
    for (;;) {
      const auto ended = train::find_run_end(directory);  // read first: then the last checkpoint exists
      TFD_TRY(look(summary));
      while (!seen_.empty() && !options_.interrupts->stopping()) {
        TFD_TRY(evaluate_first(summary));
        TFD_TRY(look(summary));  // checkpoints may have been added or removed meanwhile
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
      say_unseen(directory);
      notifier_.wait(Deadline::after(kFollowerLook));
    }
  }

  /// Says once that the directory isn't here, which may be another host's.
  void say_unseen(const std::string& directory) {
    std::error_code error;  // ignored: then it isn't seen
    if (has_said_unseen_ || !unseen_.expired() || std::filesystem::is_directory(directory, error)) return;
    has_said_unseen_ = true;
    if (options_.say)
      options_.say(
          fmt::format("{}: there is no such directory here yet: the checkpoints of the chief are waited for, "
                      "which this host must see there",
                      directory));
  }

  /// Lists new checkpoints; each is evaluated if it still exists when its turn comes.
  Result<void> look(train::TrainSummary& summary) {
    auto index = TFD_TRY(variable::read_checkpoint_index(train_.checkpoint->directory));
    const auto is_seen = [this](const auto& one) { return newest_ && one.first >= *newest_; };
    // A directory of an older tfd, which gets its index when training continues, stays the same run's.
    const bool has_begun_anew =
        index.run != run_ && (!run_.empty() || std::ranges::none_of(index.checkpoints, is_seen));
    if (has_begun_anew && newest_ && !index.run.empty()) {
      if (options_.say) options_.say(fmt::format("another run begins in {}", train_.checkpoint->directory));
      seen_.clear();
      newest_.reset();
      summary.checkpoint.clear();
    }
    if (has_begun_anew) best_.reset();
    run_ = index.run;
    for (auto& [step, path] : index.checkpoints)
      if (!newest_ || step > *newest_) seen_.emplace(step, std::move(path));
    return {};
  }

  Result<void> evaluate_first(train::TrainSummary& summary) {
    const auto begun = Clock::now();
    const auto first = seen_.extract(seen_.begin());
    const std::string& path = first.mapped();
    auto checkpoint = variable::load_checkpoint(path);
    if (!checkpoint && checkpoint.error().code == Code::kNotFound) {
      if (options_.say)
        options_.say(fmt::format("{} was removed before its turn (train.checkpoint.keep): not evaluated", path));
      newest_ = first.key();  // still being listed, like a dangling link, doesn't make it new
      return {};
    }
    if (!checkpoint) return fail(std::move(checkpoint).error());
    TFD_TRY(train::check_state(program_, *checkpoint));
    if (options_.say) options_.say(fmt::format("evaluating {}", path));
    auto metrics = job_.evaluate(*checkpoint);
    if (!metrics && metrics.error().code == Code::kCancelled && options_.interrupts->stopping()) return {};
    if (!metrics) return fail(std::move(metrics).error());
    newest_ = checkpoint->step;
    summary.evaluation = std::move(*metrics);
    summary.step = checkpoint->step;
    summary.checkpoint = path;
    if (options_.on_progress) options_.on_progress({summary.step, summary.steps, summary.evaluation});
    if (options_.on_metrics) options_.on_metrics("eval", summary.step, summary.evaluation);
    TFD_TRY(emit(event("eval")
                     .add("step", summary.step)
                     .add("metrics", summary.evaluation)
                     .add("path", path)
                     .add("seconds", std::chrono::duration<double>(Clock::now() - begun).count())));
    return job_.keeps_best && train_.checkpoint->keep_best ? keep_best(*checkpoint, summary.evaluation)
                                                           : Result<void>();
  }

  Result<void> keep_best(const variable::Checkpoint& checkpoint, const train::Metrics& metrics) {
    if (!best_) {
      best_.emplace(*train_.checkpoint);
      best_->go_on(run_);
    }
    const auto take = [&]() -> Result<variable::Checkpoint> { return checkpoint; };
    const auto path = TFD_TRY(best_->observe(checkpoint.step, metrics, take, options_.log));
    if (!path) return {};
    return emit(event("checkpoint").add("step", checkpoint.step).add("path", *path).add_raw("best", "true"));
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
  const train::TrainOptions& options_;
  std::string run_;  // run of the checkpoints, as far as is known
  std::optional<train::BestExporter> best_;
  std::map<std::int64_t, std::string> seen_;  // by step: checkpoints to be evaluated
  std::optional<std::int64_t> newest_;        // the newest one that was evaluated or skipped
  Deadline unseen_ = Deadline::after(kUnseenDirectory);
  bool has_said_unseen_ = false;
  Notifier notifier_;
};

}  // namespace

Result<void> check_followed(const program::Program& program) {
  if (!program.train || !program.train->evaluate)
    return fail(Code::kInvalidArgument, "{}: no train.evaluate: nothing to evaluate checkpoints with", program.path);
  if (!program.train->checkpoint)
    return fail(Code::kInvalidArgument, "{}: no train.checkpoint: no checkpoints to evaluate", program.path);
  return {};
}

Result<train::TrainSummary> follow_checkpoints(const program::Program& program, const FollowJob& job,
                                               const train::TrainOptions& options) {
  TFD_TRY(check_followed(program));
  train::TrainOptions with = options;
  if (!with.interrupts) with.interrupts = std::make_shared<train::Interrupts>();
  return Follower(program, job, with).run();
}

}  // namespace tfd::strategy
