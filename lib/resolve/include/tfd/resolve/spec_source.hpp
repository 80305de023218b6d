#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where a tool finds its cluster spec: the one place with the rule of the design ("The tools"):
// --cluster FILE|-|KIND|env|none; else stdin, if that is a FIFO, a socket or a regular file (one JSON document, not the end
// of file; end of file before the first byte falls through); else TF_CONFIG.
// Thread rule: one thread; blocks until the deadline.
#include <functional>
#include <optional>
#include <string>

#include "tfd/base/deadline.hpp"
#include "tfd/base/environment.hpp"
#include "tfd/base/log.hpp"
#include "tfd/cluster/cluster_config.hpp"

namespace tfd::resolve {

/// Reads stdin through one buffer, so that a spec and the lines behind it can share the descriptor.
class InputReader {
 public:
  explicit InputReader(int fd) : fd_(fd) {}
  /// One JSON document (an object), as soon as its last brace is there. nullopt at an end of file before the first byte
  /// that isn't white space. kInvalidArgument for what can't become JSON, kDataLoss for a document that is cut off,
  /// kDeadlineExceeded. `while_waiting` is called once, after 2 s of silence.
  Result<std::optional<std::string>> next_document(Deadline deadline, const std::function<void()>& while_waiting);
  /// One line without its newline; nullopt at the end of file. The last line needs no newline.
  Result<std::optional<std::string>> next_line(Deadline deadline);
  int fd() const { return fd_; }
  bool has_buffered_line() const { return buffer_.find('\n') != std::string::npos; }

 private:
  Result<bool> fill(Deadline deadline);  // false at the end of file
  int fd_;
  std::string buffer_;
  bool ended_ = false;
};

struct SpecSource {
  std::string cluster;                    // the --cluster option; empty where it wasn't given
  std::optional<cluster::TaskId> task;    // the --task option: overrides the spec's
  bool required = true;                   // else: an empty config where there is none
};

/// kUsage where a spec is required and there is none: says the three ways; kDeadlineExceeded (75) after the deadline on a
/// silent stdin; kInvalidArgument for an empty spec or bad JSON.
Result<cluster::ClusterConfig> find_spec(const SpecSource& source, InputReader& input, const Environment& env,
                                         Deadline deadline, const Log& log);

}  // namespace tfd::resolve
