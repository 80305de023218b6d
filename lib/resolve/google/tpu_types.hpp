#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The parts of an accelerator type's name: "v3-32" has 32 cores, "v5litepod-16" has 16 chips. Source: Google's pages
// on the TPU versions (v2 to v7x). Thread rule: pure functions.
#include <optional>
#include <string_view>

namespace tfd::resolve::google {

/// How many devices the runtime lists for the whole slice: two a chip (v2, v3, v7x), or one, be it the one core of a
/// chip (v5e, v6e) or its two taken together (v4, v5p). nullopt for a name of another form.
std::optional<int> count_tpu_devices(std::string_view accelerator_type);
/// The same from version ("V4", "V5LITE_POD") and topology ("2x2x4" chips), for a node without an accelerator type.
std::optional<int> count_tpu_devices(std::string_view version, std::string_view topology);

}  // namespace tfd::resolve::google
