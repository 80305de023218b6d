#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The system's LAPACK, behind the custom calls that JAX makes of jax.numpy.linalg on a CPU (lapack_spotrf_ffi). It is
// loaded when the first module names one of them; nothing is linked. Thread rule: thread-safe.
#include <complex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ffi.hpp"
#include "tfd/hlo/module.hpp"

namespace tfd::function {

/// All of them, whether LAPACK is installed or not, to be registered before anything is compiled.
std::vector<std::pair<std::string_view, ffi::Handler*>> lapack_handlers();

/// Loads LAPACK if a module calls it. kFailedPrecondition: there is none, or it lacks what the module needs; the
/// message says what to install.
Result<void> prepare_lapack(const hlo::Module& module);

namespace lapack {

/// A Fortran subroutine: it takes everything by address, and after the other arguments the length of each string.
///
///   potrf('L', n, a, lda, info);   // SPOTRF(UPLO, N, A, LDA, INFO); a and info are pointers
class Routine {
 public:
  explicit Routine(void* address) : address_(address) {}

  template <class... Values>
  void operator()(const Values&... values) const {
    constexpr std::size_t kTexts = (std::size_t{0} + ... + std::size_t{std::is_same_v<Values, char>});
    call(std::make_index_sequence<kTexts>(), address_of(values)...);
  }

 private:
  template <class Value>
  static auto address_of(const Value& value) {
    if constexpr (std::is_pointer_v<Value> || std::is_null_pointer_v<Value>)
      return value;
    else
      return &value;
  }
  template <std::size_t>
  using Length = std::size_t;
  template <std::size_t... kTexts, class... Pointers>
  void call(std::index_sequence<kTexts...>, Pointers... pointers) const {
    reinterpret_cast<void (*)(Pointers..., Length<kTexts>...)>(address_)(
        pointers..., (static_cast<void>(kTexts), std::size_t{1})...);
  }

  void* address_;
};

template <class T>
struct RealOf {
  using Type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using Type = T;
};
template <class T>
using Real = typename RealOf<T>::Type;
template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

// The calls, by LAPACK's names; for a complex type a name may differ (unmqr). Source: LAPACK Users' Guide, 3rd edition;
// operands and attributes as jax._src.lax.linalg of JAX 0.10 passes them: matrices column by column.
template <class T>
Result<void> trsm(const ffi::Call& call, const Routine& routine);
template <class T>
Result<void> getrf(const ffi::Call& call, const Routine& routine);
template <class T>
Result<void> potrf(const ffi::Call& call, const Routine& routine);
template <class T>
Result<void> gtsv(const ffi::Call& call, const Routine& routine);
template <class T>
Result<void> geqrf(const ffi::Call& call, const Routine& routine);
template <class T>
Result<void> geqp3(const ffi::Call& call, const Routine& routine);
template <class T>
Result<void> orgqr(const ffi::Call& call, const Routine& routine);
template <class T>
Result<void> ormqr(const ffi::Call& call, const Routine& routine);
template <class T>
Result<void> gesdd(const ffi::Call& call, const Routine& routine);
template <class T>
Result<void> gesvd(const ffi::Call& call, const Routine& routine);
template <class T>
Result<void> syevd(const ffi::Call& call, const Routine& routine);
template <class T>
Result<void> sytrd(const ffi::Call& call, const Routine& routine);
template <class T>
Result<void> geev(const ffi::Call& call, const Routine& routine);
template <class T>
Result<void> gees(const ffi::Call& call, const Routine& routine);
template <class T>
Result<void> gehrd(const ffi::Call& call, const Routine& routine);

}  // namespace lapack
}  // namespace tfd::function
