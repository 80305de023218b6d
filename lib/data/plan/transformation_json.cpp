// SPDX-License-Identifier: Apache-2.0
//
// Transformations from JSON and as JSON.
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "options.hpp"
#include "stage_json.hpp"
#include "tfd/base/text.hpp"
#include "tfd/data/distribute.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

// A number alone stands for the stage's most important key: {"batch": 64} is {"batch": {"size": 64}}.
ordered_json with_key(const ordered_json& value, const char* key) {
  return value.is_number() ? ordered_json{{key, value}} : value;
}

template <class Counted>
ReadStage read_counted(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "count");
  Options options(value, stage.path);
  const Counted counted{options.required_integer("count", 0)};
  TFD_TRY(options.finish());
  return counted;
}

// One pipeline, or a list of pipelines.
Result<std::vector<Plan>> read_pipelines(const ordered_json& value, const std::string& path, int depth) {
  std::vector<Plan> plans;
  if (!value.is_array() || value.empty() || !value.front().is_array()) {
    plans.push_back(TFD_TRY(parse_inner_plan(value, path, depth + 1)));
    return plans;
  }
  for (std::size_t i = 0; i < value.size(); ++i)
    plans.push_back(TFD_TRY(parse_inner_plan(value[i], fmt::format("{}[{}]", path, i), depth + 1)));
  return plans;
}

ordered_json write_pipelines(const std::vector<Plan>& plans) {
  if (plans.size() == 1) return to_json(plans.front());
  ordered_json list = ordered_json::array();
  for (const Plan& plan : plans) list.push_back(to_json(plan));
  return list;
}

// What batch and padded_batch have in common.
template <class Stated>
void read_batching(Options& options, Stated& batch) {
  batch.size = options.required_integer("size", 1);
  batch.drop_remainder = options.flag("drop_remainder", false);
  const std::string mask = options.text("mask").value_or("mask");
  if (options.flag("pad_remainder", false)) batch.mask = mask;
  if (batch.mask && batch.drop_remainder) options.note("pad_remainder", "a remainder that is dropped isn't padded");
  if (!batch.mask && options.find("mask") != nullptr) options.note("mask", "needs \"pad_remainder\": true");
}

template <class Stated>
ordered_json write_batching(const Stated& batch) {
  ordered_json out = {{"size", batch.size}};
  if (batch.drop_remainder) out["drop_remainder"] = true;
  if (batch.mask) out["pad_remainder"] = true;
  if (batch.mask && *batch.mask != "mask") out["mask"] = *batch.mask;
  return out;
}

// null and -1 are as large as the largest.
std::optional<tensor::Shape> read_padded_shape(const ordered_json& value) {
  if (!value.is_array()) return std::nullopt;
  tensor::Shape shape;
  for (const ordered_json& size : value) {
    const auto number = size.is_null() ? std::optional<std::int64_t>(-1) : integer_of(size);
    if (!number || *number < -1) return std::nullopt;
    shape.push_back(*number);
  }
  return shape;
}

// What padded_shapes and padding_values say of each field.
void read_padding(Options& options, PaddedBatch& batch) {
  const auto field_of = [&](const std::string& name) -> PaddedBatch::Field& {
    const auto found = std::ranges::find(batch.fields, name, &PaddedBatch::Field::name);
    return found != batch.fields.end() ? *found : batch.fields.emplace_back(PaddedBatch::Field{name});
  };
  if (const auto* shapes = options.find("padded_shapes")) {
    if (!shapes->is_object()) options.note("padded_shapes", "must be an object of fields");
    for (const auto& [name, value] : shapes->items()) {
      if (!shapes->is_object()) break;
      field_of(name).shape = read_padded_shape(value);
      if (!field_of(name).shape) options.note("padded_shapes", printable(name) + ": must be a list of sizes");
    }
  }
  if (const auto* values = options.find("padding_values")) {
    if (!values->is_object()) options.note("padding_values", "must be an object of fields");
    for (const auto& [name, value] : values->items()) {
      if (!values->is_object()) break;
      if (value.is_number()) field_of(name).value = value.get<double>();
      if (value.is_boolean()) field_of(name).value = value.get<bool>() ? 1 : 0;
      if (!field_of(name).value) options.note("padding_values", printable(name) + ": must be a number");
    }
  }
}

}  // namespace

