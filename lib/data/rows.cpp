// SPDX-License-Identifier: Apache-2.0
#include "tfd/data/rows.hpp"

#include <algorithm>

namespace tfd::data {

using tensor::Tensor;

Result<std::vector<Element>> split_rows(const Element& element, int replicas) {
  std::int64_t rows = -1;
  for (const Tensor& field : element) {
    if (field.shape().empty())
      return fail(Code::kInvalidArgument, "an element with a scalar has no rows to split over {} replicas: batch it",
                  replicas);
    if (rows >= 0 && field.shape()[0] != rows)
      return fail(Code::kInvalidArgument, "an element with fields of {} and {} rows can't be split over replicas", rows,
                  field.shape()[0]);
    rows = field.shape()[0];
  }
  const std::int64_t shares = std::min<std::int64_t>(replicas, std::max<std::int64_t>(rows, 1));
  std::vector<Element> out;
  std::int64_t first = 0;
  for (std::int64_t share = 0; share < shares; ++share) {
    const std::int64_t count = rows / shares + (share < rows % shares ? 1 : 0);
    Element part;
    for (const Tensor& field : element) part.push_back(field.slice_rows(first, count));
    out.push_back(std::move(part));
    first += count;
  }
  return out;
}

}  // namespace tfd::data
