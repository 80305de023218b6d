#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Compiled executables on disk, shared by the processes of one user. Entries are machine code, so only the user may be
// able to write to the directory. Losing or damaging an entry costs a compilation, never an error. Thread rule:
// thread-safe, between processes too (files are written whole and renamed).
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
  /// Opens the cache, making its directory if it is missing. nullopt if it can't be used: read-only, or writable by
  /// others.
  static std::optional<CompileCache> open(const std::string& directory, std::uint64_t most_bytes = kMostCacheBytes);

  /// Returns the entry's content and marks it as used. nullopt if there is none or it is damaged.
  std::optional<std::string> find(const std::string& key) const;
  /// Adds or replaces an entry; then evicts the least recently used ones while all take more than `most_bytes`.
  void store(const std::string& key, std::string_view content) const;
  /// Identifies a plug-in: the CRC-64 of the file and its size, memoized by its device, inode, size and ctime. For 200
  /// MB it takes a tenth of a second; SHA-256 would take a whole one. nullopt if the file can't be read.
  std::optional<std::string> file_hash(const std::string& path) const;

 private:
  CompileCache(std::string directory, std::uint64_t most_bytes)
      : directory_(std::move(directory)), most_bytes_(most_bytes) {}
  std::string entry_path(const std::string& key) const { return directory_ + "/" + key + ".xla"; }
  void evict() const;
  std::string directory_;
  std::uint64_t most_bytes_;
};

/// Model and features of this host's CPU: code compiled for one need not run on another.
std::string describe_cpu();
/// The same for devices: their platform with its version, and each one's kind and capability; not their locations or
/// ids.
std::string describe_devices(std::string_view platform, std::string_view version,
                             const std::vector<DeviceInfo>& devices);
/// The system that a program of several hosts is compiled for, and which process's part of it: each device's process,
/// id and kind.
std::string describe_system(int process_index, const std::vector<DeviceInfo>& system);

}  // namespace tfd::function
