#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A file that comes into being whole, however long it is: it is written beside its name, without a name where the file
// system can do that, and renamed at the end. Other files (/dev/stdout, a FIFO) are written directly.
// Thread rule: lives on one thread at a time.
#include <zlib.h>

#include <memory>
#include <string>
#include <string_view>

#include "tfd/base/error.hpp"

namespace tfd::data {

class FileWriter {
 public:
  /// `compressed`: with gzip. kNotFound: no such directory; kPermissionDenied.
  static Result<std::unique_ptr<FileWriter>> create(const std::string& path, bool compressed = false);
  /// Removes an unfinished file.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  /// kResourceExhausted: the disk is full; kSystem.
  Result<void> add(std::string_view bytes);
  /// Makes it the file of that name, on disk.
  Result<void> finish();

 private:
  FileWriter(std::string path, std::string temporary) : path_(std::move(path)), temporary_(std::move(temporary)) {}

  const std::string path_, temporary_;  // equal if it isn't a regular file
  bool is_named_ = false;               // whether there is a file of that name
  int fd_ = -1;                         // for fsync: the stream has one of its own
  gzFile_s* stream_ = nullptr;
};

}  // namespace tfd::data
