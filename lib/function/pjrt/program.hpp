#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// DeviceProgram behind PJRT: one Execute for all devices. Thread rule: thread-safe.
#include <memory>

#include "executable.hpp"

namespace tfd::function {

/// kInvalidArgument: no devices, not as many partitions for each replica, or positions that are none or there twice.
Result<void> check_assignment(const std::vector<std::vector<int>>& assignment, std::size_t devices);

/// Of an executable that was compiled for this assignment, which check_assignment() has looked at.
Result<std::shared_ptr<DeviceProgram>> make_program(std::shared_ptr<const Executable> executable,
                                                    const std::vector<std::vector<int>>& assignment);

}  // namespace tfd::function
