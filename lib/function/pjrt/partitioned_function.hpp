#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A function that runs on all logical devices of a replica at once. Private to the room. Thread rule: thread-safe.
#include <memory>

#include "client.hpp"
#include "tfd/function/device.hpp"
#include "tfd/function/function.hpp"

namespace tfd::function {

/// `module`: what `program` was compiled from, for the logical devices of one replica. Arguments are whole: each device
/// is put its piece, and results are put together of theirs. kUnimplemented where XLA makes other
/// pieces than the module's shardings say.
Result<std::shared_ptr<Function>> make_partitioned_function(std::shared_ptr<const Client> client,
                                                            const hlo::Module& module,
                                                            std::shared_ptr<DeviceProgram> program);

}  // namespace tfd::function
