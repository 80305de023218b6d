#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Batches cut into those of replicas. Thread rule: pure functions.
#include <vector>

#include "tfd/data/dataset.hpp"

namespace tfd::data {

/// The element's rows for each of `replicas`: as equal as can be, those with more rows first, nothing lost; fewer
/// shares where there are fewer rows than replicas. kInvalidArgument: fields without rows, or of different ones.
/// Source: the sizes of tf.data's RebatchV2, as experimental_distribute_dataset makes them.
Result<std::vector<Element>> split_rows(const Element& element, int replicas);

}  // namespace tfd::data
