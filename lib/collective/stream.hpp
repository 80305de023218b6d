#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Bytes to and from one peer, in order, without waiting. Thread rule: lives on one thread.
#include <cstddef>
#include <memory>
#include <span>

#include "tfd/base/error.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::collective {

class Stream {
 public:
  virtual ~Stream() = default;
  /// Sends as much of `first`, then of `second`, as goes now, and returns how much; 0: not now. kUnavailable: the peer
  /// takes no more, or is gone.
  virtual Result<std::size_t> send(std::span<const std::byte> first, std::span<const std::byte> second) = 0;
  /// True while bytes that send() took haven't left.
  virtual bool has_unsent() const = 0;
  /// Returns how many bytes came; 0: none now. kUnavailable: none will, or they are false.
  virtual Result<std::size_t> receive(std::span<std::byte> to) = 0;
  virtual int fd() const = 0;
};

/// Over a connected socket, which it makes non-blocking. Reads ahead a little.
std::unique_ptr<Stream> make_plain_stream(process::Fd socket);

}  // namespace tfd::collective
