// SPDX-License-Identifier: Apache-2.0
//
// One exact pass of a function over its dataset: cut into as many parts as there are workers, a lost part is done
// again.
#include <algorithm>

#include "coordinator.hpp"

namespace tfd::coordinate {

bool Evaluation::runs_on(std::size_t worker) const {
  return std::ranges::any_of(running, [&](const auto& one) { return one.second == worker; });
}

Result<std::vector<std::pair<std::string, double>>> Coordinator::evaluate(const std::string& function,
                                                                          std::optional<std::int64_t> steps,
                                                                          Deadline deadline) {
  TFD_TRY(check_evaluation(program_, function, steps));
  const auto evaluation = std::make_shared<Evaluation>();  // with the answers under way
  evaluation->function = function;
  evaluation->steps = steps;
  evaluation->seed = data::draw_seed();
  {
    Lock lock(mutex_);
    const bool is_next = wait(lock, changed_, deadline, [&] { return !evaluation_ || fatal_ || evaluates_no_more_; });
    if (fatal_) return fail(*fatal_);
    if (evaluates_no_more_) return fail(Code::kCancelled, "evaluations have ended");
    if (!is_next)
      return fail(Code::kDeadlineExceeded,
                  "evaluation by '{}': another evaluation, by '{}', has not finished: waiting for {}", function,
                  evaluation_->function, describe(lock));
    // Those that are there, or will be in a moment: one that is still loading takes its part when it is ready.
    const auto away = std::ranges::count(workers_, WorkerState::kAway, &Worker::state);
    const auto parts = std::max<std::size_t>(workers_.size() - static_cast<std::size_t>(away), 1);
    evaluation->metrics.resize(parts);
    for (std::size_t part = 0; part < parts; ++part) evaluation->pending.push_back(static_cast<std::int64_t>(part));
    evaluation->left = evaluation->pending.size();
    evaluation_ = evaluation;
    progress_at_ = Clock::now();
    endpoint_->post([this] { dispatch_evaluation(); });
    const bool ended = wait(lock, changed_, deadline, [&] { return evaluation->ended(); });
    const std::string waiting = ended ? std::string() : describe(lock);
    evaluation_.reset();
    changed_.notify_all();  // another one may wait
    if (evaluation->error) return fail(*evaluation->error);
    if (!ended)
      return fail(Code::kDeadlineExceeded, "evaluation by '{}': {} of {} parts are missing: waiting for {}", function,
                  evaluation->left, parts, waiting);
  }
  runtime::MetricAccumulator sum;
  for (const auto& metrics : evaluation->metrics) sum.add(metrics);
  return sum.values();
}

void Coordinator::stop_evaluating() {
  const Lock lock(mutex_);
  evaluates_no_more_ = true;
  if (evaluation_ && !evaluation_->error) evaluation_->error = Error{Code::kCancelled, "interrupted", {}};
  changed_.notify_all();
}

void Coordinator::dispatch_evaluation() {
  struct Part {
    std::int64_t index;
    std::size_t worker;
    std::uint64_t generation;
  };
  std::vector<Part> parts;
  std::shared_ptr<Evaluation> evaluation;
  {
    const Lock lock(mutex_);
    if (!evaluation_ || evaluation_->ended() || fatal_) return;
    evaluation = evaluation_;
    for (std::size_t i = 0; i < workers_.size() && !evaluation->pending.empty(); ++i) {
      const Worker& worker = workers_[i];
      if (worker.state != WorkerState::kReady || worker.paused || evaluation->runs_on(i)) continue;
      const std::int64_t part = evaluation->pending.front();
      evaluation->pending.pop_front();
      evaluation->running.emplace(part, i);
      parts.push_back({part, i, worker.generation});
    }
  }
  for (const Part& part : parts)
    workers_[part.worker].client->evaluate(evaluation->function, static_cast<std::int64_t>(evaluation->metrics.size()),
                                           part.index, evaluation->steps, epoch_, evaluation->seed, Deadline::never(),
                                           [this, evaluation, part](Result<std::vector<runtime::Metric>> metrics) {
                                             evaluated(evaluation, part.index, part.worker, part.generation,
                                                       std::move(metrics));
                                           });
}

void Coordinator::evaluated(const std::shared_ptr<Evaluation>& evaluation, std::int64_t part, std::size_t worker,
                            std::uint64_t generation, Result<std::vector<runtime::Metric>> metrics) {
  const bool unavailable =
      !metrics && (metrics.error().code == Code::kUnavailable || metrics.error().code == Code::kCancelled);
  const bool of_server = unavailable && is_server(metrics.error().task);
  {
    const Lock lock(mutex_);
    const auto running = evaluation->running.find(part);
    if (workers_[worker].generation != generation || running == evaluation->running.end())
      return;  // done again elsewhere
    if (of_server && evaluation == evaluation_) return_part(lock, worker);
    if (!unavailable) {
      evaluation->running.erase(running);
      workers_[worker].since = Clock::now();
      workers_[worker].server_trouble_since = {};
      ++progress_;
      --evaluation->left;
      if (metrics) {
        evaluation->metrics[static_cast<std::size_t>(part)] = std::move(*metrics);
      } else if (!evaluation->error) {
        evaluation->error = std::move(metrics).error();
        if (evaluation->error->task.empty()) evaluation->error->task = workers_[worker].name;
      }
      changed_.notify_all();
    }
  }
  if (of_server) return server_reported(worker, generation, metrics.error());
  if (unavailable) return worker_lost(worker, generation, metrics.error().message);
  dispatch_evaluation();
}

void Coordinator::return_part(const Lock&, std::size_t worker) {
  if (!evaluation_) return;
  for (auto one = evaluation_->running.begin(); one != evaluation_->running.end(); ++one) {
    if (one->second != worker) continue;
    evaluation_->pending.push_front(one->first);
    evaluation_->running.erase(one);
    return;
  }
}

}  // namespace tfd::coordinate
