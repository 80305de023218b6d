// SPDX-License-Identifier: Apache-2.0
#include "tfd/cli/tool.hpp"

#include "tfd_version.hpp"

namespace tfd::cli {

std::string version() { return TFD_VERSION; }

std::string long_version() {
  const std::string describe = TFD_GIT_DESCRIBE;
  return describe.empty() || describe == "v" TFD_VERSION ? version() : fmt::format("{} ({})", version(), describe);
}

}  // namespace tfd::cli
