// SPDX-License-Identifier: Apache-2.0
//
// One exact pass of a function over its dataset: split into as many parts as workers; lost parts are repeated.
#include "evaluation.hpp"

#include <algorithm>

#include "coordinator.hpp"

namespace tfd::coordinator {

Evaluation::Evaluation(Pass pass)
    : pass_(std::move(pass)),
      metrics_(static_cast<std::size_t>(pass_.parts)),
      left_(static_cast<std::size_t>(pass_.parts)) {
  for (std::int64_t part = 0; part < pass_.parts; ++part) pending_.push_back(part);
}

bool Evaluation::runs_on(std::size_t worker) const {
  return std::ranges::any_of(running_, [&](const auto& one) { return one.second == worker; });
}

std::optional<std::int64_t> Evaluation::take_part(std::size_t worker) {
  if (ended() || pending_.empty() || runs_on(worker)) return std::nullopt;
  const std::int64_t part = pending_.front();
  pending_.pop_front();
  running_.emplace(part, worker);
  return part;
}

void Evaluation::return_part(std::size_t worker) {
  const auto one = std::ranges::find_if(running_, [&](const auto& each) { return each.second == worker; });
  if (one == running_.end()) return;
  pending_.push_front(one->first);
  running_.erase(one);
}

void Evaluation::finish_part(std::int64_t part, std::vector<step::Metric> metrics) {
  running_.erase(part);
  --left_;
  metrics_[static_cast<std::size_t>(part)] = std::move(metrics);
}

void Evaluation::fail_part(std::int64_t part, Error error) {
  running_.erase(part);
  --left_;
  end(std::move(error));
}

void Evaluation::end(Error error) {
  if (!error_) error_ = std::move(error);
}

std::vector<std::pair<std::string, double>> Evaluation::values() const {
  step::MetricAccumulator sum;
  for (const auto& metrics : metrics_) sum.add(metrics);
  return sum.values();
}

Result<std::vector<std::pair<std::string, double>>> Coordinator::evaluate(const std::string& function,
                                                                          std::optional<std::int64_t> steps,
                                                                          Deadline deadline) {
  TFD_TRY(check_evaluation(program_, function, steps));
  MutexLock lock(mutex_);
  const bool is_next = lock.wait(changed_, deadline,
                                 [&]() TFD_REQUIRES(mutex_) { return !evaluation_ || fatal_ || evaluates_no_more_; });
  if (fatal_) return fail(*fatal_);
  if (evaluates_no_more_) return fail(Code::kCancelled, "evaluations have ended");
  if (!is_next)
    return fail(Code::kDeadlineExceeded,
                "evaluation by '{}': another evaluation, by '{}', has not finished: waiting for {}", function,
                evaluation_->pass().function, describe());
  // Counts workers that are up or loading: one that is still loading takes its part when it is ready.
  const auto parts = static_cast<std::int64_t>(workers_.size() - workers_.count(WorkerState::kAway));
  const auto evaluation = std::make_shared<Evaluation>(  // shared with pending answers
      Evaluation::Pass{function, steps, data::draw_seed(), std::max<std::int64_t>(parts, 1)});
  evaluation_ = evaluation;
  stall_.restart(Clock::now());
  endpoint_->post([this] { dispatch_evaluation(); });
  const bool ended = lock.wait(changed_, deadline, [&] { return evaluation->ended(); });
  const std::string waiting = ended ? std::string() : describe();
  evaluation_.reset();
  changed_.notify_all();  // another one may wait
  if (evaluation->error()) return fail(*evaluation->error());
  if (ended) return evaluation->values();
  return fail(Code::kDeadlineExceeded, "evaluation by '{}': {} of {} parts are missing: waiting for {}", function,
              evaluation->left(), evaluation->pass().parts, waiting);
}

void Coordinator::stop_evaluating() {
  const MutexLock lock(mutex_);
  evaluates_no_more_ = true;
  if (evaluation_) evaluation_->end({Code::kCancelled, "interrupted", {}});
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
    const MutexLock lock(mutex_);
    if (!evaluation_ || fatal_) return;
    evaluation = evaluation_;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (!workers_[i].is_ready() || workers_[i].is_paused()) continue;
      if (const auto part = evaluation->take_part(i)) parts.push_back({*part, i, workers_[i].generation()});
    }
  }
  const Evaluation::Pass& pass = evaluation->pass();
  for (const Part& part : parts)
    client_of(part.worker)
        .evaluate(pass.function, pass.parts, part.index, pass.steps, epoch_, pass.seed, Deadline::never(),
                  [this, evaluation, part](Result<std::vector<step::Metric>> metrics) {
                    evaluated(evaluation, part.index, part.worker, part.generation, std::move(metrics));
                  });
}

void Coordinator::evaluated(const std::shared_ptr<Evaluation>& evaluation, std::int64_t part, std::size_t worker,
                            std::uint64_t generation, Result<std::vector<step::Metric>> metrics) {
  const bool unavailable =
      !metrics && (metrics.error().code == Code::kUnavailable || metrics.error().code == Code::kCancelled);
  const bool of_server = unavailable && is_server(metrics.error().task);
  {
    const MutexLock lock(mutex_);
    if (workers_[worker].generation() != generation || !evaluation->is_running(part)) return;  // done again elsewhere
    if (of_server) evaluation->return_part(worker);
    if (!unavailable) {
      workers_.evaluated(worker, Clock::now());
      stall_.progressed();
      if (metrics) {
        evaluation->finish_part(part, std::move(*metrics));
      } else {
        Error error = metrics.error();
        if (error.task.empty()) error.task = workers_[worker].name();
        evaluation->fail_part(part, std::move(error));
      }
      changed_.notify_all();
    }
  }
  if (of_server) return server_reported(worker, generation, metrics.error());
  if (unavailable) return worker_lost(worker, generation, metrics.error().message);
  dispatch_evaluation();
}

}  // namespace tfd::coordinator
