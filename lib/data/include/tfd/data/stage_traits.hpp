#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Effects of a stage on its elements and batches: rewritings of a plan need to know only these,
// without knowing which stage it is. Each kind's row says it (stage_kinds.hpp). Thread rule: plain values, pure
// functions.
#include <cstdint>
#include <optional>

#include "tfd/data/plan.hpp"

namespace tfd::data {

/// Effects on the elements, from the smallest change to the largest.
enum class ElementTrait : std::uint8_t {
  kUntouched,  // each of them, as it is and in its place
  kMapped,     // one for each of them, in its place
  kKept,       // all of them, however often and in whatever order
  kSelected,   // some of them, or others made of several; the number depends on the number of inputs only
  kByContent,  // the number depends on the results of functions
};
/// Effects on batches.
enum class BatchTrait : std::uint8_t {
  kKept,       // the rows and fields of each stay
  kKeptOfAll,  // those of several datasets, and each has the rows that it had
  kChanged,    // a batch remains one, with other fields
  kMixed,      // a first dimension is no longer that of a batch before, or not of it alone
};

struct StageTraits {
  ElementTrait elements = ElementTrait::kSelected;
  BatchTrait batches = BatchTrait::kMixed;
  /// The rows of its batches, for a stage that makes batches of elements.
  std::optional<std::int64_t> batch_size = {};
  /// Its elements depend on those of all files, so that a worker can't read some of the files. Source: the unshardable
  /// operations of tensorflow/core/grappler/optimizers/data/auto_shard.cc.
  bool needs_all_files = false;
};

/// The traits of a transformation; of a source, which gets no elements, they say nothing.
StageTraits traits_of(const Stage& stage);

}  // namespace tfd::data
