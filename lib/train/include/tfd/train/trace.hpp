#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A timeline of a training, as a file for Perfetto and chrome://tracing. Source: the JSON array format of "Trace Event
// Format". Thread rule: thread-safe.
//
//   const auto trace = TFD_TRY(Trace::open("trace.json"));
//   const Trace::Span span(trace.get(), "compute", Trace::lane_of(replica), step);   // until it goes
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/thread_annotations.hpp"

namespace tfd::train {

class Trace {
 public:
  /// Opens the file, overwriting an existing one. Errors as open(2)'s; kInvalidArgument: not a regular file.
  static Result<std::unique_ptr<Trace>> open(const std::string& path);
  /// Writes the rest. Without that the file can still be opened, but its last span may be missing.
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Lanes of the timeline: the training's thread is 0, then come replicas, or named lanes.
  static int lane_of(std::size_t replica) { return static_cast<int>(replica) + 1; }
  int lane_of(const std::string& name);

  class Span {
   public:
    /// Does nothing if there is no trace.
    Span(Trace* trace, const char* name, int lane, std::int64_t step)
        : trace_(trace),
          name_(name),
          lane_(lane),
          step_(step),
          begun_(trace != nullptr ? Clock::now() : Clock::time_point()) {}
    ~Span() {
      if (trace_ != nullptr) trace_->add(name_, lane_, step_, begun_, Clock::now());
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    Trace* trace_;
    const char* name_;
    int lane_;
    std::int64_t step_;
    Clock::time_point begun_;
  };

  /// Adds a span that was measured elsewhere.
  void add(std::string_view name, int lane, std::int64_t step, Clock::time_point begun, Clock::time_point ended);

 private:
  explicit Trace(int fd) : fd_(fd) {}
  void add_lane(std::string name) TFD_REQUIRES(mutex_);
  void flush() TFD_REQUIRES(mutex_);

  const int fd_;
  const Clock::time_point start_ = Clock::now();
  Mutex mutex_;
  std::string text_ TFD_GUARDED_BY(mutex_) = "[";          // not yet written
  std::vector<std::string> lanes_ TFD_GUARDED_BY(mutex_);  // their names
  bool is_broken_ TFD_GUARDED_BY(mutex_) = false;          // a write failed
};

}  // namespace tfd::train
