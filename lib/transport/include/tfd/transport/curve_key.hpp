#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The key of a cluster: one CURVE key pair that all its tasks and clients share. Its holders may connect, and all
// traffic is encrypted; others learn nothing. Storing it is left to callers. Thread rule: plain values; the functions
// are thread-safe.
#include <string>

#include "tfd/base/error.hpp"

namespace tfd::transport {

/// Both halves as 40 characters of Z85 (ZeroMQ RFC 32). The public half is kept secret, too.
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
