#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads children's output line by line, and writes without ever blocking. Thread rule: one thread.
#include <functional>
#include <string>
#include <string_view>

#include "tfd/base/deadline.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::process {

/// Appends what a non-blocking descriptor has now to `out`; false at the end of file, or after an error. Stops once
/// there are more than `most` bytes.
bool read_available(int fd, std::string& out, std::size_t most);

/// Splits what comes out of a descriptor into lines.
class LineReader {
 public:
  using OnLine = std::function<void(std::string_view line)>;  // without its newline
  explicit LineReader(Fd fd);                                 // made non-blocking
  int fd() const { return fd_.get(); }
  /// Reads available data and never blocks. False at the end of file, after the last line, which needs no newline. A
  /// line of more than 64 KiB comes in pieces.
  bool read(const OnLine& on_line);

 private:
  Fd fd_;
  std::string rest_;
};

/// Writes as much as the reader takes and keeps the rest, up to `most` bytes; then it drops whole texts, and counts
/// them. The descriptor's own mode is left alone, for other processes share it. SIGPIPE is to be ignored.
class QueuedOutput {
 public:
  explicit QueuedOutput(int fd, std::size_t most = std::size_t{1} << 20) : fd_(fd), most_(most) {}
  void add(std::string_view text);
  /// Never blocks.
  void flush();
  /// Waits for the reader; false when it didn't take everything.
  bool flush_until(Deadline deadline);
  bool has_pending() const { return !pending_.empty(); }
  std::size_t pending_bytes() const { return pending_.size(); }
  /// The errno of a write that failed, other than because the reader is gone; 0: none did. Its data is lost.
  int saved_errno() const { return saved_errno_; }
  int fd() const { return fd_; }

 private:
  int fd_;  // borrowed
  std::size_t most_;
  std::string pending_;
  std::size_t dropped_ = 0;
  int saved_errno_ = 0;
};

}  // namespace tfd::process
