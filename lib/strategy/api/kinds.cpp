// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/kinds.hpp"

#include <algorithm>
#include <array>

namespace tfd::strategy {
namespace {

constexpr std::array<const Kind*, 6> kKinds{&kParameterServerKind, &kMultiWorkerMirroredKind, &kOneDeviceKind,
                                            &kMirroredKind,        &kCentralStorageKind,      &kTpuKind};

}  // namespace

std::span<const Kind* const> kinds() { return kKinds; }

const Kind* find_kind(std::string_view name) {
  const auto found = std::ranges::find(kKinds, name, &Kind::name);
  return found == kKinds.end() ? nullptr : *found;
}

}  // namespace tfd::strategy
