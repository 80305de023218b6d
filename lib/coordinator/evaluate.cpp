// SPDX-License-Identifier: Apache-2.0
//
// Exact passes of a function over its dataset: callers wait for theirs. Their parts: workers/evaluation_parts.cpp.
#include "coordinator.hpp"
#include "tfd/data/dataset.hpp"

namespace tfd::coordinator {

Result<std::vector<std::pair<std::string, double>>> Coordinator::evaluate(const std::string& function,
                                                                          std::optional<std::int64_t> steps,
                                                                          Deadline deadline) {
  TFD_TRY(check_evaluation(state_.program, function, steps));
  MutexLock lock(state_.mutex);
  const bool is_next = lock.wait(state_.changed, deadline, [&]() TFD_REQUIRES(state_.mutex) {
    return !state_.evaluations.current() || state_.fatal || state_.evaluations.is_closed();
  });
  if (state_.fatal) return fail(*state_.fatal);
  if (state_.evaluations.is_closed()) return fail(Code::kCancelled, "evaluations have ended");
  if (!is_next)
    return fail(Code::kDeadlineExceeded,
                "evaluation by '{}': another evaluation, by '{}', has not finished: waiting for {}", function,
                state_.evaluations.current()->pass().function, state_.describe());
  const auto evaluation = state_.evaluations.begin(function, steps, data::draw_seed());
  state_.stall.restart(Clock::now());
  state_.endpoint->post([this] { worker_links_.dispatch_evaluation(); });
  const bool ended = lock.wait(state_.changed, deadline, [&] { return evaluation->ended(); });
  const std::string waiting = ended ? std::string() : state_.describe();
  state_.evaluations.leave();
  state_.changed.notify_all();  // another one may wait
  if (evaluation->error()) return fail(*evaluation->error());
  if (ended) return evaluation->values();
  return fail(Code::kDeadlineExceeded, "evaluation by '{}': {} of {} parts are missing: waiting for {}", function,
              evaluation->left(), evaluation->pass().parts, waiting);
}

void Coordinator::stop_evaluating() {
  const MutexLock lock(state_.mutex);
  state_.evaluations.close();
  state_.changed.notify_all();
}

}  // namespace tfd::coordinator
