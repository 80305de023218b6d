#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One reader and one writer for each kind of stage; plan_json.cpp has the table of them. Thread rule: pure functions.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tfd/data/plan.hpp"

namespace tfd::data {

struct StatedStage {
  const nlohmann::ordered_json& value;  // {"size": 64}
  std::string path;                     // "[3].batch"
  int depth = 0;                        // of pipelines that it is within
};
using ReadStage = Result<Stage>;

ReadStage read_csv(const StatedStage& stage);
ReadStage read_jsonl(const StatedStage& stage);
ReadStage read_text(const StatedStage& stage);
ReadStage read_tfrecord(const StatedStage& stage);
ReadStage read_npy(const StatedStage& stage);
ReadStage read_idx(const StatedStage& stage);
ReadStage read_npz(const StatedStage& stage);
ReadStage read_safetensors(const StatedStage& stage);
ReadStage read_range(const StatedStage& stage);
ReadStage read_tensor_slices(const StatedStage& stage);
ReadStage read_command(const StatedStage& stage);
ReadStage read_shuffle(const StatedStage& stage);
ReadStage read_repeat(const StatedStage& stage);
ReadStage read_batch(const StatedStage& stage);
ReadStage read_padded_batch(const StatedStage& stage);
ReadStage read_unbatch(const StatedStage& stage);
ReadStage read_rebatch(const StatedStage& stage);
ReadStage read_legacy_rebatch(const StatedStage& stage);
ReadStage read_whole_steps(const StatedStage& stage);
ReadStage read_window(const StatedStage& stage);
ReadStage read_map(const StatedStage& stage);
ReadStage read_filter(const StatedStage& stage);
ReadStage read_enumerate(const StatedStage& stage);
ReadStage read_take(const StatedStage& stage);
ReadStage read_skip(const StatedStage& stage);
ReadStage read_shard(const StatedStage& stage);
ReadStage read_concatenate(const StatedStage& stage);
ReadStage read_zip(const StatedStage& stage);
ReadStage read_interleave(const StatedStage& stage);
ReadStage read_cache(const StatedStage& stage);
ReadStage read_prefetch(const StatedStage& stage);
ReadStage read_options(const StatedStage& stage);

nlohmann::ordered_json write(const CsvSource& stage);
nlohmann::ordered_json write(const JsonlSource& stage);
nlohmann::ordered_json write(const TextSource& stage);
nlohmann::ordered_json write(const TfrecordSource& stage);
nlohmann::ordered_json write(const NpySource& stage);
nlohmann::ordered_json write(const IdxSource& stage);
nlohmann::ordered_json write(const NpzSource& stage);
nlohmann::ordered_json write(const SafetensorsSource& stage);
nlohmann::ordered_json write(const RangeSource& stage);
nlohmann::ordered_json write(const SlicesSource& stage);
nlohmann::ordered_json write(const CommandSource& stage);
nlohmann::ordered_json write(const Shuffle& stage);
nlohmann::ordered_json write(const Repeat& stage);
nlohmann::ordered_json write(const Batch& stage);
nlohmann::ordered_json write(const PaddedBatch& stage);
nlohmann::ordered_json write(const Unbatch& stage);
nlohmann::ordered_json write(const Rebatch& stage);
nlohmann::ordered_json write(const LegacyRebatch& stage);
nlohmann::ordered_json write(const WholeSteps& stage);
nlohmann::ordered_json write(const Window& stage);
nlohmann::ordered_json write(const Map& stage);
nlohmann::ordered_json write(const Filter& stage);
nlohmann::ordered_json write(const Enumerate& stage);
nlohmann::ordered_json write(const Take& stage);
nlohmann::ordered_json write(const Skip& stage);
nlohmann::ordered_json write(const Shard& stage);
nlohmann::ordered_json write(const Concatenate& stage);
nlohmann::ordered_json write(const Zip& stage);
nlohmann::ordered_json write(const Interleave& stage);
nlohmann::ordered_json write(const Cache& stage);
nlohmann::ordered_json write(const Prefetch& stage);
nlohmann::ordered_json write(const WithOptions& stage);

/// The plan of a pipeline that is part of a stage. kInvalidArgument for one that is too deep.
Result<Plan> parse_inner_plan(const nlohmann::ordered_json& pipeline, const std::string& path, int depth);

}  // namespace tfd::data
