// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/training.hpp"

namespace tfd::strategy {

void Interrupts::ask_checkpoint() {
  {
    const std::scoped_lock lock(mutex_);
    checkpoint_ = true;
  }
  asked();
}

void Interrupts::ask_stop() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  asked();
}

bool Interrupts::take_checkpoint() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(checkpoint_, false);
}

bool Interrupts::stopping() const {
  const std::scoped_lock lock(mutex_);
  return stop_;
}

void Interrupts::on_ask(std::function<void()> action) {
  const std::scoped_lock lock(action_mutex_);
  action_ = std::move(action);
}

// Under the lock, so that after on_ask({}) nothing is called any more.
void Interrupts::asked() {
  const std::scoped_lock lock(action_mutex_);
  if (action_) action_();
}

}  // namespace tfd::strategy
