// SPDX-License-Identifier: Apache-2.0
#include "tfd/variable/unfinished_checkpoint.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "checkpoint_name.hpp"
#include "parts_index.hpp"
#include "tfd/base/file.hpp"
#include "tfd/base/random.hpp"
#include "tfd/base/sha256.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::variable {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = ".tmp-";
constexpr std::size_t kRunDigits = 12;
constexpr std::size_t kMostName = 128;
constexpr mode_t kMode = 0777;  // less the umask
constexpr int kMostAttempts = 100;

/// The end of the names of this run's directories, before their number.
std::string mark_of(const std::string& run) {
  Sha256 digest;
  digest.add(run);
  return std::string(kMark) + digest.hex().substr(0, kRunDigits) + "-";
}

std::string unfinished_name(std::int64_t step, const std::string& run) {
  return fmt::format(".{}{}{}", checkpoint_directory_name(step), mark_of(run), random_text(4));
}

/// Gives a directory another name, in the place of the one that has it, which gets the former name where both can be
/// exchanged.
int put_in_place(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return 0;
  if (errno != ENOTEMPTY && errno != EEXIST) return errno;
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return 0;
  const std::string former = from + "-old";  // a file system that can't exchange them
  if (::rename(to.c_str(), former.c_str()) != 0) return errno;
  if (::rename(from.c_str(), to.c_str()) == 0) return 0;
  const int saved_errno = errno;
  return ::rename(former.c_str(), to.c_str()) != 0 ? errno : saved_errno;
}

}  // namespace

Result<UnfinishedCheckpoint> UnfinishedCheckpoint::make(const std::string& directory, std::int64_t step,
                                                        const std::string& run) {
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    UnfinishedCheckpoint out(directory, unfinished_name(step, run));
    if (::mkdir(out.path().c_str(), kMode) == 0) return out;
    const int saved_errno = errno;
    const std::string path = out.path();
    out.name_.clear();  // not its own to remove
    if (saved_errno != EEXIST) return fail_errno(saved_errno, fmt::format("cannot create directory {}", path));
  }
  return fail(Code::kAlreadyExists, "{}: no free name for an unfinished checkpoint", directory);
}

UnfinishedCheckpoint::UnfinishedCheckpoint(UnfinishedCheckpoint&& other) noexcept
    : directory_(other.directory_), name_(std::exchange(other.name_, {})) {}

UnfinishedCheckpoint::~UnfinishedCheckpoint() {
  std::error_code ignored;  // what can't be removed, the next writer removes
  if (!name_.empty()) fs::remove_all(path(), ignored);
}

std::string UnfinishedCheckpoint::path() const { return (fs::path(directory_) / name_).string(); }

Result<void> UnfinishedCheckpoint::finish(const std::string& name) {
  const std::string to = (fs::path(directory_) / name).string();
  TFD_TRY(sync_directory(path()));
  if (const int saved_errno = put_in_place(path(), to))
    return fail_errno(saved_errno, fmt::format("cannot rename {} to {}", path(), to));
  TFD_TRY(sync_directory(directory_));
  std::error_code ignored;
  fs::remove_all(path(), ignored);  // the one that had the name
  fs::remove_all(path() + "-old", ignored);
  name_.clear();
  return {};
}

bool is_unfinished_checkpoint(std::string_view name) {
  const std::size_t mark = name.find(kMark);
  if (name.size() > kMostName || !name.starts_with('.') || mark == std::string_view::npos) return false;
  const std::string_view of = name.substr(1, mark - 1), rest = name.substr(mark + kMark.size());
  return step_of_checkpoint_name(of) && !is_file_name(of) && !rest.empty() &&
         std::ranges::all_of(rest, [](char c) { return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); });
}

void remove_unfinished(const std::string& directory, const std::string& run) {
  const std::string mark = mark_of(run);
  std::vector<fs::path> found;
  std::error_code error;  // what can't be listed or removed stays
  for (fs::directory_iterator entry(directory, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (is_unfinished_checkpoint(name) && name.find(mark) != std::string::npos) found.push_back(entry->path());
  }
  for (const fs::path& one : found) fs::remove_all(one, error);
}

void remove_checkpoint(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    fs::remove(path, ignored);
    return;
  }
  const auto metadata = read_checkpoint_metadata(path);
  const bool says_run = metadata && metadata->contains("run");
  const auto step = step_of_checkpoint(path).value_or(0);
  const fs::path aside =
      fs::path(path).parent_path() / unfinished_name(step, says_run ? metadata->at("run") : std::string());
  fs::rename(path, aside, ignored);
  fs::remove_all(aside, ignored);
}

}  // namespace tfd::variable
