#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A dataset's pipeline as a value: what a program states of it, before anything is opened. A plan is parsed from JSON,
// rewritten, instantiated where the data are, and written as JSON again for a task that is to do the same.
// Thread rule: plain values, pure functions.
//
//   data::Plan plan = TFD_TRY(data::parse_plan(json));              // [{"range": 10}, {"batch": 2}]
//   plan.stages.push_back(data::Repeat{});                          // forever
//   const auto dataset = TFD_TRY(data::instantiate(plan, {.directory = "/data"}));
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/data/dataset.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::data {

/// Every count-th element, from index on (0 <= index < count), each with the width - 1 ones after it (index + width <=
/// count). Source: tf.data.Dataset.shard, whose width is 1; no pipeline states another one.
struct Shard {
  std::int64_t count = 1, index = 0;
  bool by_hint = false;  // auto_shard() fills in which one. Source: SHARD_HINT
  /// Whether it is an error if this shard has elements but another one has none. Source: ShardDataset's attribute.
  bool require_non_empty = false;
  std::int64_t width = 1;
  friend bool operator==(const Shard&, const Shard&) = default;
};

/// Files of rows: paths and patterns, one after the other; `shard` says which of the files are read, cycle_length of
/// them at a time, as by Interleave.
struct FileList {
  std::vector<std::string> paths;
  Shard shard = {};
  std::int64_t cycle_length = 1, block_length = 1;
  FileList() = default;
  FileList(std::string path) : paths{std::move(path)} {}  // NOLINT: a path is a list of one
  friend bool operator==(const FileList&, const FileList&) = default;
};

struct CsvField {
  FieldSpec spec;
  std::int64_t first_column = 0;             // as many as the shape has elements
  std::vector<std::string> names = {};       // of its columns; then first_column says nothing
  std::vector<std::string> vocabulary = {};  // words, whose positions the field holds in place of them
  std::optional<std::int64_t> unknown = {};  // what it holds for another word; nullopt: that is an error
  friend bool operator==(const CsvField&, const CsvField&) = default;
};
struct CsvSource {
  FileList files;
  std::vector<CsvField> fields;
  bool header = false;
  char delimiter = ',';
  bool skip_errors = false;
  bool quotes = true;                   // a field that begins with a quote is quoted
  std::vector<std::string> names = {};  // of all columns, in place of the header's
  friend bool operator==(const CsvSource&, const CsvSource&) = default;
};

/// A line is a JSON object; a field is the value of the key of its name. A first dimension of -1 varies. A text is u8.
struct JsonlSource {
  FileList files;
  ElementSpec fields;
  bool skip_errors = false;
  friend bool operator==(const JsonlSource&, const JsonlSource&) = default;
};

/// A line is one u8 vector, its bytes.
struct TextSource {
  FileList files;
  std::string field = "value";
  friend bool operator==(const TextSource&, const TextSource&) = default;
};

/// A feature of a tf.Example; a first dimension of -1 varies. `fallback`: what a record has that lacks it.
struct ExampleFeature {
  FieldSpec spec;
  std::optional<tensor::Tensor> fallback = {};
  friend bool operator==(const ExampleFeature& a, const ExampleFeature& b);
};
/// Records of TFRecord files: tf.Examples, or, without features, their bytes as one u8 vector.
struct TfrecordSource {
  FileList files;
  std::vector<ExampleFeature> features;
  std::string field = "value";  // of a record's bytes
  bool skip_errors = false;
  friend bool operator==(const TfrecordSource&, const TfrecordSource&) = default;
};

/// The records that a command prints, in one of the formats of files. Every pass runs it anew.
struct CommandSource {
  std::vector<std::string> argv;
  std::variant<CsvSource, JsonlSource, TextSource, TfrecordSource> records;  // errors name it by the path
  friend bool operator==(const CommandSource&, const CommandSource&) = default;
};

/// dtype and shape are those of one row; absent: the file's header says them.
struct NpyField {
  std::string name, path;
  std::optional<tensor::DType> dtype = {};
  std::optional<tensor::Shape> shape = {};
  friend bool operator==(const NpyField&, const NpyField&) = default;
};
enum class ArrayFormat : std::uint8_t { kNpy, kIdx };
/// A file for each field.
template <ArrayFormat kFormat>
struct ArraySource {
  std::vector<NpyField> fields;
  bool is_single = false;  // written as {"field": …, "path": …}, without "fields"
  friend bool operator==(const ArraySource&, const ArraySource&) = default;
};
using NpySource = ArraySource<ArrayFormat::kNpy>;
using IdxSource = ArraySource<ArrayFormat::kIdx>;

/// An array of a file of several; dtype and shape as NpyField's.
struct ArchiveField {
  std::string name, key;
  std::optional<tensor::DType> dtype = {};
  std::optional<tensor::Shape> shape = {};
  friend bool operator==(const ArchiveField&, const ArchiveField&) = default;
};
enum class ArchiveFormat : std::uint8_t { kNpz, kSafetensors };
/// Several fields of one file.
template <ArchiveFormat kFormat>
struct ArchiveSource {
  std::string path;
  std::vector<ArchiveField> fields;  // none: all arrays, by their names
  friend bool operator==(const ArchiveSource&, const ArchiveSource&) = default;
};
using NpzSource = ArchiveSource<ArchiveFormat::kNpz>;
using SafetensorsSource = ArchiveSource<ArchiveFormat::kSafetensors>;

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
  std::optional<std::int64_t> count = {};  // absent: forever
  friend bool operator==(const Repeat&, const Repeat&) = default;
};
/// The last batch, where it is smaller: as it is, left out, or filled up.
struct Batch {
  std::int64_t size = 1;
  bool drop_remainder = false;
  /// Filled up with its last element, and a field of this name: f32[size], 1 for elements and 0 for what fills up.
  std::optional<std::string> mask = {};
  friend bool operator==(const Batch&, const Batch&) = default;
};
/// Rows of different sizes, each padded at its end. Source: tf.data.Dataset.padded_batch.
struct PaddedBatch {
  struct Field {
    std::string name;
    std::optional<tensor::Shape> shape = {};  // absent, or -1: as large as the largest of the batch
    std::optional<double> value = {};         // absent: 0
    friend bool operator==(const Field&, const Field&) = default;
  };
  std::int64_t size = 1;
  bool drop_remainder = false;
  std::vector<Field> fields = {};        // those that state something
  std::optional<std::string> mask = {};  // Batch's
  friend bool operator==(const PaddedBatch&, const PaddedBatch&) = default;
};
/// The elements of a batch, one by one.
struct Unbatch {
  friend bool operator==(const Unbatch&, const Unbatch&) = default;
};
/// Batches of these sizes, in turns, cut and joined from the rows of those before; 0 makes one without rows. Source:
/// tf.data.Dataset.rebatch.
struct Rebatch {
  std::vector<std::int64_t> sizes;  // at least one of them positive
  bool drop_remainder = false;
  friend bool operator==(const Rebatch&, const Rebatch&) = default;
};
/// Each batch cut into `pieces` batches: ceil(n / pieces) of its n rows each, as far as they go. Source:
/// _LegacyRebatchDataset of tensorflow/python/data/experimental/ops/distribute.py.
struct LegacyRebatch {
  std::int64_t pieces = 1;
  friend bool operator==(const LegacyRebatch&, const LegacyRebatch&) = default;
};
/// Elements for steps in which each of `replicas` takes one: a partial last step is dropped, or filled up with elements
/// without rows. Source: what the iterators of tf.distribute give.
struct WholeSteps {
  std::int64_t replicas = 1;
  bool drop_remainder = false;
  friend bool operator==(const WholeSteps&, const WholeSteps&) = default;
};
/// Batches that begin `shift` elements after one another and take every stride-th element. Source:
/// tf.data.Dataset.window, whose windows are datasets; here a window is packed as a batch is.
struct Window {
  std::int64_t size = 1, shift = 1, stride = 1;
  bool drop_remainder = false;
  friend bool operator==(const Window&, const Window&) = default;
};
struct Map {
  std::string function;
  std::vector<std::string> fields = {};
  std::int64_t parallel = 1;  // calls at the same time; elements stay in order
  bool skip_errors = false;
  friend bool operator==(const Map&, const Map&) = default;
};
/// The elements for which the function's only result, a bool, is true.
struct Filter {
  std::string function;
  bool skip_errors = false;
  friend bool operator==(const Filter&, const Filter&) = default;
};
/// The element's number in front of it, as a field.
struct Enumerate {
  std::int64_t start = 0;
  std::string field = "index";
  friend bool operator==(const Enumerate&, const Enumerate&) = default;
};
/// The elements of the first pass serve the others: from memory, or from the file.
struct Cache {
  std::string path = {};  // empty: in memory
  friend bool operator==(const Cache&, const Cache&) = default;
};
struct Take {
  std::int64_t count = 0;
  friend bool operator==(const Take&, const Take&) = default;
};
struct Skip {
  std::int64_t count = 0;
  friend bool operator==(const Skip&, const Skip&) = default;
};
struct Prefetch {
  std::int64_t buffer = 2;
  friend bool operator==(const Prefetch&, const Prefetch&) = default;
};

