#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Input pipelines, as tf.data: a source, then transformations. A Plan (plan.hpp) describes a pipeline, from
// JSON: [{"csv": {"path": …, "fields": {"image": {"columns": [0, 64], "dtype": "f32"}, …}}}, {"shuffle": {"buffer":
// 2000}}, …]
// Thread rule: a Dataset is immutable and thread-safe; an Iterator lives on one thread at a time.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::command {
struct CommandPlace;
}

namespace tfd::data {

/// Shape of one element's field; -1 for a dimension that varies: the first one of a batch that may be short or of a
/// text, one that a padded batch pads to its largest element.
struct FieldSpec {
  std::string name;
  tensor::DType dtype = tensor::DType::kF32;
  std::vector<std::int64_t> shape;
  /// A text, "string" in programs: its bytes, u8 of any length; in a batch padded with zeros.
  bool is_text = false;
  bool is_mask = false;  // 1 for each row that is data, 0 for one that only fills up a batch
  friend bool operator==(const FieldSpec&, const FieldSpec&) = default;
};
inline FieldSpec text_field(std::string name) {
  return {.name = std::move(name), .dtype = tensor::DType::kU8, .shape = {-1}, .is_text = true};
}
/// Whether it has no rows: a number, or a text.
inline bool is_scalar(const FieldSpec& field) { return field.shape.size() == (field.is_text ? 1 : 0); }
using ElementSpec = std::vector<FieldSpec>;
/// One tensor per field, in the order of the spec.
using Element = std::vector<tensor::Tensor>;

class Iterator {
 public:
  virtual ~Iterator() = default;
  /// nullopt at the end of the data, and ever after. Errors name the file and the line.
  virtual Result<std::optional<Element>> next() = 0;
  /// Skips `count` elements, as calls of next() would, but reads and makes only the necessary ones; returns their
  /// number, which is lower at the end.
  virtual Result<std::int64_t> skip(std::int64_t count);
};

/// Seeds for shuffles that state none: readers with the same seeds see the same order.
struct ShuffleSeeds {
  std::uint64_t iteration = 0;  // for shuffles that reshuffle in each iteration
  std::uint64_t dataset = 0;    // for those that don't: the same for as long as the order is to stay
};

/// Inputs of a shuffle's order, besides its own seed. A shuffle that states a seed and doesn't reshuffle in each
/// iteration depends on none of it: its order is part of the dataset itself, as for a take() and a skip() that split
/// the data.
struct Order {
  std::uint64_t pass = 0;                  // the repeat's pass, or the epoch where each is iterated by itself
  std::uint64_t stream = 0;                // tells readers apart that are to see different orders: shuffle_stream()
  std::optional<ShuffleSeeds> seeds = {};  // absent: a shuffle that states none draws one
  /// Once a stop is requested, the commands that sources run are stopped, and whoever waits for what they print gets
  /// kCancelled. It is no part of the order.
  std::stop_token stop = {};
};

/// The Order::stream of reader `reader` in a run that began, or was continued, at `first_step`; `returns`: how often
/// that reader has rejoined the run. 0 (the order of the seed alone) where all three are 0.
std::uint64_t shuffle_stream(std::uint64_t reader, std::int64_t first_step, std::uint64_t returns);
/// A seed from the system's source of randomness, another one at every call.
std::uint64_t draw_seed();

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const ElementSpec& spec() const = 0;
  /// An iterator at the first element. Opens files: kNotFound, kDataLoss.
  /// The elements' order is a function of the pipeline's seeds and `order`: every call gives the same, but for shuffles
  /// without a seed where `order` has none for them.
  virtual Result<std::unique_ptr<Iterator>> iterate(const Order& order) const = 0;
  Result<std::unique_ptr<Iterator>> iterate() const { return iterate(Order{}); }
  /// Number of elements where it is known without reading; nullopt otherwise; kInfinite for an endless repeat.
  virtual std::optional<std::int64_t> cardinality() const = 0;
  static constexpr std::int64_t kInfinite = -1;
};

/// The function that a {"map": {"function": NAME, "fields": […]}} calls.
struct MapFunction {
  ElementSpec spec;
  std::function<Result<Element>(const Element&)> call;  // thread-safe
};

struct SharedSources;

/// How the rows of csv, jsonl, text and tfrecord files are parsed ahead of their reader: a file is read, and inflated,
/// by one thread at a time, piece by piece, and pieces are parsed by several threads. The elements, their order, errors
/// and skipped rows are the same with any number of them. The threads start with the third piece of an iteration.
struct Parsing {
  std::size_t threads = default_threads();
  std::size_t piece_bytes = std::size_t{512} << 10;
  /// Bytes that have been read and not taken yet are at most this and one piece; a row is never cut.
  std::size_t ahead_bytes = std::size_t{32} << 20;
  /// The number of processors, 8 at most; 0 (no threads) where there is one.
  static std::size_t default_threads();
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
  /// Where it is set, a file that isn't there is no error if the pipeline states its dtypes and shapes: it is left to
  /// whoever will read it, and this is called with the path in the pipeline and the file.
  std::function<void(const std::string& path, const std::string& file)> missing_file = {};
  /// Shares sources of files between datasets, where it is set: equal ones are taken from there, new ones put there.
  SharedSources* sources = nullptr;
  /// Called with the error of each element that an "on_error": "skip" left out. Thread-safe.
  std::function<void(const Error&)> skipped = {};
  /// How many elements are made ahead of the reader, as by a prefetch at the end, and some more of small ones: from the
  /// first next() on, a thread of the iterator makes them, and the maps are called there. Whoever ends the iterator
  /// waits for the element that is being made. 0: none.
  std::int64_t ahead = 0;
  /// Where the commands of sources run. Null: their iterators are errors.
  std::shared_ptr<const command::CommandPlace> commands = {};  // shared: by the context and the sources
  Parsing parsing = {};
};

}  // namespace tfd::data
