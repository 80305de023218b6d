#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A dataset's pipeline as a value: what a program states of it, before anything is opened. A plan is parsed from JSON,
// rewritten, instantiated where the data are, and written as JSON again for a task that is to do the same.
// Thread rule: plain values, pure functions.
//
//   data::Plan plan = TFD_TRY(data::parse_plan(json));              // [{"range": 10}, {"batch": 2}]
//   plan.stages.push_back(data::Repeat{});                          // for ever
//   const auto dataset = TFD_TRY(data::instantiate(plan, {.directory = "/data"}));
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/data/dataset.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::data {

struct CsvField {
  FieldSpec spec;
  std::int64_t first_column = 0;  // as many as the shape has elements
  friend bool operator==(const CsvField&, const CsvField&) = default;
};
struct CsvSource {
  std::string path;
  std::vector<CsvField> fields;
  bool header = false;
  char delimiter = ',';
  friend bool operator==(const CsvSource&, const CsvSource&) = default;
};

/// dtype and shape are those of one row; absent: the file's header says them.
struct NpyField {
  std::string name, path;
  std::optional<tensor::DType> dtype = {};
  std::optional<tensor::Shape> shape = {};
  friend bool operator==(const NpyField&, const NpyField&) = default;
};
struct NpySource {
  std::vector<NpyField> fields;
  bool is_single = false;  // written as {"field": …, "path": …}, without "fields"
  friend bool operator==(const NpySource&, const NpySource&) = default;
};

struct RangeSource {
  std::int64_t start = 0, stop = 0, step = 1;
  friend bool operator==(const RangeSource&, const RangeSource&) = default;
};

/// Rows that the pipeline holds, or the file that has them: npy, or safetensors where there is a key.
struct SlicesField {
  std::string name;
  tensor::Tensor rows = {};  // without a value: see path
  std::string path = {};
  std::optional<std::string> key = {};
  friend bool operator==(const SlicesField& a, const SlicesField& b);
};
struct SlicesSource {
  std::vector<SlicesField> fields;
  friend bool operator==(const SlicesSource&, const SlicesSource&) = default;
};

struct Shuffle {
  std::int64_t buffer = 1;
  std::optional<std::uint64_t> seed = {};
  bool reshuffle_each_iteration = true;
  friend bool operator==(const Shuffle&, const Shuffle&) = default;
};
struct Repeat {
  std::optional<std::int64_t> count = {};  // absent: for ever
  friend bool operator==(const Repeat&, const Repeat&) = default;
};
struct Batch {
  std::int64_t size = 1;
  bool drop_remainder = false;
  friend bool operator==(const Batch&, const Batch&) = default;
};
struct Map {
  std::string function;
  std::vector<std::string> fields = {};
  friend bool operator==(const Map&, const Map&) = default;
};
struct Take {
  std::int64_t count = 0;
  friend bool operator==(const Take&, const Take&) = default;
};
struct Skip {
  std::int64_t count = 0;
  friend bool operator==(const Skip&, const Skip&) = default;
};
/// Every count-th element, from index on (0 <= index < count). Source: tf.data.Dataset.shard.
struct Shard {
  std::int64_t count = 1, index = 0;
  friend bool operator==(const Shard&, const Shard&) = default;
};
struct Prefetch {
  std::int64_t buffer = 2;
  friend bool operator==(const Prefetch&, const Prefetch&) = default;
};

/// Sources first; in the order of the table of their names (plan_json.cpp).
using Stage = std::variant<CsvSource, NpySource, RangeSource, SlicesSource, Shuffle, Repeat, Batch, Map, Take, Skip,
                           Shard, Prefetch>;
/// "csv", "tensor_slices", "batch".
std::string_view name_of(const Stage& stage);
bool is_source(const Stage& stage);

/// A source, then transformations.
struct Plan {
  std::vector<Stage> stages;
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// kInvalidArgument with the JSON path within the pipeline: "[3].batch.size: must be positive"; unknown keys with the
/// nearest known one.
Result<Plan> parse_plan(const nlohmann::ordered_json& pipeline);
/// What parse_plan() makes the same plan of.
nlohmann::ordered_json to_json(const Plan& plan);

/// The plan's elements index, index + count, …. The shard comes before the maps and prefetches at the end of the
/// pipeline, which leave elements where they are: what other shards get isn't made. Source: tf.data.Dataset.shard.
Plan shard(Plan plan, std::int64_t count, std::int64_t index);

/// Sources of files that several pipelines read: what one has decoded serves the others. Thread rule:
/// thread-compatible.
struct SharedSources {
  std::vector<std::pair<Stage, std::shared_ptr<const Dataset>>> made;
};

/// Makes the dataset. kInvalidArgument with the JSON path within the pipeline. kNotFound where files are looked at and
/// aren't there. The iterators' errors come with the source's file and line.
Result<std::shared_ptr<const Dataset>> instantiate(const Plan& plan, const DatasetContext& context);

}  // namespace tfd::data
