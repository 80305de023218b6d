#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Compiled executables on disk, shared by the processes of one user. Entries are machine code, so the directory must be
// the user's own and nobody else's to write. Losing or damaging an entry costs a compilation, never an error. Thread
// rule: thread-safe, between processes too (files are written whole and renamed).
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/function/device.hpp"

namespace tfd::function {

inline constexpr std::uint64_t kMostCacheBytes = std::uint64_t{1} << 30;

class CompileCache {
 public:
  /// Makes the directory where it is missing. Nothing when it can't be used: read-only, or others may write to it.
  static std::optional<CompileCache> open(const std::string& directory, std::uint64_t most_bytes = kMostCacheBytes);

  /// The entry's content, and it counts as used now. Nothing when there is none or it is damaged.
  std::optional<std::string> find(const std::string& key) const;
  /// Adds or replaces; then removes the entries that were used longest ago while all take more than `most_bytes`.
  void store(const std::string& key, std::string_view content) const;
  /// What tells a plug-in from another one: the CRC-64 of the file and its size, remembered by its device, inode, size
  /// and time of change. Of 200 MB it takes a tenth of a second, a SHA-256 a whole one. Nothing when it can't be read.
  std::optional<std::string> file_hash(const std::string& path) const;

 private:
  CompileCache(std::string directory, std::uint64_t most_bytes)
      : directory_(std::move(directory)), most_bytes_(most_bytes) {}
  std::string entry_path(const std::string& key) const { return directory_ + "/" + key + ".xla"; }
  void evict() const;
  std::string directory_;
  std::uint64_t most_bytes_;
};

/// Model and features of this host's CPU: compiled code that runs on one need not run on another.
std::string describe_cpu();
/// The same of devices: their platform with its version, and of each its kind and what code for it must be made for.
/// Where they are, and which ones, is none of it.
std::string describe_devices(std::string_view platform, std::string_view version,
                             const std::vector<DeviceInfo>& devices);

}  // namespace tfd::function
