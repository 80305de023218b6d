#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What was typed after tfd-run. Thread rule: plain value.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/tpu_devices.hpp"
#include "tfd/cli/tool.hpp"
#include "tfd/strategy/kinds.hpp"
#include "training/common.hpp"

namespace tfd::run {

struct Asked {
  training::Common common;
  std::string strategy;  // empty: parameter-server where something names a cluster, else everything is in this process
  const strategy::Kind* kind = nullptr;  // of `strategy`; null: not said
  int replicas = 0;                      // 0: not said
  std::string devices;                   // of the replicas
  std::string step;                      // how one goes; empty: by the platform
  TpuOptions tpu;
  std::string function;
  std::string predict;  // the function
  std::string output;   // of --predict
  std::string dataset;
  std::string reduce;
  std::string axis;  // of --reduce: one, or several with commas
  std::optional<std::int64_t> gather;
  bool untrained = false;
  bool explain = false;
  bool json = false;  // of --explain
  std::string compat;

  bool is_of_one_host() const { return kind != nullptr && kind->is_of_one_host; }
  bool has_topology() const { return kind != nullptr && kind->has_topology; }
};

/// They fill `asked` in, which outlives them.
std::vector<cli::Option> options(Asked& asked);
/// kUsage: two that exclude each other, or one that is for something else than what is asked for.
Result<void> check_options(const Asked& asked);

}  // namespace tfd::run
