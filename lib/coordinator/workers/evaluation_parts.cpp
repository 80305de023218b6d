// SPDX-License-Identifier: Apache-2.0
//
// Parts of an evaluation: sends them to workers, and those of a lost worker to others. Everything here runs on the
// endpoint's I/O thread.
#include "workers/worker_links.hpp"

namespace tfd::coordinator {

void WorkerLinks::dispatch_evaluation() {
  std::vector<EvaluationQueue::Part> parts;
  {
    const MutexLock lock(state_.mutex);
    if (state_.fatal) return;
    parts = state_.evaluations.take_parts();
  }
  for (const EvaluationQueue::Part& part : parts) {
    const Evaluation::Pass& pass = part.evaluation->pass();
    client_of(part.worker)
        .evaluate(pass.function, pass.parts, part.index, pass.steps, state_.epoch, pass.seed, Deadline::never(),
                  [this, part](const Result<std::vector<step::Metric>>& metrics) { evaluated(part, metrics); });
  }
}

void WorkerLinks::evaluated(const EvaluationQueue::Part& part, const Result<std::vector<step::Metric>>& metrics) {
  using Answer = EvaluationQueue::Answer;
  Answer answer{};
  {
    const MutexLock lock(state_.mutex);
    answer =
        state_.evaluations.answered(part, metrics, !metrics && server_links_.find(metrics.error().task), Clock::now());
    if (answer == Answer::kLate) return;
    if (answer == Answer::kCounted) {
      state_.stall.progressed();
      state_.changed.notify_all();
    }
  }
  if (answer == Answer::kServerFailed) return server_reported(part.worker, part.generation, metrics.error());
  if (answer == Answer::kWorkerLost) return lose(part.worker, part.generation, metrics.error().message);
  dispatch_evaluation();
}

}  // namespace tfd::coordinator
