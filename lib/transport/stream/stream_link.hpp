#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One connection through a stream of bytes: messages of the wire as records, in order. A record is its size (u32, the
// highest bit set for a piece of a buffer) and its bytes. Thread rule: lives on the I/O thread.
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "tfd/process/stream.hpp"
#include "wire.hpp"

namespace tfd::transport {

class StreamLink {
 public:
  StreamLink(LinkId id, std::unique_ptr<process::Stream> stream) : id_(id), stream_(std::move(stream)) {}
  LinkId id() const { return id_; }
  int fd() const { return stream_->fd(); }

  /// Sends now, or keeps bytes that don't go now. kUnavailable: the other side is gone.
  Result<void> send(Parcel parcel);
  /// Sends kept bytes.
  Result<void> flush();
  bool has_unsent() const { return !unsent_.empty() || stream_->has_unsent(); }

  struct Record {
    std::span<const std::byte> bytes;
    bool is_piece = false;
    std::shared_ptr<const void> keep = {};  // of a piece that lies where the sink had said
  };
  /// The next one, valid until the next call; none: it hasn't come whole. `sink` says where pieces go. kUnavailable:
  /// none will. kInvalidArgument: what came is none.
  Result<std::optional<Record>> next(Wire::Sink& sink);
  /// Abandons the piece that is being received: releases its destination.
  void let_go() {
    if (body_.keep) use_own(body_.bytes.size());
  }

 private:
  static constexpr std::size_t kHeadBytes = 4;

  /// Sends from `sent_` on. False: not all of it goes now.
  Result<bool> put(const Parcel& parcel);
  Result<bool> receive(std::span<std::byte> to);
  /// Finds where the record goes whose head has come.
  Result<void> begin_body(Wire::Sink& sink);
  void use_own(std::size_t size);

  LinkId id_;
  std::unique_ptr<process::Stream> stream_;
  std::deque<Parcel> unsent_;
  std::size_t sent_ = 0;                    // bytes of the first of them, its head included
  std::array<std::byte, kHeadBytes> head_;  // of the next frame
  bool is_piece_ = false;
  Place body_;
  std::unique_ptr<std::byte[]> own_;  // where it goes if nobody says where
  std::size_t own_size_ = 0;
  std::size_t received_ = 0;  // bytes of the record, its head included
};

}  // namespace tfd::transport
