#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Input pipelines, as tf.data: a source, then transformations, from JSON:
//   [{"csv": {"path": …, "fields": {"image": {"columns": [0, 64], "dtype": "f32"}, …}}}, {"shuffle": {"buffer": 2000}},
//   …]
// Thread rule: a Dataset is immutable and thread-safe; an Iterator lives on one thread at a time.
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::data {

/// Shape of one element's field; -1 for a first dimension that varies (a batch that may be short).
struct FieldSpec {
  std::string name;
  tensor::DType dtype = tensor::DType::kF32;
  std::vector<std::int64_t> shape;
};
using ElementSpec = std::vector<FieldSpec>;
/// One tensor per field, in the order of the spec.
using Element = std::vector<tensor::Tensor>;

class Iterator {
 public:
  virtual ~Iterator() = default;
  /// nullopt at the end of the data, and ever after. Errors name the file and the line.
  virtual Result<std::optional<Element>> next() = 0;
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const ElementSpec& spec() const = 0;
  /// From the first element. Opens files: kNotFound, kDataLoss.
  /// The order is a function of the pipeline's seeds only: every call gives the same (but for shuffles without a seed).
  virtual Result<std::unique_ptr<Iterator>> iterate() const = 0;
  /// As the pass-th time through a repeat (from 0): shuffles that reshuffle give another order in each. For epochs that
  /// are iterated one by one; iterate() is pass 0.
  virtual Result<std::unique_ptr<Iterator>> iterate_pass(std::uint64_t pass) const { return (void)pass, iterate(); }
  /// Number of elements where it is known without reading; nullopt otherwise; kInfinite for an endless repeat.
  virtual std::optional<std::int64_t> cardinality() const = 0;
  static constexpr std::int64_t kInfinite = -1;
};

/// What a {"map": {"function": NAME, "fields": […]}} calls.
struct MapFunction {
  ElementSpec spec;
  std::function<Result<Element>(const Element&)> call;  // thread-safe
};

struct DatasetContext {
  std::string directory;  // relative paths start here
  /// Finds the function of a map: its name, the element it gets, the names of the fields it makes. Absent: maps are
  /// errors.
  std::function<Result<MapFunction>(const std::string& name, const ElementSpec& input,
                                    const std::vector<std::string>& fields)>
      find_function = {};
  /// Reads files to learn their shapes (npy headers). Off where the files are another host's.
  bool look_at_files = true;
  /// Where it is set, a file that isn't there is left to who will read it, if the pipeline states its dtypes and
  /// shapes: called with the path in the pipeline and what is missing.
  std::function<void(const std::string& path, const std::string& file)> missing_file = {};
  /// Mixed into the seeds of shuffles, so that workers of one program (their index here) don't all see the same order.
  std::uint64_t shuffle_stream = 0;
};

/// Sources: csv (gzip too), npy, range, tensor_slices. Transformations: shuffle, repeat, batch, map, take, skip,
/// prefetch. kInvalidArgument with the JSON path within the pipeline: "[3].batch.size: must be positive"; unknown keys
/// with the nearest known one. kNotFound where files are looked at and aren't there. A source's errors come with its
/// file and line.
Result<std::shared_ptr<const Dataset>> make_dataset(const nlohmann::ordered_json& pipeline,
                                                    const DatasetContext& context);

/// Every count-th element, from index on (0 <= index < count). Source: tf.data.Dataset.shard.
std::shared_ptr<const Dataset> make_shard(std::shared_ptr<const Dataset> dataset, std::int64_t count,
                                          std::int64_t index);

}  // namespace tfd::data
