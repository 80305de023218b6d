#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One connection through rings in shared memory: messages of the wire as records, in order. A record is its size (u32,
// the highest bit set for a piece of a buffer) and its bytes, padded to 8. Thread rule: lives on the I/O thread.
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "ring/ring_loans.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/process/shared_rings.hpp"
#include "wire.hpp"

namespace tfd::transport {

class RingLink {
 public:
  /// Bytes of a ring: with less of it large tensors move slower, with more they leave the caches.
  static constexpr std::size_t kRingBytes = std::size_t{1} << 20;

  /// `bell`: a connected Unix socket, which wakes the other side, and tells when its process ends.
  RingLink(LinkId id, process::Fd bell, process::SharedRings rings)
      : id_(id), line_(new RingLine{std::move(bell), std::move(rings)}), loans_(line_) {}
  LinkId id() const { return id_; }
  int fd() const { return line_->bell.get(); }

  /// Sends now, or keeps it until there is room; announce() wakes a sleeping reader. False: the other side breaks the
  /// rules.
  bool send(Parcel parcel);
  /// Wakes the other side if it waits for messages.
  void announce();
  /// Sends waiting parcels, and announces them; false as send().
  bool flush();
  bool has_unsent() const { return !unsent_.empty(); }

  struct Record {
    std::span<const std::byte> bytes;
    bool is_piece = false;  // `bytes` lie in the ring, where the other side can change them; others are copied out
  };
  /// The next one, valid until done(); none: there is none now. kInvalidArgument: the bytes aren't a record.
  Result<std::optional<Record>> next();
  /// Gives back the room of the record that next() returned.
  void done();

  /// Called whenever the bell has rung, `is_last` where the other side has closed it. It is read for some only.
  void on_bell(bool is_last);
  /// Reads the bell: the descriptor that came with it, or the end of the other process.
  void answer_bell();
  bool has_ended() const { return has_ended_; }
  /// False: there is something to do by now. Otherwise the bell rings later.
  bool prepare_to_sleep();

  RingLoans& loans() { return loans_; }

 private:
  Result<bool> put(const Parcel& parcel);

  LinkId id_;
  std::shared_ptr<RingLine> line_;  // with borrowed memory
  RingLoans loans_;
  std::deque<Parcel> unsent_;
  std::vector<std::byte> copy_;  // of the record that is being read
  std::size_t reading_ = 0;      // bytes of it in the ring
  std::size_t unannounced_ = 0;  // bytes
  int sleeps_ = 0;               // since the bell was read
  bool has_ended_ = false;
};

}  // namespace tfd::transport
