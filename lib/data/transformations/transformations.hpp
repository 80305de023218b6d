#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Code shared by transformations, and used by others. Each transformation is a row of the table
// (../plan/stage_kinds.hpp) in a file of its own. Thread rule: free functions; datasets are immutable and thread-safe.
#include <string>

#include "../plan/stage_kinds.hpp"

namespace tfd::data {

/// kInvalidArgument unless all fields of the input have one size, of which `size` fit into memory.
Result<void> check_packed(const StageSite& site, std::int64_t size);
/// kInvalidArgument where a field of the input is a scalar, and so has no rows.
Result<void> check_batched(const StageSite& site);
/// check_batched(), and kInvalidArgument where fields of the input have different numbers of rows, as far as known.
Result<void> check_rows(const StageSite& site);
/// kInvalidArgument where the input has a field `name`, which is stated under `key`.
Result<void> check_new(const StageSite& site, const std::string& key, const std::string& name);

/// The input passed check_rows().
RowDatasetPtr make_unbatch(RowDatasetPtr input);
/// A thread makes `buffer` elements ahead, and goes on when no more than `low` of them are left.
RowDatasetPtr make_prefetch(RowDatasetPtr input, std::size_t buffer, std::size_t low);

}  // namespace tfd::data
