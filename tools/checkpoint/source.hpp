#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What tfd-checkpoint reads: a checkpoint's file, any other safetensors file, or a directory of a training. Tensors are
// read one by one. Thread rule: one thread.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/log.hpp"
#include "tfd/tensor/safetensors.hpp"

namespace tfd::checkpoint_tool {

/// One file, open.
struct Source {
  tensor::SafetensorsReader reader;
  std::optional<std::int64_t> step;  // that it is of, where its metadata or its name says it
  std::uint64_t bytes = 0;           // of the file

  const std::string& path() const { return reader.path(); }
  /// A value of the metadata; empty: none.
  std::string said(const std::string& key) const;
};

/// The file, or of a directory the newest checkpoint that can be read: which ones it passed over is logged. kNotFound.
Result<Source> open_source(const std::string& path, const Log& log);

/// The files that are meant by a path: itself, or those of a directory's training in the order in which they were
/// written. kNotFound: a directory without any.
Result<std::vector<std::string>> files_of(const std::string& path);

/// Names that are both in the file and asked for, in order; all where none is asked for. kNotFound: one isn't there.
Result<std::vector<std::string>> names_in(const Source& source, const std::vector<std::string>& asked);

}  // namespace tfd::checkpoint_tool
