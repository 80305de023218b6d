#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Asks one task and waits for the answer, which always comes: the request has a deadline. Private to the room. Thread
// rule: blocks its thread; the answer comes on the endpoint's I/O thread.
#include "tfd/task/gather.hpp"

namespace tfd::coordinator {

/// Calls question(done), where done(answer) must be called once.
template <class T, class Ask>
Result<T> ask(const Ask& question) {
  return std::move(task::gather<T>(1, [&](std::size_t, auto done) { question(std::move(done)); }).front());
}

}  // namespace tfd::coordinator
