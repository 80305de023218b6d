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

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"

namespace tfd::strategy {

class Trace {
 public:
  /// Over a file that is there. Errors as open(2)'s.
  static Result<std::unique_ptr<Trace>> open(const std::string& path);
  /// Writes what is left. Also without that the file can be opened: its last span may be missing.
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Lanes of the timeline: the training's thread is 0.
  static int lane_of(std::size_t replica) { return static_cast<int>(replica) + 1; }

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
      if (trace_ != nullptr) trace_->add(*this);
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    friend class Trace;
    Trace* trace_;
    const char* name_;
    int lane_;
    std::int64_t step_;
    Clock::time_point begun_;
  };

 private:
  explicit Trace(int fd) : fd_(fd) {}
  void add(const Span& span);
  void flush();

  const int fd_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;  // guards what follows
  std::string text_;
  int lanes_ = 0;  // that have a name
};

}  // namespace tfd::strategy
