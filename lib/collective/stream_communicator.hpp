#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A Communicator over streams, one to each other member. Whoever calls moves the bytes, of all collectives that have
// begun: over a connection everything of one goes before anything of the next. Thread rule: as Communicator.
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "frame.hpp"
#include "operation.hpp"
#include "stream.hpp"
#include "tfd/collective/communicator.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::collective {

class StreamCommunicator : public Communicator {
 public:
  /// kSystem: no descriptors.
  static Result<std::unique_ptr<StreamCommunicator>> make(Members members,
                                                          std::vector<std::unique_ptr<Stream>> streams);
  ~StreamCommunicator() override;

  Result<void> all_reduce(const Reduction& what, const SumLayout& layout, std::span<const tensor::SumPart> parts,
                          std::byte* out, Deadline deadline) override;
  Result<void> begin_all_reduce(const Reduction& what, const SumLayout& layout, std::span<const tensor::SumPart> parts,
                                std::byte* out) override;
  Result<void> wait(Deadline deadline) override;
  Result<std::vector<std::string>> all_gather(std::string_view name, std::int64_t step, std::string_view own,
                                              Deadline deadline, std::size_t most) override;
  Result<void> begin_all_gather(std::string_view name, std::int64_t step, std::string_view own,
                                std::size_t most) override;
  Result<std::vector<std::string>> wait_all_gather(Deadline deadline) override;
  Result<void> broadcast(std::string_view name, std::int64_t step, int root, std::span<std::byte> data,
                         Deadline deadline) override;
  Result<void> barrier(std::string_view name, std::int64_t step, Deadline deadline) override;
  void cancel(Error error) override;
  Traffic traffic() const override { return traffic_; }

 private:
  /// What has begun, and who differs.
  struct Begun {
    std::unique_ptr<Operation> operation;
    std::vector<std::optional<std::string>> calls;  // by rank, encoded
    bool differs = false;
    std::string opening = {};  // the frame that begins it
  };
  /// A connection, and how far it is. Numbers count collectives; a stream is in the middle of `number`.
  struct Peer {
    std::unique_ptr<Stream> stream;
    int rank = 0;
    std::uint64_t out_number = 0, in_number = 0;
    bool is_opened = false, was_heard = false;  // out, in: the call has gone, has come
    std::size_t out_at = 0, in_at = 0;          // bytes of the collective
    std::string head = {};                      // frames' headers that leave before `body`
    std::size_t head_at = 0;
    std::span<const std::byte> body = {};
    std::array<std::byte, kFrameHeaderBytes> header = {};
    std::size_t header_at = 0;
    FrameHeader frame = {};
    std::string text = {};  // the body of a call or an abort
    std::size_t body_at = 0;
    bool has_ended = false;           // nothing will come; an error once something has to
    std::uint64_t unsent_number = 0;  // to which collective the unsent bytes belong
    bool must_write = false;
    bool has_unsent() const { return head_at < head.size() || !body.empty() || stream->has_unsent(); }
  };
  class Turn;

  StreamCommunicator(Members members, std::vector<std::unique_ptr<Stream>> streams, process::Fd wake);

  /// Returns the collective's number.
  Result<std::uint64_t> begin(std::unique_ptr<Operation> operation);
  Result<std::unique_ptr<Operation>> finish(std::uint64_t number, Deadline deadline);
  template <class Op>
  Result<std::unique_ptr<Op>> finish_oldest(Deadline deadline);
  Result<std::unique_ptr<Operation>> make_sum(const Reduction& what, const SumLayout& layout,
                                              std::span<const tensor::SumPart> parts, std::byte* out) const;
  Result<std::unique_ptr<Operation>> make_gather(Call call, std::string_view own, std::size_t most) const;

  Result<void> drive(std::uint64_t number, Deadline deadline);
  Result<bool> move_all();
  Result<bool> move_out(Peer& peer);
  bool fill(Peer& peer);
  Result<bool> move_in(Peer& peer);
  Result<std::size_t> receive(Peer& peer, std::span<std::byte> to);
  Result<bool> move_frame(Peer& peer);
  Result<void> take_call(Peer& peer);
  void end_if_complete(Peer& peer);
  bool is_complete(std::uint64_t number) const;
  bool expects(const Peer& peer) const { return peer.in_number < next_ || peer.out_number < next_; }
  bool is_reading(Peer& peer);
  std::vector<int> missing(std::uint64_t number) const;
  std::string names_of(const std::vector<int>& ranks) const;
  bool sleep(std::uint64_t number, Clock::time_point until);

  Error gone(Peer& peer);
  Error nonsense(const Peer& peer, std::string_view why) const;
  /// The group ends with this error; the others are told, for at most `linger`.
  Error end_with(Error error, Duration linger);
  Result<void> check_usable();
  void obey();

  Begun& begun(std::uint64_t number) { return begun_[static_cast<std::size_t>(number - first_)]; }
  const Begun& begun(std::uint64_t number) const { return begun_[static_cast<std::size_t>(number - first_)]; }

  std::vector<Peer> peers_;  // the others, from the next rank on
  std::deque<Begun> begun_;  // numbers first_ to next_ - 1; without an operation, once it was taken
  std::uint64_t first_ = 0, next_ = 0;
  Traffic traffic_;
  Duration spin_{};  // how long it looks again before it sleeps

  std::mutex driving_;  // held while a thread uses what is above
  std::mutex cancelling_;
  std::optional<Error> cancelled_;         // guarded by cancelling_
  std::atomic<bool> is_cancelled_{false};  // what the driving thread looks at
  process::Fd wake_;                       // wakes it
  std::optional<Error> failed_;            // guarded by driving_
};

}  // namespace tfd::collective
