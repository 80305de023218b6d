#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The …-data members of a kubeconfig. Thread rule: pure functions.
#include <optional>
#include <string>
#include <string_view>

namespace tfd::resolve::kubernetes {

/// Standard alphabet, padded (RFC 4648, section 4); line breaks and blanks are skipped. nullopt for anything else.
std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace tfd::resolve::kubernetes
