// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tfd/base/text.hpp"
#include "tfd/cli/tool.hpp"

namespace tfd::cli {
namespace {

/// Whether a message says "worker:1" already (and not "worker:10"): each thing is said once.
bool names_task(std::string_view message, std::string_view task) {
  for (std::size_t at = message.find(task); at != std::string_view::npos; at = message.find(task, at + 1)) {
    const std::size_t end = at + task.size();
    if (end == message.size() || message[end] < '0' || message[end] > '9') return true;
  }
  return false;
}

}  // namespace

ExitCode exit_code_of(const Error& error) {
  switch (error.code) {
    case Code::kUsage:
      return ExitCode::kUsage;
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kOutOfRange:
    case Code::kDataLoss:
    case Code::kUnimplemented:
      return ExitCode::kBadInput;
    case Code::kUnavailable:
      return ExitCode::kUnavailable;
    case Code::kInternal:
    case Code::kUnknown:
      return ExitCode::kBug;
    case Code::kSystem:
    case Code::kResourceExhausted:
      return ExitCode::kSystem;
    case Code::kDeadlineExceeded:
    case Code::kAborted:
    case Code::kCancelled:
      return ExitCode::kTryAgain;
    case Code::kProtocolMismatch:
      return ExitCode::kProtocol;
    case Code::kPermissionDenied:
      return ExitCode::kNotPermitted;
    case Code::kFailedPrecondition:
      return ExitCode::kConfiguration;
  }
  return ExitCode::kBug;
}

std::string error_line(std::string_view tool, const Error& error) {
  std::string_view message = error.message;
  std::string hint;
  const std::size_t at = message.find("\nhint: ");
  if (at != std::string_view::npos) {
    hint = fmt::format("hint: {}\n", printable(message.substr(at + 7)));
    message = message.substr(0, at);
  }
  const bool task_missing = !error.task.empty() && !names_task(message, error.task);
  return fmt::format("{}: {}{}\n{}", tool, task_missing ? printable(error.task) + ": " : "", printable(message), hint);
}

}  // namespace tfd::cli
