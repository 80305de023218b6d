#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// For streams whose threads read their input: those can't be joined while they wait for a command that says nothing.
// Private to the room. Thread rule: thread-safe.
#include <functional>
#include <stop_token>

#include "tfd/data/dataset.hpp"

namespace tfd::data {

/// Stops what the input waits for: at the end of its stream, and when who reads that is stopped.
class InputStop {
 public:
  explicit InputStop(const Order& order)
      : on_reader_(order.stop, [source = source_]() mutable { source.request_stop(); }) {}
  InputStop(const InputStop&) = delete;
  InputStop& operator=(const InputStop&) = delete;
  /// What the input is read by.
  Order below(Order order) const {
    order.stop = source_.get_token();
    return order;
  }
  /// By the stream's destructor, before its threads are joined.
  void request() { source_.request_stop(); }

 private:
  std::stop_source source_;
  std::stop_callback<std::function<void()>> on_reader_;
};
using InputStopPtr = std::unique_ptr<InputStop>;

}  // namespace tfd::data
