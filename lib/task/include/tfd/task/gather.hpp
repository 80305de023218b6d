#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Sends requests to several tasks at once and waits for all answers. Thread rule: blocks its thread; the answers come
// on the endpoint's I/O thread.
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::task {

/// Calls question(i, done) for every i below `count`; every done(answer) must be called once.
template <class T, class Ask>
std::vector<Result<T>> gather(std::size_t count, const Ask& question) {
  struct Gathered {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::optional<Result<T>>> answers;
    std::size_t left = 0;
  };
  const auto gathered = std::make_shared<Gathered>();  // with the callbacks
  gathered->answers.resize(count);
  gathered->left = count;
  for (std::size_t i = 0; i < count; ++i)
    question(i, [gathered, i](Result<T> answer) {
      const std::scoped_lock lock(gathered->mutex);
      gathered->answers[i].emplace(std::move(answer));
      if (--gathered->left == 0) gathered->changed.notify_all();
    });
  std::unique_lock lock(gathered->mutex);
  gathered->changed.wait(lock, [&] { return gathered->left == 0; });
  std::vector<Result<T>> out;
  for (auto& answer : gathered->answers) out.push_back(std::move(*answer));
  return out;
}

}  // namespace tfd::task
