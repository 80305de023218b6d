// SPDX-License-Identifier: Apache-2.0
//
// Exact passes of a function over its dataset: callers wait for theirs, and parts are sent to workers on the endpoint's
// I/O thread.
#include "coordinator.hpp"
#include "tfd/data/dataset.hpp"

namespace tfd::coordinator {

Result<std::vector<std::pair<std::string, double>>> Coordinator::evaluate(const std::string& function,
                                                                          std::optional<std::int64_t> steps,
                                                                          Deadline deadline) {
  TFD_TRY(check_evaluation(program_, function, steps));
  MutexLock lock(mutex_);
  const bool is_next = lock.wait(changed_, deadline, [&]() TFD_REQUIRES(mutex_) {
    return !evaluations_.current() || fatal_ || evaluations_.is_closed();
  });
  if (fatal_) return fail(*fatal_);
  if (evaluations_.is_closed()) return fail(Code::kCancelled, "evaluations have ended");
  if (!is_next)
    return fail(Code::kDeadlineExceeded,
                "evaluation by '{}': another evaluation, by '{}', has not finished: waiting for {}", function,
                evaluations_.current()->pass().function, describe());
  const auto evaluation = evaluations_.begin(function, steps, data::draw_seed());
  stall_.restart(Clock::now());
  endpoint_->post([this] { dispatch_evaluation(); });
  const bool ended = lock.wait(changed_, deadline, [&] { return evaluation->ended(); });
  const std::string waiting = ended ? std::string() : describe();
  evaluations_.leave();
  changed_.notify_all();  // another one may wait
  if (evaluation->error()) return fail(*evaluation->error());
  if (ended) return evaluation->values();
  return fail(Code::kDeadlineExceeded, "evaluation by '{}': {} of {} parts are missing: waiting for {}", function,
              evaluation->left(), evaluation->pass().parts, waiting);
}

void Coordinator::stop_evaluating() {
  const MutexLock lock(mutex_);
  evaluations_.close();
  changed_.notify_all();
}

void Coordinator::dispatch_evaluation() {
  std::vector<EvaluationQueue::Part> parts;
  {
    const MutexLock lock(mutex_);
    if (fatal_) return;
    parts = evaluations_.take_parts();
  }
  for (const EvaluationQueue::Part& part : parts) {
    const Evaluation::Pass& pass = part.evaluation->pass();
    client_of(part.worker)
        .evaluate(pass.function, pass.parts, part.index, pass.steps, epoch_, pass.seed, Deadline::never(),
                  [this, part](const Result<std::vector<step::Metric>>& metrics) { evaluated(part, metrics); });
  }
}

void Coordinator::evaluated(const EvaluationQueue::Part& part, const Result<std::vector<step::Metric>>& metrics) {
  using Answer = EvaluationQueue::Answer;
  Answer answer{};
  {
    const MutexLock lock(mutex_);
    answer = evaluations_.answered(part, metrics, !metrics && is_server(metrics.error().task), Clock::now());
    if (answer == Answer::kLate) return;
    if (answer == Answer::kCounted) {
      stall_.progressed();
      changed_.notify_all();
    }
  }
  if (answer == Answer::kServerFailed) return server_reported(part.worker, part.generation, metrics.error());
  if (answer == Answer::kWorkerLost) return worker_lost(part.worker, part.generation, metrics.error().message);
  dispatch_evaluation();
}

}  // namespace tfd::coordinator
