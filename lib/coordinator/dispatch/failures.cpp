// SPDX-License-Identifier: Apache-2.0
#include "tfd/coordinator/failures.hpp"

#include <charconv>

namespace tfd::coordinator {
namespace {

bool is_of(const Error& error, std::string_view job) {
  return error.task.starts_with(job) && error.task.size() > job.size() && error.task[job.size()] == ':';
}

Result<std::optional<int>> read_number(const Environment& env, const char* name) {
  const auto text = env.find(name);
  if (!text || text->empty()) return std::nullopt;
  int number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size())
    return fail(Code::kInvalidArgument, "{}: '{}' is not a number", name, *text);
  return number;
}

}  // namespace

Failure classify(const Error& error) {
  switch (error.code) {
    case Code::kUnavailable:
    case Code::kAborted:
      if (is_of(error, "ps")) return Failure::kServer;
      return is_of(error, "worker") ? Failure::kWorker : Failure::kFunction;
    case Code::kCancelled:
      return is_of(error, "worker") ? Failure::kWorker : Failure::kFunction;
    case Code::kDeadlineExceeded:
      return is_of(error, "worker") ? Failure::kFunction : Failure::kTimeout;
    default:
      return Failure::kFunction;
  }
}

Result<TransientLimits> read_transient_limits(const Environment& env) {
  TransientLimits limits;
  if (const auto servers = TFD_TRY(read_number(env, "TF_COORDINATOR_IGNORE_TRANSIENT_PS_FAILURES")))
    limits.servers = *servers;
  limits.timeouts = TFD_TRY(read_number(env, "TF_COORDINATOR_IGNORE_TRANSIENT_TIMEOUTS"));
  return limits;
}

// The K-th report counts: TensorFlow ignores K - 1.
bool TransientFailures::pass(const Error& error) {
  switch (classify(error)) {
    case Failure::kServer:
      return servers_ > 0 && ++reports_[error.task] < servers_;
    case Failure::kTimeout:
      return timeouts_ > 0 && ++seen_timeouts_ < timeouts_;
    default:
      return false;
  }
}

int TransientFailures::reports_of(const std::string& server) const {
  const auto found = reports_.find(server);
  return found == reports_.end() ? 0 : found->second;
}

}  // namespace tfd::coordinator
