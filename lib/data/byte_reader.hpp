#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a file, gzipped or not (told by its first bytes, not by its name), one after the other.
// Thread rule: lives on one thread at a time.
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "file_stamp.hpp"
#include "tfd/base/error.hpp"

namespace tfd::data {

class ByteReader {
 public:
  /// kNotFound, kPermissionDenied; kInvalidArgument for what isn't a regular file.
  static Result<ByteReader> open(const std::string& path);

  /// Fills `out` as far as there are bytes: how many; fewer only at the end. kDataLoss for gzip data that is corrupt or
  /// cut off, and where the file isn't any more what it was: the messages say how many of what (`unit`: "line") had
  /// been read.
  Result<std::size_t> read(std::span<char> out, std::string_view unit, std::int64_t units);
  /// kDataLoss where the file isn't any more what was opened.
  Result<void> check_unchanged() const;

  /// Of the file as it was opened.
  const FileStamp& stamp() const { return stamp_; }
  /// How many bytes there can be, compressed as well as it gets. Source: https://zlib.net/zlib_tech.html (1032:1).
  std::uint64_t most_bytes() const;
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(gzFile_s* file) const { gzclose_r(file); }
  };
  ByteReader() = default;

  std::string path_;
  FileStamp stamp_;
  int fd_ = -1;  // the file's
  std::unique_ptr<gzFile_s, Close> file_;
};

}  // namespace tfd::data
