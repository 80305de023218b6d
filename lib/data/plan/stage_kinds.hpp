#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The table of the kinds of stages: a row for each alternative of Stage, with all that the room asks of it. A row
// stands in the file of the kind's dataset (sources/, transformations/); the list of rows is at the end of this header.
// Thread rule: rows are constants, their functions pure.
//
//   // A transformation is added by its struct (plan.hpp), its line here, its file with a row, and that in meson.build.
//   const StageKind<Take>& kind_of(Tag<Take>) {
//     static constexpr StageKind<Take> kKind{
//         .name = "take", .read = read_take, .write = write_take, .make = make_take};
//     return kKind;
//   }
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "../row.hpp"
#include "tfd/data/plan.hpp"
#include "tfd/data/stage_traits.hpp"
#include "tfd/tensor/json_object.hpp"

namespace tfd::data {

using tensor::integer_of;
using tensor::JsonObject;

/// A stage as a document states it.
struct StatedStage {
  const nlohmann::ordered_json& value;  // {"size": 64}
  std::string path;                     // "[3].batch"
  int depth = 0;                        // how many pipelines it is within
};
/// Expands a bare value to the object with the stage's most important key: {"batch": 64} means
/// {"batch": {"size": 64}}. Other values are themselves.
nlohmann::ordered_json with_key(const nlohmann::ordered_json& value, const char* key);
/// "on_error": "fail", which is the default, or "skip": whether errors are passed over.
bool skips_errors(JsonObject& options);

/// Where and of what a stage's dataset is made.
struct StageSite {
  const DatasetContext& context;
  const std::string path;     // "[3].batch"
  const Plan before;          // the stages that the input was made of
  const RowDatasetPtr input;  // null for a source

  /// The file of a stated path, which may be relative to the context's directory.
  std::string file_path(const std::string& stated) const;
};

template <class Value>
struct StageKind {
  std::string_view name;  // "window"
  bool is_source = false;
  /// kInvalidArgument with the stage's path: "[3].batch.size: must be positive".
  Result<Value> (*read)(const StatedStage& stated);
  /// The JSON from which read() makes the same value.
  nlohmann::ordered_json (*write)(const Value& value);
  /// Checks what only shows where the input is known, and makes the dataset. Errors as instantiate()'s.
  Result<RowDatasetPtr> (*make)(const Value& value, const StageSite& site);
  /// Null: those of a StageTraits as it is.
  StageTraits (*traits)(const Value& value) = nullptr;
  /// How many elements TensorFlow expects behind the stage, if it expects `input` before it; null: it doesn't know.
  /// Source: DatasetBase::Cardinality() of tensorflow/core/kernels/data.
  std::int64_t (*tensorflow_cardinality)(const Value& value, std::int64_t input) = nullptr;
  /// States in the value what the dataset made of it has found in the files' headers; null: no headers say anything.
  void (*state_spec)(Value& value, const ElementSpec& spec) = nullptr;
};

/// TensorFlow's cardinalities that are no numbers. It computes with other negative ones.
inline constexpr std::int64_t kInfiniteCardinality = -1, kUnknownCardinality = -2;
constexpr bool is_number(std::int64_t cardinality) {
  return cardinality != kInfiniteCardinality && cardinality != kUnknownCardinality;
}
/// The cardinality behind a stage that takes `by` elements for one, and makes one more of a rest.
constexpr std::int64_t divide_cardinality(std::int64_t input, std::int64_t by, bool one_more) {
  return is_number(input) ? input / by + (one_more ? 1 : 0) : input;
}
/// StageKind::tensorflow_cardinality of a stage that leaves it as it is.
template <class Value>
std::int64_t same_cardinality(const Value&, std::int64_t input) {
  return input;
}

/// Parses a pipeline within a stage. kInvalidArgument also where it is too deep.
Result<Plan> parse_inner_plan(const nlohmann::ordered_json& pipeline, const std::string& path, int depth);
/// Makes the dataset of a pipeline that is at this path; an empty path is the outermost one's. Errors as
/// instantiate()'s.
Result<RowDatasetPtr> make_rows(const Plan& plan, const DatasetContext& context, const std::string& path);

/// Says which kind's row is meant.
template <class Value>
struct Tag {};

const StageKind<CsvSource>& kind_of(Tag<CsvSource>);
const StageKind<JsonlSource>& kind_of(Tag<JsonlSource>);
const StageKind<TextSource>& kind_of(Tag<TextSource>);
const StageKind<TfrecordSource>& kind_of(Tag<TfrecordSource>);
const StageKind<NpySource>& kind_of(Tag<NpySource>);
const StageKind<IdxSource>& kind_of(Tag<IdxSource>);
const StageKind<NpzSource>& kind_of(Tag<NpzSource>);
const StageKind<SafetensorsSource>& kind_of(Tag<SafetensorsSource>);
const StageKind<RangeSource>& kind_of(Tag<RangeSource>);
const StageKind<SlicesSource>& kind_of(Tag<SlicesSource>);
const StageKind<CommandSource>& kind_of(Tag<CommandSource>);

const StageKind<Shuffle>& kind_of(Tag<Shuffle>);
const StageKind<Repeat>& kind_of(Tag<Repeat>);
const StageKind<Batch>& kind_of(Tag<Batch>);
const StageKind<PaddedBatch>& kind_of(Tag<PaddedBatch>);
const StageKind<Unbatch>& kind_of(Tag<Unbatch>);
const StageKind<Rebatch>& kind_of(Tag<Rebatch>);
const StageKind<LegacyRebatch>& kind_of(Tag<LegacyRebatch>);
const StageKind<WholeSteps>& kind_of(Tag<WholeSteps>);
const StageKind<Window>& kind_of(Tag<Window>);
const StageKind<Map>& kind_of(Tag<Map>);
const StageKind<Filter>& kind_of(Tag<Filter>);
const StageKind<Enumerate>& kind_of(Tag<Enumerate>);
const StageKind<Take>& kind_of(Tag<Take>);
const StageKind<Skip>& kind_of(Tag<Skip>);
const StageKind<Shard>& kind_of(Tag<Shard>);
const StageKind<Concatenate>& kind_of(Tag<Concatenate>);
const StageKind<Zip>& kind_of(Tag<Zip>);
const StageKind<Interleave>& kind_of(Tag<Interleave>);
const StageKind<Cache>& kind_of(Tag<Cache>);
const StageKind<Prefetch>& kind_of(Tag<Prefetch>);
const StageKind<WithOptions>& kind_of(Tag<WithOptions>);

}  // namespace tfd::data
