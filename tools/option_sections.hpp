#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The sections of --help, in their order. Every option of a long tool names one of them in its table. Thread rule:
// constants.
#include <string>
#include <vector>

namespace tfd::section {

inline constexpr const char* kWhat = "What to do";
inline constexpr const char* kWhere = "Where";
inline constexpr const char* kData = "Data and checkpoints";
inline constexpr const char* kOutput = "Output";
inline constexpr const char* kGroup = "Group";
inline constexpr const char* kTpu = "TPU";

/// Value of Tool::sections.
inline std::vector<std::string> all() { return {kWhat, kWhere, kData, kOutput, kGroup, kTpu}; }

}  // namespace tfd::section
