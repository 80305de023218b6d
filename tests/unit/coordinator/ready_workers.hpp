#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Brings workers of a pool up and down, as their events and answers do.
#include "workers/worker_pool.hpp"

namespace tfd::coordinator {

/// Makes a worker ready that is away: it comes up, as process `incarnation`, and has the program.
inline void bring_up(WorkerPool& workers, std::size_t index, Window window, Clock::time_point now = {},
                     transport::Incarnation incarnation = 1) {
  const auto generation = workers.up(index, incarnation, true, now);
  workers.program_loaded(index, generation.value());
  workers.ready(index, *generation, window, now);
}

inline void take_down(WorkerPool& workers, std::size_t index, Clock::time_point now = {}) {
  workers.lose(index, std::nullopt, "it is gone", false, now);
}

}  // namespace tfd::coordinator
