#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Progress on stderr: a rewritten bar on a terminal (lines now and then on one that can't rewrite), one line per change
// of state on a pipe, nothing when quiet. Output to the same terminal through the Io doesn't mix with the
// with the bar. Thread rule: one thread.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "tfd/cli/tool.hpp"

namespace tfd::cli {

/// Content of a bar.
struct ProgressView {
  std::string what;
  std::int64_t done = 0;
  std::int64_t total = 0;  // 0: not known
  double rate = 0;         // a second; 0: not known
  std::string note;
};
/// "tfd-run [####......] 4107/40000  650/s  ETA 0:55  loss 0.00759" in at most `columns` columns: the bar gets shorter,
/// then goes, then the end is cut.
std::string progress_line(const ProgressView& view, std::size_t columns);

/// Rate of work, averaged over the last ten seconds. It counts from the first finished units, since the loading and
/// compiling before them isn't repeated.
class Rate {
 public:
  using Time = std::chrono::steady_clock::time_point;
  void add(Time now, std::int64_t done);
  /// Units per second; 0 in the first half second of work.
  double per_second() const;

 private:
  std::deque<std::pair<Time, std::int64_t>> seen_;
  bool moved_ = false;  // something was done since the first call
};

class Progress {
 public:
  Progress(Io& io, std::string what, std::int64_t total);
  ~Progress();
  /// Updates the bar; `note` is shown after the counter ("loss 0.31"). Drawn on a terminal at most ten times a second;
  /// on one that can't rewrite a line the first, the last, and one every ten seconds.
  void update(std::int64_t done, const std::string& note);
  /// Writes a change of state on a line of its own ("worker:1 lost").
  void say(const std::string& line);
  /// Ends the bar's line.
  void finish();

 private:
  Io& io_;
  ProgressView view_;
  bool terminal_ = false;
  bool rewrites_ = false;
  bool drawn_ = false;
  Rate rate_;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace tfd::cli
