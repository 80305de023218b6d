#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The key of a cluster: one CURVE key pair that all its tasks and clients share. Who has it may connect, and everything
// is encrypted; who hasn't learns nothing. Where it is kept is the business of others.
// Thread rule: plain values; the functions are thread-safe.
#include <string>

#include "tfd/base/error.hpp"

namespace tfd::transport {

/// Both as 40 characters of Z85 (ZeroMQ RFC 32). The public half is kept secret too: nobody publishes it.
struct CurveKey {
  std::string public_key;
  std::string secret_key;
  bool operator==(const CurveKey&) const = default;
};

/// A new one. kUnimplemented where libzmq was built without CURVE.
Result<CurveKey> make_curve_key();
/// kInvalidArgument unless both halves are keys and belong together.
Result<void> check_curve_key(const CurveKey& key);

}  // namespace tfd::transport
