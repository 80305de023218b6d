#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A timeline of a training: who did what when, as a file that Perfetto and chrome://tracing open.
// Source: the JSON array format of "Trace Event Format". Thread rule: thread-safe.
//
//   const auto trace = TFD_TRY(Trace::open("trace.json"));
//   const Trace::Span span(trace.get(), "compute", Trace::lane_of(replica), step);   // until it goes
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"

namespace tfd::train {

class Trace {
 public:
  /// Over a file that is there. Errors as open(2)'s; kInvalidArgument: no regular file.
  static Result<std::unique_ptr<Trace>> open(const std::string& path);
  /// Writes what is left. Also without that the file can be opened: its last span may be missing.
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Lanes of the timeline: the training's thread is 0, then come replicas, or whoever has a name.
  static int lane_of(std::size_t replica) { return static_cast<int>(replica) + 1; }
  int lane_of(const std::string& name);

  class Span {
   public:
    /// Nothing where there is no trace.
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

  /// What somebody else did.
  void add(std::string_view name, int lane, std::int64_t step, Clock::time_point begun, Clock::time_point ended);

 private:
  explicit Trace(int fd) : fd_(fd) {}
  void add_lane(std::string name);
  void flush();

  const int fd_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;  // guards what follows
  std::string text_;
  std::vector<std::string> lanes_;  // their names
  bool is_broken_ = false;          // it couldn't be written
};

}  // namespace tfd::train
