// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/idle_time.hpp"

#include <sched.h>

#include <algorithm>
#include <future>
#include <system_error>
#include <thread>

namespace tfd {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(20);  // poll interval for a hurry

}  // namespace

void in_idle_time(Duration most, const std::atomic<bool>& is_hurried,
                  const std::function<void(const std::atomic<bool>& is_over)>& work) {
  std::atomic<bool> is_over = false;
  std::packaged_task<void()> task([&] {
    const sched_param none{};
    ::sched_setscheduler(0, SCHED_IDLE, &none);  // this thread alone; where it is forbidden, it is one like all
    work(is_over);
  });
  std::future<void> done = task.get_future();
  std::thread idle;
  try {
    idle = std::thread(std::move(task));
  } catch (const std::system_error&) {  // too many threads: all is left to the caller
    return;
  }
  for (const Deadline end = Deadline::after(most); !end.expired() && !is_hurried.load(std::memory_order_relaxed);)
    if (done.wait_for(std::min(kLook, end.remaining())) == std::future_status::ready) break;
  is_over = true;
  idle.join();
  done.get();  // what it has thrown
}

}  // namespace tfd
