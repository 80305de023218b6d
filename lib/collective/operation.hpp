#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A collective that has begun, as positions of streams: to each peer goes a number of bytes, from each comes a number
// of bytes, and the bytes that have arrived decide how far one may send. The sockets are the communicator's. Thread
// rule: lives on the thread that drives the communicator.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "call.hpp"
#include "tfd/collective/communicator.hpp"

namespace tfd::collective {

class Operation {
 public:
  Operation(Call call, std::string encoded) : call_(std::move(call)), encoded_(std::move(encoded)) {}
  virtual ~Operation() = default;
  const Call& call() const { return call_; }
  const std::string& encoded() const { return encoded_; }

  /// Bytes that only this member sends when it begins.
  virtual std::string own() const { return {}; }
  /// A peer's own(). Its size was bounded; nothing else is checked. kInvalidArgument.
  virtual Result<void> hear(int peer, std::string_view own);

  virtual std::size_t bytes_to(int peer) const = 0;
  /// Known once the peer's own() was heard.
  virtual std::size_t bytes_from(int peer) const = 0;
  /// The part of these bytes that waits for no other member: a peer that lacks them is late itself.
  virtual std::size_t owed_by(int peer) const { return bytes_from(peer); }
  /// The available bytes at a position of the stream to a peer; empty: not yet.
  virtual std::span<const std::byte> ready(int peer, std::size_t at) = 0;
  /// Where the bytes from a position of a peer's stream go; empty: there is no room yet.
  virtual std::span<std::byte> room(int peer, std::size_t at) = 0;
  /// The peer's bytes have arrived up to this position.
  virtual void arrived(int /*peer*/, std::size_t /*at*/) {}
  /// Progress of the bytes that don't go by streams.
  enum class Outside : std::uint8_t { kHasMore, kIsOnItsWay, kIsDone };
  /// Moves that on without waiting. Called once all members' calls are known to be the same, and all that streams bring
  /// has arrived; of an operation that was begun later once this one has no more to begin, the same in all members.
  virtual Result<Outside> move_outside() { return Outside::kIsDone; }
  /// Bytes that this member has sent that way.
  virtual std::size_t bytes_outside() const { return 0; }
  /// Everything has been sent and has arrived.
  virtual void finish() {}

 private:
  const Call call_;
  const std::string encoded_;
};

/// Every member's bytes for every member. `own` is borrowed.
class GatherOperation : public Operation {
 public:
  GatherOperation(Call call, std::string encoded, int rank, int members, std::string_view own, std::size_t most);
  std::string own() const override;
  Result<void> hear(int peer, std::string_view own) override;
  std::size_t bytes_to(int) const override { return own_.size(); }
  std::size_t bytes_from(int peer) const override { return results_[static_cast<std::size_t>(peer)].size(); }
  std::span<const std::byte> ready(int peer, std::size_t at) override;
  std::span<std::byte> room(int peer, std::size_t at) override;
  std::vector<std::string> take() { return std::move(results_); }

 protected:
  std::span<std::byte> result(int rank) {
    std::string& one = results_[static_cast<std::size_t>(rank)];
    return {reinterpret_cast<std::byte*>(one.data()), one.size()};
  }

 private:
  std::string_view own_;  // among the results
  std::size_t most_;
  std::vector<std::string> results_;  // by rank
};

/// One member's bytes for every member. `data` is borrowed.
class BroadcastOperation : public Operation {
 public:
  BroadcastOperation(Call call, std::string encoded, int rank, std::span<std::byte> data)
      : Operation(std::move(call), std::move(encoded)), rank_(rank), data_(data) {}
  std::size_t bytes_to(int) const override { return call().root == rank_ ? data_.size() : 0; }
  std::size_t bytes_from(int peer) const override { return call().root == peer ? data_.size() : 0; }
  std::span<const std::byte> ready(int, std::size_t at) override { return data_.subspan(at); }
  std::span<std::byte> room(int, std::size_t at) override { return data_.subspan(at); }

 protected:
  bool is_root() const { return call().root == rank_; }
  std::span<std::byte> data() const { return data_; }

 private:
  int rank_;
  std::span<std::byte> data_;
};

}  // namespace tfd::collective
