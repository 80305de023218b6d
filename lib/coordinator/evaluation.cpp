// SPDX-License-Identifier: Apache-2.0
#include "evaluation.hpp"

#include <algorithm>

namespace tfd::coordinator {

Evaluation::Evaluation(Pass pass)
    : pass_(std::move(pass)),
      metrics_(static_cast<std::size_t>(pass_.parts)),
      left_(static_cast<std::size_t>(pass_.parts)) {
  for (std::int64_t part = 0; part < pass_.parts; ++part) pending_.push_back(part);
}

bool Evaluation::is_running(std::int64_t part, std::size_t worker) const {
  const auto found = running_.find(worker);
  return found != running_.end() && found->second == part;
}

std::optional<std::int64_t> Evaluation::take_part(std::size_t worker) {
  if (!has_pending() || runs_on(worker)) return std::nullopt;
  const std::int64_t part = pending_.front();
  pending_.pop_front();
  running_.emplace(worker, part);
  busy_.set(worker, true);
  return part;
}

std::int64_t Evaluation::end_part(std::size_t worker) {
  busy_.set(worker, false);
  return running_.extract(worker).mapped();
}

void Evaluation::return_part(std::size_t worker) {
  if (runs_on(worker)) pending_.push_front(end_part(worker));
}

void Evaluation::finish_part(std::size_t worker, std::vector<step::Metric> metrics) {
  --left_;
  metrics_[static_cast<std::size_t>(end_part(worker))] = std::move(metrics);
}

void Evaluation::fail_part(std::size_t worker, Error error) {
  end_part(worker);
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

std::shared_ptr<const Evaluation> EvaluationQueue::begin(std::string function, std::optional<std::int64_t> steps,
                                                         std::uint64_t seed) {
  const auto parts = static_cast<std::int64_t>(workers_.size() - workers_.count(WorkerState::kAway));
  current_ = std::make_shared<Evaluation>(
      Evaluation::Pass{std::move(function), steps, seed, std::max<std::int64_t>(parts, 1)});
  return current_;
}

void EvaluationQueue::end(const Error& error) {
  if (current_) current_->end(error);
}

void EvaluationQueue::close() {
  is_closed_ = true;
  end({Code::kCancelled, "interrupted", {}});
}

std::vector<EvaluationQueue::Part> EvaluationQueue::take_parts() {
  std::vector<Part> parts;
  std::size_t from = 0;
  while (current_ && current_->has_pending()) {
    const auto worker = workers_.able().find_without(current_->busy(), from);
    if (!worker) break;
    parts.push_back({current_, *current_->take_part(*worker), *worker, workers_[*worker].generation()});
    from = *worker + 1;
  }
  return parts;
}

void EvaluationQueue::return_part(std::size_t worker) {
  if (current_) current_->return_part(worker);
}

EvaluationQueue::Answer EvaluationQueue::answered(const Part& part, const Result<std::vector<step::Metric>>& metrics,
                                                  bool is_of_server, Clock::time_point now) {
  Evaluation& evaluation = *part.evaluation;
  if (workers_[part.worker].generation() != part.generation || !evaluation.is_running(part.index, part.worker))
    return Answer::kLate;
  if (metrics) {
    evaluation.finish_part(part.worker, *metrics);
  } else if (metrics.error().code == Code::kUnavailable || metrics.error().code == Code::kCancelled) {
    if (!is_of_server) return Answer::kWorkerLost;
    evaluation.return_part(part.worker);
    return Answer::kServerFailed;
  } else {
    Error error = metrics.error();
    if (error.task.empty()) error.task = workers_[part.worker].name();
    evaluation.fail_part(part.worker, std::move(error));
  }
  workers_.evaluated(part.worker, now);
  return Answer::kCounted;
}

}  // namespace tfd::coordinator
