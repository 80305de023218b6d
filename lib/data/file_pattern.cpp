// SPDX-License-Identifier: Apache-2.0
#include "file_pattern.hpp"

#include <glob.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "file_stamp.hpp"

namespace tfd::data {
namespace {

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

bool is_pattern(const std::string& path) { return path.find_first_of("*?[") != std::string::npos && !is_there(path); }

Result<std::vector<std::string>> find_files(const std::string& path) {
  if (!is_pattern(path)) {
    if (is_directory(path))
      return fail(Code::kInvalidArgument, "cannot read {}: a directory; all of its files are {}/*", path, path);
    return std::vector<std::string>{path};
  }
  glob_t found{};
  const int outcome = ::glob(path.c_str(), GLOB_ERR, nullptr, &found);  // sorted by name
  const std::unique_ptr<glob_t, void (*)(glob_t*)> release(&found, ::globfree);
  if (outcome == GLOB_NOSPACE) return fail(Code::kResourceExhausted, "cannot look for {}: out of memory", path);
  if (outcome == GLOB_ABORTED) return fail_errno(errno, "cannot look for " + path);
  std::vector<std::string> files;
  for (std::size_t i = 0; i < found.gl_pathc; ++i)
    if (!is_directory(found.gl_pathv[i])) files.emplace_back(found.gl_pathv[i]);
  if (files.empty()) return fail(Code::kNotFound, "no file matches {}", path);
  return files;
}

}  // namespace tfd::data
