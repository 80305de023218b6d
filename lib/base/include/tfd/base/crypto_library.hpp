#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// OpenSSL's libcrypto, loaded when it is first needed: linking it would cost every tool a millisecond of its start.
// Thread rule: thread-safe.
#include <dlfcn.h>

#include <string_view>

#include "tfd/base/error.hpp"

namespace tfd {

/// A function of libcrypto, with the type that its headers give it.
template <class Function>
struct CryptoSymbol {
  const char* name;
  Function& function;
};
template <class Function>
CryptoSymbol(const char*, Function&) -> CryptoSymbol<Function>;  // clang doesn't deduce an aggregate's before 17

/// Finds all of these. kUnimplemented: libcrypto can't be loaded, or lacks one; says what to install. `why`: "which
/// signs for a service account".
template <class... Functions>
Result<void> load_crypto_symbols(std::string_view why, CryptoSymbol<Functions>... symbols) {
  void* library = ::dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);  // never unloaded: it has threads' data
  if (library == nullptr) return fail(Code::kUnimplemented, "cannot load libcrypto.so.3, {}: install libssl3", why);
  ((symbols.function = reinterpret_cast<Functions>(::dlsym(library, symbols.name))), ...);
  if (((symbols.function == nullptr) || ...)) return fail(Code::kUnimplemented, "libcrypto.so.3 is not one {}", why);
  return {};
}

}  // namespace tfd
