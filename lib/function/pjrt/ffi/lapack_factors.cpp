// SPDX-License-Identifier: Apache-2.0
//
// Linear systems and factorizations.
#include "lapack_work.hpp"

namespace tfd::function::lapack {

using ffi::Call;
using ffi::Matrices;

template <class T>
Result<void> trsm(const Call& call, const Routine& routine) {
  const bool has_factor = call.has_argument(2);  // position in jaxlib before 0.5; now it is 1
  TFD_TRY(call.check_counts(has_factor ? 3 : 2, 1));
  const Matrices m = TFD_TRY(call.matrices(1));
  const char side = TFD_TRY(call.letter("side", "LR")), uplo = TFD_TRY(call.letter("uplo", "LU"));
  const char transposed = TFD_TRY(call.letter("trans_x", "NTC")), diagonal = TFD_TRY(call.letter("diag", "NU"));
  const int order = side == 'L' ? m.rows : m.columns;
  const auto a = TFD_TRY(call.argument<T>(0, m, {order, order}));
  const auto b = TFD_TRY(call.updated<T>(1, 0, m, {m.rows, m.columns}));
  const T factor = has_factor ? *TFD_TRY(call.argument<T>(2, Matrices{}, {})).data : T(1);
  for (std::int64_t i = 0; i < m.count; ++i)
    routine(side, uplo, transposed, diagonal, m.rows, m.columns, factor, a[i], leading(order), b[i], leading(m.rows));
  return {};
}

template <class T>
Result<void> getrf(const Call& call, const Routine& routine) {
  TFD_TRY(call.check_counts(1, 3));
  const Matrices m = TFD_TRY(call.matrices(0));
  const auto a = TFD_TRY(call.updated<T>(0, 0, m, {m.rows, m.columns}));
  const auto pivots = TFD_TRY(call.result<int>(1, m, {m.smaller()}));
  const auto info = TFD_TRY(call.result<int>(2, m, {}));
  for (std::int64_t i = 0; i < m.count; ++i) routine(m.rows, m.columns, a[i], leading(m.rows), pivots[i], info[i]);
  return {};
}

template <class T>
Result<void> potrf(const Call& call, const Routine& routine) {
  TFD_TRY(call.check_counts(1, 2));
  const Matrices m = TFD_TRY(call.square_matrices(0));
  const char uplo = TFD_TRY(call.letter("uplo", "LU"));
  const auto a = TFD_TRY(call.updated<T>(0, 0, m, {m.rows, m.rows}));
  const auto info = TFD_TRY(call.result<int>(1, m, {}));
  for (std::int64_t i = 0; i < m.count; ++i) routine(uplo, m.rows, a[i], leading(m.rows), info[i]);
  return {};
}

/// Tridiagonal solve. The lower diagonal has an unused element before its first.
template <class T>
Result<void> gtsv(const Call& call, const Routine& routine) {
  TFD_TRY(call.check_counts(4, 5));
  const Matrices m = TFD_TRY(call.matrices(3));
  const auto lower = TFD_TRY(call.updated<T>(0, 0, m, {m.rows}));
  const auto diagonal = TFD_TRY(call.updated<T>(1, 1, m, {m.rows}));
  const auto upper = TFD_TRY(call.updated<T>(2, 2, m, {m.rows}));
  const auto b = TFD_TRY(call.updated<T>(3, 3, m, {m.rows, m.columns}));
  const auto info = TFD_TRY(call.result<int>(4, m, {}));
  for (std::int64_t i = 0; i < m.count; ++i)
    routine(m.rows, m.columns, lower[i] + 1, diagonal[i], upper[i], b[i], leading(m.rows), info[i]);
  return {};
}

template <class T>
Result<void> geqrf(const Call& call, const Routine& routine) {
  TFD_TRY(call.check_counts(1, 2));
  const Matrices m = TFD_TRY(call.matrices(0));
  const auto a = TFD_TRY(call.updated<T>(0, 0, m, {m.rows, m.columns}));
  const auto factors = TFD_TRY(call.result<T>(1, m, {m.smaller()}));
  return run_each<T>(m, [&](std::int64_t i, T* work, int size) {
    int info = 0;
    routine(m.rows, m.columns, a[i], leading(m.rows), factors[i], work, size, &info);
  });
}

template <class T>
Result<void> geqp3(const Call& call, const Routine& routine) {
  TFD_TRY(call.check_counts(2, 3));
  const Matrices m = TFD_TRY(call.matrices(0));
  const auto a = TFD_TRY(call.updated<T>(0, 0, m, {m.rows, m.columns}));
  const auto pivots = TFD_TRY(call.updated<int>(1, 1, m, {m.columns}));
  const auto factors = TFD_TRY(call.result<T>(2, m, {m.smaller()}));
  const auto reals = TFD_TRY(allocate<Real<T>>(2 * std::int64_t{m.columns}));
  return run_each<T>(m, [&](std::int64_t i, T* work, int size) {
    int info = 0;
    if constexpr (kIsComplex<T>)
      routine(m.rows, m.columns, a[i], leading(m.rows), pivots[i], factors[i], work, size, reals.get(), &info);
    else
      routine(m.rows, m.columns, a[i], leading(m.rows), pivots[i], factors[i], work, size, &info);
  });
}

template <class T>
Result<void> orgqr(const Call& call, const Routine& routine) {
  TFD_TRY(call.check_counts(2, 1));
  const Matrices m = TFD_TRY(call.matrices(0));
  const int reflectors = TFD_TRY(call.length(1));
  if (m.columns > m.rows || reflectors > m.columns)
    return fail(Code::kInvalidArgument, "{} columns of {} rows, of {} reflectors", m.columns, m.rows, reflectors);
  const auto factors = TFD_TRY(call.argument<T>(1, m, {reflectors}));
  const auto a = TFD_TRY(call.updated<T>(0, 0, m, {m.rows, m.columns}));
  return run_each<T>(m, [&](std::int64_t i, T* work, int size) {
    int info = 0;
    routine(m.rows, m.columns, reflectors, a[i], leading(m.rows), factors[i], work, size, &info);
  });
}

template <class T>
Result<void> ormqr(const Call& call, const Routine& routine) {
  TFD_TRY(call.check_counts(3, 1));
  const Matrices m = TFD_TRY(call.matrices(2));
  const bool is_left = TFD_TRY(call.flag("left"));
  const char transposed = TFD_TRY(call.flag("transpose")) ? (kIsComplex<T> ? 'C' : 'T') : 'N';
  const int order = is_left ? m.rows : m.columns, reflectors = TFD_TRY(call.length(1)),
            columns = TFD_TRY(call.length(0));
  if (reflectors > std::min(order, columns))
    return fail(Code::kInvalidArgument, "{} reflectors, of {} columns of {} rows", reflectors, columns, order);
  const auto a = TFD_TRY(call.argument<T>(0, m, {order, columns}));
  const auto factors = TFD_TRY(call.argument<T>(1, m, {reflectors}));
  const auto c = TFD_TRY(call.updated<T>(2, 0, m, {m.rows, m.columns}));
  return run_each<T>(m, [&](std::int64_t i, T* work, int size) {
    int info = 0;
    routine(is_left ? 'L' : 'R', transposed, m.rows, m.columns, reflectors, a[i], leading(order), factors[i], c[i],
            leading(m.rows), work, size, &info);
  });
}

#define TFD_FOR_TYPES(function)                                                     \
  template Result<void> function<float>(const Call&, const Routine&);               \
  template Result<void> function<double>(const Call&, const Routine&);              \
  template Result<void> function<std::complex<float>>(const Call&, const Routine&); \
  template Result<void> function<std::complex<double>>(const Call&, const Routine&)
TFD_FOR_TYPES(trsm);
TFD_FOR_TYPES(getrf);
TFD_FOR_TYPES(potrf);
TFD_FOR_TYPES(gtsv);
TFD_FOR_TYPES(geqrf);
TFD_FOR_TYPES(geqp3);
TFD_FOR_TYPES(orgqr);
TFD_FOR_TYPES(ormqr);
#undef TFD_FOR_TYPES

}  // namespace tfd::function::lapack
