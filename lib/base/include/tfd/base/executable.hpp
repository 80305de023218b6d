#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Paths of this program's file and of the files installed with it. Thread rule: pure functions.
#include <filesystem>

namespace tfd {

/// The file that this process executes, links followed; empty where it isn't known.
inline std::filesystem::path own_executable() {
  std::error_code error;
  auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : path;
}

/// The folder above its own, as /usr of /usr/bin/tfd-run: of an installation, an unpacked archive or a virtual
/// environment. Empty where it isn't known.
inline std::filesystem::path own_prefix() { return own_executable().parent_path().parent_path(); }

}  // namespace tfd
