#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Sends requests to several tasks at once and waits for all answers. Thread rule: blocks its thread; the answers come
// on the endpoint's I/O thread.
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/base/thread_annotations.hpp"

namespace tfd::task {

/// Calls question(i, done) for every i below `count`; every done(answer) must be called once.
template <class T, class Ask>
std::vector<Result<T>> gather(std::size_t count, const Ask& question) {
  struct Gathered {
    explicit Gathered(std::size_t count) : answers(count), left(count) {}
    Mutex mutex;
    std::condition_variable changed;
    std::vector<std::optional<Result<T>>> answers TFD_GUARDED_BY(mutex);
    std::size_t left TFD_GUARDED_BY(mutex);
  };
  const auto gathered = std::make_shared<Gathered>(count);  // with the callbacks
  for (std::size_t i = 0; i < count; ++i)
    question(i, [gathered, i](Result<T> answer) {
      const MutexLock lock(gathered->mutex);
      gathered->answers[i].emplace(std::move(answer));
      if (--gathered->left == 0) gathered->changed.notify_all();
    });
  MutexLock lock(gathered->mutex);
  lock.wait(gathered->changed, Deadline::never(), [&]() TFD_REQUIRES(gathered->mutex) { return gathered->left == 0; });
  std::vector<Result<T>> out;
  for (auto& answer : gathered->answers) out.push_back(std::move(*answer));
  return out;
}

}  // namespace tfd::task
