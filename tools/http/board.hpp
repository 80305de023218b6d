#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A tool's messages to its page. Telling costs the teller next to nothing: a step is a number that is stored,
// everything else is put into an inbox, which the page's thread empties once a second, or when somebody looks. Thread
// rule: any thread tells; look() and read_inbox() are for the page's thread alone.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "status/ask.hpp"
#include "tfd/base/deadline.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "training_view.hpp"

namespace tfd::http {

inline double in_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

struct SaidLine {
  std::int64_t when_ms = 0;  // since 1970
  std::string text;
};

/// All that is known, at one moment.
struct Snapshot {
  std::string tool;
  std::string version;
  std::string host;
  std::int64_t pid = 0;
  Duration uptime{};
  double cpu_seconds = 0;
  std::uint64_t memory_bytes = 0;  // resident; 0: the system doesn't say
  bool serves = false;             // it is ready as long as all its tasks are
  std::string waits_for;           // empty: what it is for has begun
  TrainingView training;
  std::optional<Duration> since_step;  // how long it has been making the present step
  std::deque<SaidLine> said;
  std::vector<status::TaskReport> tasks;

  /// The parts that are missing still, or again; empty: it is ready.
  std::string missing() const;
};

class Board {
 public:
  explicit Board(std::string tool);

  /// The tool isn't ready until it has this, or, empty, it is ready.
  void wait_for(std::string what);
  /// The tool serves the tasks that set_tasks() is told of.
  void set_serving() { serves_ = true; }
  /// A training's event, one line of JSON. From `start` on the tool is ready, until a parameter server is lost.
  void add_event(std::string_view line);
  /// A training's step.
  void set_step(std::int64_t step) { step_.store(step, std::memory_order_relaxed); }
  /// A line that the tool says to people.
  void say(std::string_view line);
  void set_tasks(std::vector<status::TaskReport> reports);

  void read_inbox();
  Snapshot look();

 private:
  struct Inbox {
    std::vector<std::string> events;
    std::vector<SaidLine> said;
    std::optional<std::string> waits_for;
    std::optional<std::vector<status::TaskReport>> tasks;
  };

  const std::string tool_;
  const Clock::time_point started_ = Clock::now();
  std::atomic<bool> serves_{false};
  std::atomic<std::int64_t> step_{-1};  // none was told
  Mutex mutex_;
  Inbox inbox_ TFD_GUARDED_BY(mutex_);
  std::int64_t seen_step_ = -1;  // the page's thread's: what it last saw in step_
  bool has_events_ = false;      // the page's thread's: this process prints them
  Snapshot shown_;               // the page's thread's
  // When tasks were last told of a training by whoever makes its steps, if that is too long ago for it to go on; the
  // page's thread's.
  std::optional<Clock::time_point> silent_since_;
};

}  // namespace tfd::http
