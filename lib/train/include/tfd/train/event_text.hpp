#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A training's events as lines for people: "step 100/300  loss 0.4321, accuracy 0.91  650/s". Thread rule: one thread.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tfd/train/training.hpp"

namespace tfd::train {

/// "loss 0.1234, accuracy 0.9".
std::string format_metrics(const Metrics& metrics);

class EventText {
 public:
  struct Options {
    bool names_tasks = true;  // before the line, where several tasks train
    bool says_news = true;    // workers that are lost or back, and the end, which stderr may say, too
  };
  explicit EventText(Options options) : options_(options) {}

  /// The line for an event, one JSON object, with its newline; empty: there is nothing to say. Other lines are
  /// returned as they are.
  std::string line_of(std::string_view event);

 private:
  Options options_;
  std::optional<std::int64_t> steps_;  // as the start has said
  std::string saved_;                  // the checkpoint that was said last
};

}  // namespace tfd::train
