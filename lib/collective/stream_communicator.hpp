#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A Communicator over streams, one to each other member. Whoever calls moves the bytes, of all collectives that have
// begun: over a connection everything of one goes before anything of the next. Thread rule: as Communicator.
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>

#include "frame.hpp"
#include "mpi/mpi_plugin.hpp"
#include "operation.hpp"
#include "shared_stream.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/collective/communicator.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::collective {

class StreamCommunicator : public Communicator {
 public:
  /// kSystem: no descriptors.
  static Result<std::unique_ptr<StreamCommunicator>> make(Members members,
                                                          std::vector<std::unique_ptr<Stream>> streams);
  ~StreamCommunicator() override;

  /// From now on bytes to and from these members, by rank (null: the others), go through memory. They do the same, and
  /// a barrier has ended before, and another one begins after it: so nothing is on its way.
  void move_into_memory(std::vector<std::unique_ptr<Stream>> streams);
  /// From now on sums, broadcasts and large gathers go by MPI. They do the same, as with memory.
  void move_to_mpi(std::unique_ptr<MpiLink> link);
  /// Checks, while no collective is in progress, whether all members are alive. Doesn't wait.
  /// kUnavailable: one is gone; or whatever error a member, or cancel(), has ended the group with.
  Result<void> check_members();

  Result<void> all_reduce(const Reduction& what, const SumLayout& layout, std::span<const tensor::SumPart> parts,
                          std::byte* out, Deadline deadline) override;
  Result<void> begin_all_reduce(const Reduction& what, const SumLayout& layout, std::span<const tensor::SumPart> parts,
                                std::byte* out) override;
  Result<void> wait(Deadline deadline) override;
  Result<bool> move_on() override;
  Result<void> reduce_scatter(const Reduction& what, const SumLayout& layout, std::span<const tensor::SumPart> parts,
                              std::byte* out, Deadline deadline) override;
  Result<std::vector<std::string>> all_gather(std::string_view name, std::int64_t step, std::string_view own,
                                              Deadline deadline, std::size_t most) override;
  Result<void> begin_all_gather(std::string_view name, std::int64_t step, std::string_view own,
                                std::size_t most) override;
  Result<std::vector<std::string>> wait_all_gather(Deadline deadline) override;
  Result<void> broadcast(std::string_view name, std::int64_t step, int root, std::span<std::byte> data,
                         Deadline deadline) override;
  Result<void> barrier(std::string_view name, std::int64_t step, Deadline deadline) override;
  void cancel(Error error) override;
  void leave() override;
  /// Unchecked: the driving thread calls it, and cancel() moves nothing that is counted.
  Traffic traffic() const override TFD_UNCHECKED_THREADS { return traffic_; }

 private:
  /// A begun collective, and a member whose call differs.
  struct Begun {
    std::unique_ptr<Operation> operation;
    std::vector<std::optional<std::string>> calls;  // by rank, encoded
    bool differs = false;
    std::string opening = {};  // the frame that begins it
    bool is_done_outside = false;
  };
  /// A connection, and how far it is. Numbers count collectives; a stream is in the middle of `number`.
  struct Peer {
    std::unique_ptr<Stream> stream, replaced = {};
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
    std::optional<Clock::time_point> unanswered_since = {};  // by its host
    bool has_unsent() const { return head_at < head.size() || !body.empty() || stream->has_unsent(); }
  };
  class Turn;

  StreamCommunicator(Members members, std::vector<std::unique_ptr<Stream>> streams, process::Fd wake);

  /// Returns the collective's number.
  Result<std::uint64_t> begin(std::unique_ptr<Operation> operation) TFD_REQUIRES(driving_);
  Result<std::unique_ptr<Operation>> finish(std::uint64_t number, Deadline deadline) TFD_REQUIRES(driving_);
  Result<std::unique_ptr<Operation>> finish_oldest(CallKind kind, Deadline deadline) TFD_REQUIRES(driving_);
  Result<std::unique_ptr<Operation>> make_sum(CallKind kind, const Reduction& what, const SumLayout& layout,
                                              std::span<const tensor::SumPart> parts, std::byte* out) const
      TFD_REQUIRES(driving_);
  Result<std::unique_ptr<Operation>> make_gather(Call call, std::string_view own, std::size_t most) const
      TFD_REQUIRES(driving_);

