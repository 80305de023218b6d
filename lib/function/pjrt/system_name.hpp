#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Names of TPU systems as people type them, and what libtpu takes in their place. Every shape is checked here: libtpu
// ends the process on some invalid ones. Thread rule: plain values, pure functions.
#include <string>
#include <string_view>
#include <vector>

#include "tfd/function/function.hpp"

namespace tfd::function {

struct SystemName {
  std::string name;                   // "v5e:2x4"
  std::vector<ClientOption> options;  // create options of the topology
};

/// Parses a system and its chips ("v4:2x2x4"), or an accelerator type ("v5litepod-8"), which means the default
/// topology of its size. A name that is no TPU's is returned as it is. A TPU v4 gets "chip_config_name=megacore", as
/// its runtime has one device a chip; libtpu's default has two, with the memory of the chip for each (facts: libtpu
/// 0.0.51). kInvalidArgument: no chips, or not two or three numbers of them from 1 up; an accelerator type of a size
/// that doesn't exist.
Result<SystemName> parse_system_name(std::string_view text);

}  // namespace tfd::function
