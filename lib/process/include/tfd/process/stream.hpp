#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Bytes to and from one peer, in order, without waiting: over a socket, plain or encrypted, or some other way. Thread
// rule: lives on one thread.
#include <poll.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::process {

class Stream {
 public:
  virtual ~Stream() = default;
  /// Sends as much of `first`, then of `second`, as goes now, and returns how much; 0: not now. kUnavailable: the peer
  /// takes no more, or is gone.
  virtual Result<std::size_t> send(std::span<const std::byte> first, std::span<const std::byte> second) = 0;
  /// True while bytes that send() took haven't left.
  virtual bool has_unsent() const = 0;
  /// Returns how many bytes came; 0: none now. kUnavailable: none will. kInvalidArgument: they are false.
  virtual Result<std::size_t> receive(std::span<std::byte> to) = 0;
  /// The descriptor and events to poll() for.
  virtual int fd() const = 0;
  virtual short events(bool reads, bool writes) const {
    return static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
  }
  /// Called before the thread sleeps until it can read or write. False: it can by now.
  virtual bool prepare_to_sleep(bool /*reads*/, bool /*writes*/) { return true; }
  /// Called after prepare_to_sleep(), whatever it said.
  virtual void wake_up() {}
};

/// A stream over a connected socket, which it makes non-blocking. Reads ahead a little.
std::unique_ptr<Stream> make_plain_stream(Fd socket);

/// The same with everything encrypted: AES-256-GCM in records of at most 32 KiB, whose nonce is their number. A record
/// that fits is decrypted where it goes: after an error of receive() what lies there is nothing. kUnimplemented:
/// libcrypto can't be loaded.
Result<std::unique_ptr<Stream>> make_sealed_stream(Fd socket, const std::array<std::byte, 32>& key_to_send,
                                                   const std::array<std::byte, 32>& key_to_receive);

/// Whether that can be made here.
bool can_seal();

}  // namespace tfd::process