ReadStage read_shuffle(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "buffer");
  Options options(value, stage.path);
  Shuffle shuffle;
  shuffle.buffer = options.required_integer("buffer", 1);
  shuffle.seed = options.seed("seed");
  shuffle.reshuffle_each_iteration = options.flag("reshuffle_each_iteration", true);
  TFD_TRY(options.finish());
  return shuffle;
}

ordered_json write(const Shuffle& shuffle) {
  ordered_json out = {{"buffer", shuffle.buffer}};
  if (shuffle.seed) out["seed"] = *shuffle.seed;
  if (!shuffle.reshuffle_each_iteration) out["reshuffle_each_iteration"] = false;
  return out;
}

ReadStage read_repeat(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "count");
  Options options(value, stage.path);
  auto count = options.integer("count", -1);  // -1 is endless, as in tf.data
  TFD_TRY(options.finish());
  return Repeat{count == -1 ? std::nullopt : count};
}

ordered_json write(const Repeat& repeat) {
  return repeat.count ? ordered_json{{"count", *repeat.count}} : ordered_json::object();
}

ReadStage read_batch(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "size");
  Options options(value, stage.path);
  Batch batch;
  read_batching(options, batch);
  TFD_TRY(options.finish());
  return batch;
}

ordered_json write(const Batch& batch) { return write_batching(batch); }

constexpr std::int64_t kMostParallel = 256;  // calls of a map at the same time

ReadStage read_map(const StatedStage& stage) {
  Options options(stage.value, stage.path);
  Map map;
  map.function = options.required_text("function");
  if (const auto* stated = options.find("fields")) {
    for (const ordered_json& field : *stated)
      if (stated->is_array() && field.is_string()) map.fields.push_back(field.get<std::string>());
    if (!stated->is_array() || map.fields.size() != stated->size()) options.note("fields", "must be a list of names");
    for (auto name = map.fields.begin(); name != map.fields.end(); ++name)
      if (std::find(map.fields.begin(), name, *name) != name)
        options.note("fields", fmt::format("two are called '{}'", printable(*name)));
  }
  map.parallel = options.integer("parallel", 1).value_or(1);
  if (map.parallel > kMostParallel) options.note("parallel", fmt::format("must be at most {}", kMostParallel));
  map.skip_errors = options.skips_errors();
  TFD_TRY(options.finish());
  return map;
}

ordered_json write(const Map& map) {
  ordered_json out = {{"function", map.function}, {"fields", map.fields}};
  if (map.parallel > 1) out["parallel"] = map.parallel;
  if (map.skip_errors) out["on_error"] = "skip";
  return out;
}

ReadStage read_filter(const StatedStage& stage) {
  Options options(stage.value, stage.path);
  Filter filter;
  filter.function = options.required_text("function");
  filter.skip_errors = options.skips_errors();
  TFD_TRY(options.finish());
  return filter;
}

ordered_json write(const Filter& filter) {
  ordered_json out = {{"function", filter.function}};
  if (filter.skip_errors) out["on_error"] = "skip";
  return out;
}

ReadStage read_enumerate(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "start");
  Options options(value, stage.path);
  Enumerate enumerate;
  enumerate.start = options.integer("start", std::numeric_limits<std::int64_t>::min()).value_or(0);
  enumerate.field = options.text("field").value_or(enumerate.field);
  TFD_TRY(options.finish());
  return enumerate;
}

ordered_json write(const Enumerate& enumerate) { return {{"start", enumerate.start}, {"field", enumerate.field}}; }

