#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Work for processor time that nobody else wants: Linux's SCHED_IDLE, whose threads give way at once to whoever wakes
// up, where a nice one would keep its slice of milliseconds. Thread rule: any thread, which waits meanwhile.
#include <atomic>
#include <functional>

#include "tfd/base/deadline.hpp"

namespace tfd {

/// Runs `work` on a thread of that kind and waits until it is back. After `most`, or once somebody is in a hurry,
/// `is_over` is true: the caller must do the rest, since processors that are always busy leave next to
/// nothing. The work takes no lock that others need, allocates and frees nothing: whoever waits for it would wait as
/// long as nobody else does anything.
void in_idle_time(Duration most, const std::atomic<bool>& is_hurried,
                  const std::function<void(const std::atomic<bool>& is_over)>& work);

}  // namespace tfd
