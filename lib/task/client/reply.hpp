#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Callbacks of the tasks' clients for the messages that answer requests. Private to the room. Thread rule: pure
// functions.
#include <utility>
#include <vector>

#include "tfd/task/task_client.hpp"

namespace tfd::task {

/// A callback for the message that holds a value, from one for the value.
template <class T, class Decode>
transport::ReplyCallback decoded(TaskClient::Callback<T> done, Decode decode) {
  return [done = std::move(done), decode = std::move(decode)](Result<transport::Message> answer) {
    if (!answer) return done(fail(std::move(answer).error()));
    done(decode(*answer));
  };
}

/// A callback for a message without contents.
inline transport::ReplyCallback acknowledged(TaskClient::Callback<void> done) {
  return [done = std::move(done)](Result<transport::Message> answer) {
    if (!answer) return done(fail(std::move(answer).error()));
    done({});
  };
}

/// A callback for a message of `count` tensors, as many as were requested; kInternal if the number differs.
inline transport::ReplyCallback of_count(std::size_t count, TaskClient::Callback<std::vector<tensor::Tensor>> done) {
  return [done = std::move(done), count](Result<transport::Message> answer) {
    if (!answer) return done(fail(std::move(answer).error()));
    if (answer->tensors.size() != count)
      return done(fail(Code::kInternal, "asked for {} variables, got {}", count, answer->tensors.size()));
    done(std::move(answer->tensors));
  };
}

}  // namespace tfd::task
