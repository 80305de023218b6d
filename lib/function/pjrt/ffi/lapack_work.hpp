#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Memory that LAPACK works in. Thread rule: each call has its own.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "lapack.hpp"

namespace tfd::function::lapack {

/// LDA of a matrix of that many rows: never 0.
inline int leading(int rows) { return std::max(1, rows); }

/// Allocates uninitialized elements, at least one.
template <class T>
Result<std::unique_ptr<T[]>> allocate(std::int64_t size) {
  if (size > std::numeric_limits<int>::max())
    return fail(Code::kResourceExhausted, "it needs to work in an array of {} elements: too many for LAPACK", size);
  return std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(std::max<std::int64_t>(size, 1)));
}

/// Calls `run(index, work, size)` for each matrix, after a workspace query (a size of -1). The answer is a T, whose 24
/// bits may have rounded it down.
template <class T, class Run>
Result<void> run_each(const ffi::Matrices& matrices, const Run& run) {
  if (matrices.count == 0) return {};
  T answer{};
  run(0, &answer, -1);
  const double wanted = static_cast<double>(std::real(answer));
  const auto size = static_cast<std::int64_t>(std::ceil(wanted * (sizeof(Real<T>) == 4 ? 1 + 1e-7 : 1)));
  const auto work = TFD_TRY(allocate<T>(size));
  for (std::int64_t i = 0; i < matrices.count; ++i)
    run(i, work.get(), static_cast<int>(std::max<std::int64_t>(size, 1)));
  return {};
}

}  // namespace tfd::function::lapack