ReadStage read_padded_batch(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "size");
  Options options(value, stage.path);
  PaddedBatch batch;
  read_batching(options, batch);
  read_padding(options, batch);
  TFD_TRY(options.finish());
  return batch;
}

ordered_json write(const PaddedBatch& batch) {
  ordered_json out = write_batching(batch);
  for (const PaddedBatch::Field& field : batch.fields) {
    if (field.shape) out["padded_shapes"][field.name] = *field.shape;
    if (field.value) out["padding_values"][field.name] = *field.value;
  }
  return out;
}

ReadStage read_unbatch(const StatedStage& stage) {
  TFD_TRY(Options(stage.value, stage.path).finish());
  return Unbatch{};
}

ordered_json write(const Unbatch&) { return ordered_json::object(); }

ReadStage read_rebatch(const StatedStage& stage) {
  const bool is_short = stage.value.is_number() || stage.value.is_array();
  const ordered_json value = is_short ? ordered_json{{"sizes", stage.value}} : stage.value;
  Options options(value, stage.path);
  Rebatch rebatch;
  if (const ordered_json* stated = options.required("sizes")) {
    const ordered_json sizes = stated->is_array() ? *stated : ordered_json::array({*stated});
    for (const ordered_json& size : sizes)
      if (const auto number = integer_of(size); number && *number >= 0) rebatch.sizes.push_back(*number);
    if (rebatch.sizes.size() != sizes.size() || std::ranges::all_of(rebatch.sizes, [](auto size) { return size == 0; }))
      options.note("sizes", "must be a list of sizes, at least one of which is positive");
  }
  rebatch.drop_remainder = options.flag("drop_remainder", false);
  TFD_TRY(options.finish());
  return rebatch;
}

ordered_json write(const Rebatch& rebatch) {
  ordered_json out = {{"sizes", rebatch.sizes}};
  if (rebatch.drop_remainder) out["drop_remainder"] = true;
  return out;
}

ReadStage read_legacy_rebatch(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "pieces");
  Options options(value, stage.path);
  const LegacyRebatch rebatch{options.required_integer("pieces", 1)};
  TFD_TRY(options.finish());
  return rebatch;
}

ordered_json write(const LegacyRebatch& rebatch) { return {{"pieces", rebatch.pieces}}; }

ReadStage read_whole_steps(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "replicas");
  Options options(value, stage.path);
  constexpr std::int64_t kMostReplicas = 65536;
  WholeSteps steps{options.required_integer("replicas", 1)};
  if (steps.replicas > kMostReplicas) options.note("replicas", fmt::format("must be at most {}", kMostReplicas));
  steps.drop_remainder = options.flag("drop_remainder", false);
  TFD_TRY(options.finish());
  return steps;
}

ordered_json write(const WholeSteps& steps) {
  ordered_json out = {{"replicas", steps.replicas}};
  if (steps.drop_remainder) out["drop_remainder"] = true;
  return out;
}

ReadStage read_window(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "size");
  Options options(value, stage.path);
  Window window;
  window.size = options.required_integer("size", 1);
  window.shift = options.integer("shift", 1).value_or(window.size);
  window.stride = options.integer("stride", 1).value_or(1);
  window.drop_remainder = options.flag("drop_remainder", false);
  if (window.stride > 0 && window.size - 1 > (std::int64_t{1} << 48) / window.stride)
    options.note("size", "reaches over too many elements");
  TFD_TRY(options.finish());
  return window;
}

ordered_json write(const Window& window) {
  ordered_json out = {{"size", window.size}, {"shift", window.shift}};
  if (window.stride != 1) out["stride"] = window.stride;
  if (window.drop_remainder) out["drop_remainder"] = true;
  return out;
}

ReadStage read_concatenate(const StatedStage& stage) {
  return Concatenate{TFD_TRY(read_pipelines(stage.value, stage.path, stage.depth))};
}

ordered_json write(const Concatenate& concatenate) { return write_pipelines(concatenate.others); }

ReadStage read_zip(const StatedStage& stage) {
  return Zip{TFD_TRY(read_pipelines(stage.value, stage.path, stage.depth))};
}