/// How a dataset is shared by workers. Source: tf.data.experimental.AutoShardPolicy.
enum class AutoShardPolicy : std::uint8_t { kAuto, kFile, kData, kOff, kHint };
/// Options of the dataset; its elements stay as they are. Source: tf.data.Dataset.with_options.
struct WithOptions {
  std::optional<AutoShardPolicy> auto_shard = {};
  /// A coordinator says which of the elements each step takes, in one order for all workers. Source: the dynamic
  /// sharding of tf.data's service, first come, first served.
  bool is_dynamic = false;
  friend bool operator==(const WithOptions&, const WithOptions&) = default;
};

struct Plan;
/// The elements of other datasets, of the same spec, behind these.
struct Concatenate {
  std::vector<Plan> others;
  friend bool operator==(const Concatenate& a, const Concatenate& b);
};
/// The fields of other datasets' elements beside these; ends with the shortest of them.
struct Zip {
  std::vector<Plan> others;
  friend bool operator==(const Zip& a, const Zip& b);
};
/// Takes block_length elements of one dataset after the other, in turns: of this one, and of others of the same spec;
/// cycle_length of them at a time. The next one takes the place of one that has ended. Source:
/// tf.data.Dataset.interleave.
struct Interleave {
  std::vector<Plan> others;
  std::optional<std::int64_t> cycle_length;  // absent: of all
  std::int64_t block_length = 1;
  friend bool operator==(const Interleave& a, const Interleave& b);
};