  Result<void> drive(std::uint64_t number, Deadline deadline) TFD_REQUIRES(driving_);
  Result<bool> move_all() TFD_REQUIRES(driving_);
  void move_outside() TFD_REQUIRES(driving_);
  Result<void> check_hosts(Clock::time_point now) TFD_REQUIRES(driving_);
  Result<void> check_outside(Clock::time_point now) TFD_REQUIRES(driving_);
  Result<bool> move_out(Peer& peer) TFD_REQUIRES(driving_);
  bool fill(Peer& peer) TFD_REQUIRES(driving_);
  Result<bool> move_in(Peer& peer) TFD_REQUIRES(driving_);
  Result<std::size_t> receive(Peer& peer, std::span<std::byte> to);
  Result<bool> move_frame(Peer& peer) TFD_REQUIRES(driving_);
  Result<void> take_call(Peer& peer) TFD_REQUIRES(driving_);
  void end_if_complete(Peer& peer) TFD_REQUIRES(driving_);
  bool is_complete(std::uint64_t number) const TFD_REQUIRES(driving_);
  bool has_arrived(std::uint64_t number) const TFD_REQUIRES(driving_);
  bool expects(const Peer& peer) const TFD_REQUIRES(driving_) {
    return peer.in_number < next_ || peer.out_number < next_;
  }
  bool is_reading(Peer& peer) TFD_REQUIRES(driving_);
  std::vector<int> missing(std::uint64_t number) const TFD_REQUIRES(driving_);
  std::string names_of(const std::vector<int>& ranks) const;
  void sleep(std::uint64_t number, Clock::time_point until) TFD_REQUIRES(driving_);
  void poll_streams(Clock::time_point until) TFD_REQUIRES(driving_);

  Error gone(Peer& peer) TFD_REQUIRES(driving_);
  Error nonsense(const Peer& peer, std::string_view why) const;
  /// The group ends with this error; the others are told, for at most `linger`.
  Error end_with(Error error, Duration linger) TFD_REQUIRES(driving_);
  Result<void> check_usable() TFD_REQUIRES(driving_);
  void obey();
  Error cause_of_end() TFD_REQUIRES(driving_);
  std::optional<Error> last_words(Peer& peer) TFD_REQUIRES(driving_);

  /// The error that cancel() was given; unchecked, since it never changes once is_cancelled_ is true.
  const Error& cancelled() const TFD_UNCHECKED_THREADS { return *cancelled_; }
  Begun& begun(std::uint64_t number) TFD_REQUIRES(driving_) {
    return begun_[static_cast<std::size_t>(number - first_)];
  }
  const Begun& begun(std::uint64_t number) const TFD_REQUIRES(driving_) {
    return begun_[static_cast<std::size_t>(number - first_)];
  }

  const bool shares_processors_;                      // the members of this host are more than it has
  const int per_host_;                                // members_of_each_host()
  Mutex driving_;                                     // held by the thread that moves bytes
  std::vector<Peer> peers_ TFD_GUARDED_BY(driving_);  // the others, from the next rank on
  std::deque<Begun> begun_ TFD_GUARDED_BY(driving_);  // first_ to next_ - 1; without an operation, once it was taken
  std::uint64_t first_ TFD_GUARDED_BY(driving_) = 0, next_ TFD_GUARDED_BY(driving_) = 0;
  Traffic traffic_ TFD_GUARDED_BY(driving_);
  Duration spin_ TFD_GUARDED_BY(driving_){};                                 // how long it looks again before it sleeps
  int sleeps_ TFD_GUARDED_BY(driving_) = 0;                                  // without looking again before
  std::unique_ptr<MpiLink> link_ TFD_GUARDED_BY(driving_);                   // null: everything goes by streams
  bool is_outside_ TFD_GUARDED_BY(driving_) = false;                         // something is on its way by MPI
  std::optional<Error> outside_error_ TFD_GUARDED_BY(driving_);              // MPI's
  std::optional<Clock::time_point> trouble_since_ TFD_GUARDED_BY(driving_);  // with MPI, or with a connection meanwhile
  std::optional<Error> failed_ TFD_GUARDED_BY(driving_);
  Clock::time_point next_look_ TFD_GUARDED_BY(driving_){};  // of check_hosts()

  Mutex cancelling_;
  std::optional<Error> cancelled_ TFD_GUARDED_BY(cancelling_);
  std::atomic<bool> is_cancelled_{false};  // what the driving thread looks at
  process::Fd wake_;                       // wakes it
};

}  // namespace tfd::collective