ordered_json write(const Zip& zip) { return write_pipelines(zip.others); }

ReadStage read_interleave(const StatedStage& stage) {
  const ordered_json value = stage.value.is_array() ? ordered_json{{"datasets", stage.value}} : stage.value;
  Options options(value, stage.path);
  const ordered_json* datasets = options.required("datasets");
  const auto cycle_length = options.integer("cycle_length", 1);
  const auto block_length = options.integer("block_length", 1);
  TFD_TRY(options.finish());
  return Interleave{TFD_TRY(read_pipelines(*datasets, stage.path + ".datasets", stage.depth)), cycle_length,
                    block_length.value_or(1)};
}

ordered_json write(const Interleave& interleave) {
  ordered_json out = {{"datasets", write_pipelines(interleave.others)}};
  if (interleave.cycle_length) out["cycle_length"] = *interleave.cycle_length;
  if (interleave.block_length != 1) out["block_length"] = interleave.block_length;
  return out;
}

ReadStage read_cache(const StatedStage& stage) {
  Options options(stage.value, stage.path);
  Cache cache{options.text("path").value_or("")};
  TFD_TRY(options.finish());
  return cache;
}

ordered_json write(const Cache& cache) {
  return cache.path.empty() ? ordered_json::object() : ordered_json{{"path", cache.path}};
}

ReadStage read_take(const StatedStage& stage) { return read_counted<Take>(stage); }
ReadStage read_skip(const StatedStage& stage) { return read_counted<Skip>(stage); }
ordered_json write(const Take& take) { return {{"count", take.count}}; }
ordered_json write(const Skip& skip) { return {{"count", skip.count}}; }

ReadStage read_shard(const StatedStage& stage) {
  Shard shard;
  if (stage.value == "hint") {
    shard.by_hint = true;
    return shard;
  }
  Options options(stage.value, stage.path);
  shard.count = options.required_integer("count", 1);
  shard.index = options.required_integer("index", 0);
  if (shard.index >= shard.count)
    options.note("index",
                 fmt::format("must be between 0 and {}, for there are {} shards", shard.count - 1, shard.count));
  shard.require_non_empty = options.flag("require_non_empty", false);
  TFD_TRY(options.finish());
  return shard;
}

ordered_json write(const Shard& shard) {
  if (shard.by_hint) return "hint";
  ordered_json out = {{"count", shard.count}, {"index", shard.index}};
  if (shard.require_non_empty) out["require_non_empty"] = true;
  return out;
}

ReadStage read_prefetch(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "buffer");
  Options options(value, stage.path);
  const Prefetch prefetch{options.integer("buffer", 1).value_or(2)};
  TFD_TRY(options.finish());
  return prefetch;
}

ordered_json write(const Prefetch& prefetch) { return {{"buffer", prefetch.buffer}}; }

ReadStage read_options(const StatedStage& stage) {
  if (stage.depth > 0)
    return fail(Code::kInvalidArgument, "{}: belongs to the whole pipeline, not to one within another", stage.path);
  Options options(stage.value, stage.path);
  WithOptions with;
  if (const auto name = options.text("auto_shard")) {
    with.auto_shard = kAutoShardPolicies.find(*name);
    if (!with.auto_shard)
      options.note("auto_shard", fmt::format("must be {}", fmt::join(kAutoShardPolicies.names(), ", ")));
  }
  if (const auto how = options.text("distribute")) {
    with.is_dynamic = *how == "dynamic";
    if (!with.is_dynamic) options.note("distribute", "must be \"dynamic\"");
  }
  TFD_TRY(options.finish());
  return with;
}

ordered_json write(const WithOptions& with) {
  ordered_json out = ordered_json::object();
  if (with.auto_shard) out["auto_shard"] = kAutoShardPolicies.name(*with.auto_shard);
  if (with.is_dynamic) out["distribute"] = "dynamic";
  return out;
}

}  // namespace tfd::data
