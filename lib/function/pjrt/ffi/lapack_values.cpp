// SPDX-License-Identifier: Apache-2.0
//
// Eigenvalues, singular values, and the forms from which they are computed.
#include "lapack_work.hpp"

namespace tfd::function::lapack {

using ffi::Call;
using ffi::Each;
using ffi::Matrices;

/// gesdd and gesvd: `run` adds each one's further arguments and makes the call.
template <class T>
struct Svd {
  Matrices m;
  char mode;
  Each<T> a;
  Each<Real<T>> values;
  Each<T> u, vt;
  Each<int> info;
  int leading_vt;
};

namespace {

template <class T>
Result<Svd<T>> read_svd(const Call& call) {
  TFD_TRY(call.check_counts(1, 5));
  Svd<T> out{};
  out.m = TFD_TRY(call.matrices(0));
  const Matrices& m = out.m;
  out.mode = TFD_TRY(call.letter("mode", "ASN"));
  // JAX passes arrays for the vectors, of either size, even if they aren't computed.
  const bool is_full = out.mode == 'A' || (out.mode == 'N' && call.result<T>(2, m, {m.rows, m.rows}));
  const int u_columns = is_full ? m.rows : m.smaller(), vt_rows = is_full ? m.columns : m.smaller();
  out.a = TFD_TRY(call.updated<T>(0, 0, m, {m.rows, m.columns}));
  out.values = TFD_TRY(call.result<Real<T>>(1, m, {m.smaller()}));
  out.u = TFD_TRY(call.result<T>(2, m, {m.rows, u_columns}));
  out.vt = TFD_TRY(call.result<T>(3, m, {vt_rows, m.columns}));
  out.info = TFD_TRY(call.result<int>(4, m, {}));
  out.leading_vt = leading(vt_rows);
  return out;
}

/// LAPACK returns a conjugate pair of a real matrix's eigenvectors as one column of real and one of imaginary parts.
template <class T>
void unpack_vectors(int order, const T* imaginary, const T* packed, std::complex<T>* out) {
  for (int j = 0; j < order; ++j) {
    const std::int64_t column = std::int64_t{j} * order;
    const bool is_pair = imaginary[j] != 0 && j + 1 < order;
    for (std::int64_t k = column; k < column + order; ++k) {
      out[k] = {packed[k], is_pair ? packed[k + order] : T(0)};
      if (is_pair) out[k + order] = {packed[k], -packed[k + order]};
    }
    if (is_pair) ++j;
  }
}

template <class T>
bool is_finite(const T* values, std::int64_t count) {
  return std::all_of(values, values + count,
                     [](const T& value) { return std::isfinite(std::real(value)) && std::isfinite(std::imag(value)); });
}

}  // namespace

template <class T>
Result<void> gesdd(const Call& call, const Routine& routine) {
  const Svd<T> svd = TFD_TRY(read_svd<T>(call));
  const Matrices& m = svd.m;
  const std::int64_t less = m.smaller(), more = std::max(m.rows, m.columns);
  const auto integers = TFD_TRY(allocate<int>(8 * less));
  const auto reals = TFD_TRY(allocate<Real<T>>(
      svd.mode == 'N' ? 7 * less : std::max(5 * less * less + 5 * less, 2 * more * less + 2 * less * less + less)));
  return run_each<T>(m, [&](std::int64_t i, T* work, int size) {
    if constexpr (kIsComplex<T>)
      routine(svd.mode, m.rows, m.columns, svd.a[i], leading(m.rows), svd.values[i], svd.u[i], leading(m.rows),
              svd.vt[i], svd.leading_vt, work, size, reals.get(), integers.get(), svd.info[i]);
    else
      routine(svd.mode, m.rows, m.columns, svd.a[i], leading(m.rows), svd.values[i], svd.u[i], leading(m.rows),
              svd.vt[i], svd.leading_vt, work, size, integers.get(), svd.info[i]);
  });
}

template <class T>
Result<void> gesvd(const Call& call, const Routine& routine) {
  const Svd<T> svd = TFD_TRY(read_svd<T>(call));
  const Matrices& m = svd.m;
  const auto reals = TFD_TRY(allocate<Real<T>>(5 * std::int64_t{m.smaller()}));
  return run_each<T>(m, [&](std::int64_t i, T* work, int size) {
    if constexpr (kIsComplex<T>)
      routine(svd.mode, svd.mode, m.rows, m.columns, svd.a[i], leading(m.rows), svd.values[i], svd.u[i],
              leading(m.rows), svd.vt[i], svd.leading_vt, work, size, reals.get(), svd.info[i]);
    else
      routine(svd.mode, svd.mode, m.rows, m.columns, svd.a[i], leading(m.rows), svd.values[i], svd.u[i],
              leading(m.rows), svd.vt[i], svd.leading_vt, work, size, svd.info[i]);
  });
}

template <class T>
Result<void> syevd(const Call& call, const Routine& routine) {
  TFD_TRY(call.check_counts(1, 3));
  const Matrices m = TFD_TRY(call.square_matrices(0));
  const char mode = TFD_TRY(call.letter("mode", "VN")), uplo = TFD_TRY(call.letter("uplo", "LU"));
  const auto a = TFD_TRY(call.updated<T>(0, 0, m, {m.rows, m.rows}));
  const auto values = TFD_TRY(call.result<Real<T>>(1, m, {m.rows}));
  const auto info = TFD_TRY(call.result<int>(2, m, {}));
  const std::int64_t order = m.rows;
  const std::int64_t integer_count = 3 + 5 * order, real_count = 1 + 5 * order + (mode == 'V' ? 2 * order * order : 0);
  const auto integers = TFD_TRY(allocate<int>(integer_count));
  const auto reals = TFD_TRY(allocate<Real<T>>(real_count));
  return run_each<T>(m, [&](std::int64_t i, T* work, int size) {
    const int integer_size = size < 0 ? size : static_cast<int>(integer_count);
    const int real_size = size < 0 ? size : static_cast<int>(real_count);
    if constexpr (kIsComplex<T>)
      routine(mode, uplo, m.rows, a[i], leading(m.rows), values[i], work, size, reals.get(), real_size, integers.get(),
              integer_size, info[i]);
    else
      routine(mode, uplo, m.rows, a[i], leading(m.rows), values[i], work, size, integers.get(), integer_size, info[i]);
  });
}

template <class T>
Result<void> sytrd(const Call& call, const Routine& routine) {
  TFD_TRY(call.check_counts(1, 5));
  const Matrices m = TFD_TRY(call.square_matrices(0));
  const char uplo = TFD_TRY(call.letter("uplo", "LU"));
  const int beside = std::max(0, m.rows - 1);
  const auto a = TFD_TRY(call.updated<T>(0, 0, m, {m.rows, m.rows}));
  const auto diagonal = TFD_TRY(call.result<Real<T>>(1, m, {m.rows}));
  const auto off_diagonal = TFD_TRY(call.result<Real<T>>(2, m, {beside}));
  const auto factors = TFD_TRY(call.result<T>(3, m, {beside}));
  const auto info = TFD_TRY(call.result<int>(4, m, {}));
  return run_each<T>(m, [&](std::int64_t i, T* work, int size) {
    routine(uplo, m.rows, a[i], leading(m.rows), diagonal[i], off_diagonal[i], factors[i], work, size, info[i]);
  });
}

template <class T>
Result<void> geev(const Call& call, const Routine& routine) {
  using Complex = std::complex<Real<T>>;
  TFD_TRY(call.check_counts(1, kIsComplex<T> ? 4 : 5));
  const Matrices m = TFD_TRY(call.square_matrices(0));
  const char left = TFD_TRY(call.letter("compute_left", "VN")), right = TFD_TRY(call.letter("compute_right", "VN"));
  const std::int64_t order = m.rows, elements = order * order;
  const auto from = TFD_TRY(call.argument<T>(0, m, {order, order}));
  std::int64_t next = 0;
  const auto values = TFD_TRY(call.result<T>(next++, m, {order}));
  const auto imaginary = kIsComplex<T> ? values : TFD_TRY(call.result<T>(next++, m, {order}));
  const auto left_vectors = TFD_TRY(call.result<Complex>(next++, m, {order, order}));
  const auto right_vectors = TFD_TRY(call.result<Complex>(next++, m, {order, order}));
  const auto info = TFD_TRY(call.result<int>(next++, m, {}));
  const auto a = TFD_TRY(allocate<T>(elements)), vl = TFD_TRY(allocate<T>(elements)),
             vr = TFD_TRY(allocate<T>(elements));
  const auto reals = TFD_TRY(allocate<Real<T>>(2 * order));
  return run_each<T>(m, [&](std::int64_t i, T* work, int size) {
    std::copy_n(from[i], elements, a.get());
    if (!is_finite(a.get(), elements) && size >= 0) {
      *info[i] = -4;  // its iterations may never end
      return;
    }
    if constexpr (kIsComplex<T>) {
      routine(left, right, m.rows, a.get(), leading(m.rows), values[i], left_vectors[i], leading(m.rows),
              right_vectors[i], leading(m.rows), work, size, reals.get(), info[i]);
    } else {
      routine(left, right, m.rows, a.get(), leading(m.rows), values[i], imaginary[i], vl.get(), leading(m.rows),
              vr.get(), leading(m.rows), work, size, info[i]);
      if (size >= 0 && *info[i] == 0 && left == 'V') unpack_vectors(m.rows, imaginary[i], vl.get(), left_vectors[i]);
      if (size >= 0 && *info[i] == 0 && right == 'V') unpack_vectors(m.rows, imaginary[i], vr.get(), right_vectors[i]);
    }
  });
}

template <class T>
Result<void> gees(const Call& call, const Routine& routine) {
  TFD_TRY(call.check_counts(1, kIsComplex<T> ? 5 : 6));
  const Matrices m = TFD_TRY(call.square_matrices(0));
  const char mode = TFD_TRY(call.letter("mode", "VN")), sort = TFD_TRY(call.letter("sort", "N"));
  const std::int64_t order = m.rows;
  const auto a = TFD_TRY(call.updated<T>(0, 0, m, {order, order}));
  const auto vectors = TFD_TRY(call.result<T>(1, m, {order, order}));
  std::int64_t next = 2;
  const auto values = TFD_TRY(call.result<T>(next++, m, {order}));
  const auto imaginary = kIsComplex<T> ? values : TFD_TRY(call.result<T>(next++, m, {order}));
  const auto selected = TFD_TRY(call.result<int>(next++, m, {}));
  const auto info = TFD_TRY(call.result<int>(next++, m, {}));
  const auto reals = TFD_TRY(allocate<Real<T>>(order));
  return run_each<T>(m, [&](std::int64_t i, T* work, int size) {
    if constexpr (kIsComplex<T>)
      routine(mode, sort, nullptr, m.rows, a[i], leading(m.rows), selected[i], values[i], vectors[i], leading(m.rows),
              work, size, reals.get(), nullptr, info[i]);
    else
      routine(mode, sort, nullptr, m.rows, a[i], leading(m.rows), selected[i], values[i], imaginary[i], vectors[i],
              leading(m.rows), work, size, nullptr, info[i]);
  });
}

template <class T>
Result<void> gehrd(const Call& call, const Routine& routine) {
  TFD_TRY(call.check_counts(1, 3));
  const Matrices m = TFD_TRY(call.square_matrices(0));
  const int low = TFD_TRY(call.number("low")), high = TFD_TRY(call.number("high"));
  if (low < 1 || low > leading(m.rows) || high < std::min(low, m.rows) || high > m.rows)
    return fail(Code::kInvalidArgument, "its attributes low and high are {} and {}, of {} rows", low, high, m.rows);
  const auto a = TFD_TRY(call.updated<T>(0, 0, m, {m.rows, m.rows}));
  const auto factors = TFD_TRY(call.result<T>(1, m, {std::max(0, m.rows - 1)}));
  const auto info = TFD_TRY(call.result<int>(2, m, {}));
  return run_each<T>(m, [&](std::int64_t i, T* work, int size) {
    routine(m.rows, low, high, a[i], leading(m.rows), factors[i], work, size, info[i]);
  });
}

#define TFD_FOR_TYPES(function)                                                     \
  template Result<void> function<float>(const Call&, const Routine&);               \
  template Result<void> function<double>(const Call&, const Routine&);              \
  template Result<void> function<std::complex<float>>(const Call&, const Routine&); \
  template Result<void> function<std::complex<double>>(const Call&, const Routine&)
TFD_FOR_TYPES(gesdd);
TFD_FOR_TYPES(gesvd);
TFD_FOR_TYPES(syevd);
TFD_FOR_TYPES(sytrd);
TFD_FOR_TYPES(geev);
TFD_FOR_TYPES(gees);
TFD_FOR_TYPES(gehrd);
#undef TFD_FOR_TYPES

}  // namespace tfd::function::lapack
