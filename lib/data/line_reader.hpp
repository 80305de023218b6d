#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Lines of a text file, gzipped or not (told by its first bytes, not by its name). Strips LF or CRLF and a UTF-8 byte
// order mark. Thread rule: lives on one thread at a time.
#include <zlib.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "file_stamp.hpp"
#include "tfd/base/error.hpp"

namespace tfd::data {

class LineReader {
 public:
  static Result<LineReader> open(const std::string& path);

  /// nullopt at the end. The view is valid until the next call. kDataLoss for gzip data that is corrupt or cut off: the
  /// piece of a line before the cut is never returned. kInvalidArgument for a line above 64 MiB.
  Result<std::optional<std::string_view>> next();
  /// Of the line that next() returned last; the first is 1.
  std::int64_t line() const { return line_; }
  /// Of the file as it was opened, and of the file that is open as it is now.
  const FileStamp& stamp() const { return stamp_; }
  Result<FileStamp> stamp_now() const { return load_stamp(fd_, path_); }
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(gzFile_s* file) const { gzclose_r(file); }
  };
  LineReader() = default;
  /// More bytes behind those that are left; false at the end.
  Result<bool> refill();

  std::string path_;
  FileStamp stamp_;
  int fd_ = -1;  // the file's
  std::unique_ptr<gzFile_s, Close> file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // what is left of the buffer
  std::int64_t line_ = 0;
  bool at_end_ = false;
};

}  // namespace tfd::data
