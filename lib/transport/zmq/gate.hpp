#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// CURVE on the sockets of an endpoint that has its cluster's key, and the gate in front of those that listen: libzmq
// asks it (ZAP, ZeroMQ RFC 27) about every client that has proved to own the key pair it names. Only the cluster's key
// is accepted. Thread rule: see Wire.
#include <array>
#include <cstdint>

#include "tfd/base/error.hpp"
#include "tfd/transport/curve_key.hpp"

namespace tfd::transport {

inline constexpr std::size_t kKeyBytes = 32;
inline constexpr std::size_t kKeyText = 40;        // in Z85
inline constexpr std::size_t kCurveOverhead = 64;  // at most: what CURVE adds to a message of the wire

/// Sets the key on a socket before it connects or binds. False if libzmq lacks CURVE.
bool use_key_to_ask(void* socket, const CurveKey& key);
bool use_key_to_listen(void* socket, const CurveKey& key);

/// Makes a bound socket for libzmq's ZAP requests, before anything listens in this context.
Result<void*> open_gate(void* context);
/// Answers at most one question; false if there was none.
bool answer_at_gate(void* gate, const CurveKey& key);

}  // namespace tfd::transport