/// The alternatives in the order in which messages list their names, sources first. plan/stage_kinds.hpp has a row for
/// each.
using Stage = std::variant<CsvSource, JsonlSource, TextSource, TfrecordSource, NpySource, IdxSource, NpzSource,
                           SafetensorsSource, RangeSource, SlicesSource, CommandSource, Shuffle, Repeat, Batch,
                           PaddedBatch, Unbatch, Rebatch, LegacyRebatch, WholeSteps, Window, Map, Filter, Enumerate,
                           Take, Skip, Shard, Concatenate, Zip, Interleave, Cache, Prefetch, WithOptions>;
/// "csv", "tensor_slices", "batch".
std::string_view name_of(const Stage& stage);
bool is_source(const Stage& stage);

/// A source, then transformations.
struct Plan {
  std::vector<Stage> stages;
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// The pipelines within a stage: those of a zip, for one.
std::span<const Plan> inner_plans(const Stage& stage);
std::span<Plan> inner_plans(Stage& stage);
/// Gives every shuffle of the pipeline that states no seed one of its own, by its number among the shuffles.
void seed_shuffles(Plan& plan, const std::function<std::uint64_t(std::size_t number)>& seed_of);
/// Whether one of the stages, those of inner pipelines too, is such a one.
bool has_stage(const Plan& plan, const std::function<bool(const Stage&)>& is_such);
/// Whether the number of elements depends on the results of its functions: a filter, or a map that skips errors.
bool counts_by_content(const Plan& plan);

/// Whether it repeats without a count, however much (how much isn't known of a csv file), and nothing ends it later.
bool repeats_forever(const Plan& plan);

/// kInvalidArgument with the JSON path within the pipeline: "[3].batch.size: must be positive"; unknown keys with the
/// nearest known one.
Result<Plan> parse_plan(const nlohmann::ordered_json& pipeline);
/// parse_plan() of transformations without a source, which come after the stages of `beginning`.
Result<Plan> parse_plan_after(Plan beginning, const nlohmann::ordered_json& pipeline);
/// The JSON from which parse_plan() makes the same plan.
nlohmann::ordered_json to_json(const Plan& plan);

/// The plan's elements index, index + count, …. The shard comes before the maps, prefetches and options at the end of
/// the pipeline, which leave elements where they are: what other shards get isn't made. Source: tf.data.Dataset.shard.
Plan shard(Plan plan, const Shard& shard);

/// Sources of files that several pipelines read: what one has decoded serves the others. Thread rule:
/// thread-compatible.
struct SharedSources {
  std::vector<std::pair<Stage, std::shared_ptr<const Dataset>>> made;
};

/// States what the headers of array files say of dtypes and shapes, for those that can't look at them. Errors as
/// instantiate()'s.
Result<void> state_specs(Plan& plan, const DatasetContext& context);

/// Makes the dataset. kInvalidArgument with the JSON path within the pipeline. kNotFound if files are looked at and
/// are missing. The iterators' errors come with the source's file and line.
Result<std::shared_ptr<const Dataset>> instantiate(const Plan& plan, const DatasetContext& context);
/// The cardinality if it is known (kInfinite for an endless repeat); else reads the dataset once.
Result<std::int64_t> count_elements(const Dataset& dataset);

/// Why a pass has no elements: "1000 rows make no batch of 5000 with drop_remainder". Empty: for another reason.
/// `count`: elements of a pass over the beginning of the pipeline.
std::string why_empty(const Plan& plan, const std::function<Result<std::int64_t>(const Plan&)>& count);

}  // namespace tfd::data
