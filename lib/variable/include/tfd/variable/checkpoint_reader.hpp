#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// An open checkpoint, in one file or in parts: the values in it, each read on demand. Any safetensors file is one, too.
// Thread rule: a CheckpointReader is immutable, a CheckpointFiles one thread's.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/safetensors.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::variable {

class CheckpointReader {
 public:
  /// Opens a file, or the directory of a checkpoint in parts. The errors of SafetensorsReader::open(); kDataLoss: a
  /// part is missing, has another size than the index says, or isn't a regular file, or the shards of a value aren't
  /// those of the index; kInvalidArgument: written by a newer tfd.
  static Result<CheckpointReader> open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::map<std::string, tensor::TensorSpec>& specs() const { return specs_; }
  /// Tensors of types that tfd lacks, which aren't among the values.
  const tensor::UnsupportedTensors& unsupported() const { return unsupported_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Size of its files.
  std::uint64_t bytes() const;
  /// A value, in a buffer of its own. kNotFound; kInvalidArgument: of a type that tfd lacks; kDataLoss: a
  /// file has become shorter.
  Result<tensor::Tensor> read(const std::string& name) const;
  /// Its rows [first, first + count) of dimension 0; the caller has checked that they exist. Errors as read().
  Result<tensor::Tensor> read_rows(const std::string& name, std::int64_t first, std::int64_t count) const;
  /// All values, in the order of the files. kDataLoss: a part's digest is another one than the index says.
  Result<tensor::NamedTensors> read_all() const;
  /// Reads everything once, and compares the digests, as read_all().
  Result<void> check_digests() const;

 private:
  struct Stored {
    std::size_t part = 0;
    std::string name;  // in the part
  };
  struct Shard {
    std::string value;        // its name, of which this is one shard
    std::uint64_t begin = 0;  // position of its bytes in the value
    bool is_whole = false;
  };
  explicit CheckpointReader(std::string path) : path_(std::move(path)) {}
  Result<void> open_parts();
  Result<void> add_sharded(const std::string& name, const tensor::Shape& shape, std::int64_t shards);
  template <class Take>
  Result<void> read_part(std::size_t part, const Take& take) const;

  std::string path_;
  std::map<std::string, tensor::TensorSpec> specs_;
  tensor::UnsupportedTensors unsupported_;
  std::map<std::string, std::string> metadata_;
  std::vector<tensor::SafetensorsReader> parts_;
  std::vector<std::uint64_t> digests_;                 // of the parts; none: it is one file
  std::map<std::string, std::vector<Stored>> values_;  // the shards of each, or itself
  std::map<std::string, Shard> shards_;                // by their names in the parts
  std::vector<std::pair<std::string, std::int64_t>> counters_;
};

/// A cache of open checkpoints, and of other safetensors files, for reading one value after the other.
class CheckpointFiles {
 public:
  /// Its contents. Borrowed until the next call. Errors as CheckpointReader::open(), the same one each time.
  Result<const CheckpointReader*> open(const std::string& path);
  /// The same for readers of its values: the digests are compared the first time, as check_digests() does.
  Result<const CheckpointReader*> open_whole(const std::string& path);

 private:
  struct Opened {
    CheckpointReader reader;
    bool is_checked = false;
  };
  Result<Opened*> find(const std::string& path);
  std::map<std::string, Result<Opened>> opened_;
};

}  // namespace tfd::variable
