#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Sources of arguments: lists after ":::" on the command line (all combinations of several), a file, or stdin; one per
// line, or NUL-terminated. Thread rule: one thread.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::exec {

/// "echo {} ::: a b" is a command and its lists.
struct CommandLine {
  std::vector<std::string> words;
  std::vector<std::vector<std::string>> lists;
  bool has_lists = false;
};
CommandLine split_command(const std::vector<std::string>& command);
/// Joins the words with spaces.
std::string join(const std::vector<std::string>& words);

class Arguments {
 public:
  /// Takes all combinations of the lists, the last one changing fastest.
  explicit Arguments(std::vector<std::vector<std::string>> lists);
  Arguments(process::Fd file, std::string name, char separator);
  /// Reads from a descriptor, which is borrowed.
  Arguments(int fd, std::string name, char separator);

  /// Descriptor to poll (POLLIN) before next() has more; -1: no need to wait.
  int fd() const;
  bool has_ended() const { return ended_; }
  /// The next command's arguments, one per source; nullopt where none has arrived yet, or at the end.
  Result<std::optional<std::vector<std::string>>> next();
  /// Total number of commands, before the first is taken: reads and keeps the whole file.
  Result<std::uint64_t> count_all();

 private:
  Result<void> fill();

  std::vector<std::vector<std::string>> lists_;
  std::vector<std::size_t> at_;
  process::Fd owned_;
  int fd_ = -1;
  std::string name_;
  char separator_ = '\n';
  std::string buffer_;
  std::size_t start_ = 0;
  bool file_ended_ = false;
  bool ended_ = false;
};

}  // namespace tfd::exec
