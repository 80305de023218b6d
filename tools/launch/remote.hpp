#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A tfd-launch that another one, with --hosts, has started here: its stdin says, on a line, the key and variables, and
// then signals ("signal 15"); the end of it is the end of the connection. Thread rule: main thread.
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tfd/base/environment.hpp"
#include "tfd/process/event_loop.hpp"
#include "tfd/process/relay.hpp"
#include "tfd/transport/curve_key.hpp"

namespace tfd::tool_launch {

struct Preamble {
  std::optional<transport::CurveKey> key = {};
  Environment variables;
};

/// The line with its newline. kInvalidArgument where it is longer than 60 KiB, the most that a line may have.
Result<std::string> format_preamble(const Preamble& preamble);
Result<Preamble> parse_preamble(std::string_view line);

/// The first output of the first host on stdout, when it holds the rendezvous.
std::string format_announcement(std::uint16_t port);
/// nullopt for any other line.
std::optional<std::uint16_t> parse_announcement(std::string_view line);

class RemoteInput {
 public:
  explicit RemoteInput(process::Fd fd) : reader_(std::move(fd)) {}
  /// Blocks. kDeadlineExceeded, kUnavailable at the end of the connection.
  Result<Preamble> wait_preamble(Deadline deadline);
  /// From now on: `on_signal` with each signal, and with SIGTERM once the connection has ended.
  void watch(process::EventLoop& loop, std::function<void(int signal)> on_signal);

 private:
  void work();
  process::LineReader reader_;
  std::deque<std::string> lines_;
  process::EventLoop* loop_ = nullptr;
  std::function<void(int)> on_signal_;
};

}  // namespace tfd::tool_launch
