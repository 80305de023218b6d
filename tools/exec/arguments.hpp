#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where the arguments come from: lists behind ":::" on the command line (all combinations of several), a file, or
// stdin; one per line, or up to a NUL. Thread rule: one thread.
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
/// With a space between each.
std::string join(const std::vector<std::string>& words);

class Arguments {
 public:
  /// All combinations, the last list changing fastest.
  explicit Arguments(std::vector<std::vector<std::string>> lists);
  Arguments(process::Fd file, std::string name, char separator);
  /// Borrows the descriptor.
  Arguments(int fd, std::string name, char separator);

  /// What to wait for (POLLIN) before next() has more; -1: it needn't be waited for.
  int fd() const;
  bool has_ended() const { return ended_; }
  /// The next command's arguments, one per source; nullopt where none has arrived yet, or at the end.
  Result<std::optional<std::vector<std::string>>> next();
  /// How many there are in all, before the first is taken: waits for the end of the file and keeps all of it.
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
