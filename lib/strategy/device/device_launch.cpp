// SPDX-License-Identifier: Apache-2.0
//
// A step as one program for the devices of several processes: DeviceSteps' launches.
#include "device_steps.hpp"
#include "tfd/base/sha256.hpp"

namespace tfd::strategy {
namespace {

/// 64 bits that tell programs for a system's devices apart.
std::uint64_t signature_of(const hlo::Module& module, const std::vector<std::vector<int>>& system) {
  Sha256 hash;
  hash.add_part(module.code);
  for (const auto& replica : system) hash.add_part(fmt::format("{}", fmt::join(replica, " ")));
  return std::stoull(hash.hex().substr(0, 16), nullptr, 16);
}

}  // namespace

Result<std::optional<DeviceSteps::Launch>> DeviceSteps::prepare_launch(const Inputs& inputs) {
  if (options_.system.empty()) return std::nullopt;
  TFD_TRY(add_programs());
  if (!can_be_fused(inputs.step)) return std::nullopt;
  const std::size_t module = inputs.step.replicas.front().module;
  const hlo::Module& fused = (waits() ? layout_.fused_waiting : layout_.fused)[module].module;
  TFD_TRY(compiled((waits() ? fused_waiting_ : fused_)[module], fused), function_.name);
  std::uint64_t& signature = signatures_[{module, waits()}];
  if (signature == 0) signature = signature_of(fused, options_.system);
  return Launch{module, signature};
}

Result<std::optional<DeviceSteps::Done>> DeviceSteps::launch(const Inputs& inputs, std::int64_t number) {
  auto done = TFD_TRY(step_fused(inputs, number));
  if (!done) return std::nullopt;
  for (const ReplicaState& one : state_)
    for (const std::size_t p : changing_) TFD_TRY(one.packs[p]->await());
  TFD_TRY(read_metrics(*done));
  return done;
}

}  // namespace tfd::strategy
