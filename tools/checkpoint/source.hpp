#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Inputs of tfd-checkpoint: a checkpoint in one file or in parts, any other safetensors file, or a directory of a
// training. Tensors are read one by one. Thread rule: one thread.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/log.hpp"
#include "tfd/variable/checkpoint_reader.hpp"

namespace tfd::checkpoint_tool {

/// One checkpoint, open.
struct Source {
  variable::CheckpointReader reader;
  std::optional<std::int64_t> step;  // that it is of, where its metadata or its name says it
  std::uint64_t bytes = 0;           // of its files

  const std::string& path() const { return reader.path(); }
  /// A value of the metadata; empty: none.
  std::string said(const std::string& key) const;
};

/// A checkpoint, of which only the headers are read.
Result<Source> open_file(const std::string& path);
/// The checkpoint, or of a directory the newest checkpoint that is whole, by its digests, too: which ones it passed
/// over is logged. kNotFound; kDataLoss.
Result<Source> open_whole(const std::string& path, const Log& log);

/// The checkpoints that are meant by a path: itself, or those of a directory's training in the order in which they were
/// written. kNotFound: a directory without any.
Result<std::vector<std::string>> files_of(const std::string& path);

/// Requested names in the file, in order; all if none is requested. kNotFound: one is missing.
Result<std::vector<std::string>> names_in(const Source& source, const std::vector<std::string>& asked);

}  // namespace tfd::checkpoint_tool
