// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>

#include "tfd/function/function.hpp"

namespace tfd::function {

Result<std::string> find_plugin(const Environment& env) {
  bool is_forbidden = false;  // not accessible, as below /root
  const auto is_there = [&](const std::string& path) {
    const bool readable = ::access(path.c_str(), R_OK) == 0;
    is_forbidden = is_forbidden || (!readable && errno == EACCES);
    return readable;
  };
  if (const std::string asked = env.get("TFD_PJRT_PLUGIN"); !asked.empty()) {
    if (is_there(asked)) return asked;
    if (!is_forbidden) return fail(Code::kFailedPrecondition, "no PJRT plug-in at {} (TFD_PJRT_PLUGIN)", asked);
    return fail(Code::kFailedPrecondition, "this user may not read the PJRT plug-in {} (TFD_PJRT_PLUGIN)", asked);
  }
  for (const std::string built_in : {TFD_PJRT_CONFIGURED, TFD_PJRT_INSTALLED})
    if (is_there(built_in)) return built_in;
  if (is_forbidden)
    return fail(Code::kFailedPrecondition,
                "this user may not read the PJRT plug-in {}: set TFD_PJRT_PLUGIN to a copy that all users can read, or "
                "install tfd (./dev install)",
                TFD_PJRT_CONFIGURED);
  return fail(Code::kFailedPrecondition,
              "no PJRT plug-in at {} or {}: run ./dev setup, or set TFD_PJRT_PLUGIN to the path of one",
              TFD_PJRT_CONFIGURED, TFD_PJRT_INSTALLED);
}

std::string find_cache_directory(const Environment& env) {
  if (const auto own = env.find("TFD_CACHE_DIR")) return *own;
  const std::string cache_home = env.get("XDG_CACHE_HOME");
  if (cache_home.starts_with('/')) return cache_home + "/tfd";  // the XDG specification says to ignore relative ones
  const std::string home = env.get("HOME");
  return home.empty() ? "" : home + "/.cache/tfd";
}

}  // namespace tfd::function
