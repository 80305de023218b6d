#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A function that runs on all logical devices of a replica at once. Private to the room. Thread rule: thread-safe.
#include <memory>

#include "client.hpp"
#include "tfd/function/device.hpp"
#include "tfd/function/function.hpp"

namespace tfd::function {

/// `program` was compiled from `module` for the logical devices of one replica. Callers pass whole arguments: each
/// device gets its piece, and results are joined from their pieces. kUnimplemented if XLA's pieces differ from the
/// module's shardings.
Result<std::shared_ptr<Function>> make_partitioned_function(std::shared_ptr<const Client> client,
                                                            const hlo::Module& module,
                                                            std::shared_ptr<DeviceProgram> program);

}  // namespace tfd::function
