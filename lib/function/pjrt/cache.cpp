// SPDX-License-Identifier: Apache-2.0
#include "cache.hpp"

#include <fcntl.h>
#include <isa-l/crc64.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tfd/base/file.hpp"
#include "tfd/base/sha256.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/file.hpp"

namespace tfd::function {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "tfd-xla2";
constexpr std::size_t kDigest = 64;
constexpr std::size_t kFileHash = 32;

/// The digest covers the key, too: the content of another key's file doesn't match.
std::string digest_of(const std::string& key, std::string_view content) {
  Sha256 hash;
  hash.add_part(key);
  hash.add(content);
  return hash.hex();
}

bool belongs_to_us_alone(const std::string& directory) {
  struct stat status {};
  return ::lstat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::optional<std::string> hash_file(const std::string& path, std::uint64_t size) {
  const auto file = tensor::InputFile::open(path);
  if (!file) return std::nullopt;
  std::uint64_t hash = 0;
  std::vector<std::uint8_t> piece(std::size_t{1} << 20);
  for (std::uint64_t at = 0; at < size; at += piece.size()) {
    const std::size_t part = std::min<std::uint64_t>(piece.size(), size - at);
    if (!file->read_at(at, std::as_writable_bytes(std::span(piece)).first(part))) return std::nullopt;
    hash = crc64_ecma_refl(hash, piece.data(), part);
  }
  return fmt::format("{:016x}{:016x}", hash, size);
}

}  // namespace

std::optional<CompileCache> CompileCache::open(const std::string& directory, std::uint64_t most_bytes) {
  std::error_code error;
  fs::create_directories(directory, error);
  // A subdirectory of our own: the given one may be readable and writable by others.
  const std::string own = directory + "/xla";
  ::mkdir(own.c_str(), 0700);
  if (!belongs_to_us_alone(own) || ::access(own.c_str(), W_OK) != 0) return std::nullopt;
  return CompileCache(own, most_bytes);
}

std::optional<std::string> CompileCache::find(const std::string& key) const {
  const std::string path = entry_path(key);
  auto content = load_file(path, most_bytes_);
  if (!content || content->size() < kMagic.size() + kDigest || !content->starts_with(kMagic)) return std::nullopt;
  const std::string digest = content->substr(kMagic.size(), kDigest);
  content->erase(0, kMagic.size() + kDigest);
  if (digest_of(key, *content) != digest) return std::nullopt;
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return std::move(*content);
}

void CompileCache::store(const std::string& key, std::string_view content) const {
  if (content.size() > most_bytes_) return;
  std::string entry = std::string(kMagic) + digest_of(key, content);
  entry += content;
  if (save_file(entry_path(key), entry)) evict();
}

void CompileCache::evict() const {
  struct Entry {
    fs::file_time_type used;
    std::uint64_t size;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  const auto now = fs::file_time_type::clock::now();
  std::error_code error;
  for (fs::directory_iterator at(directory_, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;  // another process may be evicting too
    const std::uint64_t size = at->file_size(gone);
    const auto used = at->last_write_time(gone);
    if (gone) continue;
    // A leftover of a process that was killed while writing.
    if (at->path().extension() == ".tmp" && now - used > std::chrono::hours(1)) fs::remove(at->path(), gone);
    if (at->path().extension() != ".xla") continue;
    entries.push_back({used, size, at->path()});
    total += size;
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (std::size_t i = 0; i < entries.size() && total > most_bytes_; ++i) {
    fs::remove(entries[i].path, error);
    total -= entries[i].size;
  }
}

std::optional<std::string> CompileCache::file_hash(const std::string& path) const {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  const std::string note = fmt::format("{}/plugin-{}-{}-{}-{}.{:09}.crc64", directory_, status.st_dev, status.st_ino,
                                       status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  if (const auto known = load_file(note, 2 * kFileHash); known && known->size() == kFileHash) return *known;
  const auto hash = hash_file(path, static_cast<std::uint64_t>(status.st_size));
  if (hash) (void)save_file(note, *hash);
  return hash;
}

std::string describe_cpu() {
  constexpr std::array<std::string_view, 9> kKeys{"vendor_id", "cpu family",      "model",    "model name", "flags",
                                                  "Features",  "CPU implementer", "CPU part", "CPU variant"};
  std::string out;
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line) && !line.empty();) {  // the first processor's lines
    const std::string_view key = std::string_view(line).substr(0, std::min(line.find_first_of("\t:"), line.size()));
    if (std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end()) out += line + "\n";
  }
  return out;
}

std::string describe_devices(std::string_view platform, std::string_view version,
                             const std::vector<DeviceInfo>& devices) {
  std::string out = fmt::format("{}\n{}\n", platform, version);
  for (const DeviceInfo& one : devices) out += fmt::format("{}: {}\n", one.kind, one.capability);
  return out;
}

std::string describe_system(int process_index, const std::vector<DeviceInfo>& system) {
  std::string out = fmt::format("process {}\n", process_index);
  for (const DeviceInfo& one : system)
    out += fmt::format("{} {} {}: {}\n", one.process_index, one.id, one.kind, one.capability);
  return out;
}

}  // namespace tfd::function
