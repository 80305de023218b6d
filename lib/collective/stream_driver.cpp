// SPDX-License-Identifier: Apache-2.0
//
// Moves the bytes of the collectives that have begun.
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "stream_communicator.hpp"
#include "tfd/base/bytes.hpp"
#include "tfd/base/units.hpp"
#include "tfd/process/tcp_socket.hpp"

namespace tfd::collective {
namespace {

// How long a member looks again before it sleeps: to wake one up takes 5 to 50 µs. Where that was in vain it looks for
// half as long, down to not at all, and tries again once in a while.
constexpr Duration kLongestSpin = std::chrono::microseconds(100), kShortestSpin = std::chrono::microseconds(5);
constexpr Duration kOverslept = std::chrono::seconds(1);
constexpr Duration kHostLook = std::chrono::seconds(1);  // how often it is seen whether the hosts of the others answer
constexpr int kSleepsBeforeSpin = 16;
// How often the connections are looked at while something is on its way by MPI, and how long an end of one of them, or
// an error of MPI, is left open: the last bytes may still come, or the cause show.
constexpr Duration kLook = std::chrono::milliseconds(10), kLastBytes = std::chrono::milliseconds(500);

/// Lets another thread run, if it has to share the processor; else waits for an instant.
void pause(bool shares_processors) {
  if (shares_processors) {
    ::sched_yield();
    return;
  }
  for (int i = 0; i < 16; ++i) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
}

}  // namespace

Result<void> StreamCommunicator::drive(std::uint64_t number, Deadline deadline) {
  const auto began = Clock::now();
  auto stalled_since = began;
  auto next_line = stall().say ? began + stall().after : Clock::time_point::max();
  auto next_look = began;
  bool is_spinning = false;
  for (auto spin_until = began + spin_;;) {
    const bool is_over = is_cancelled_;  // what a lost member sent before counts still
    const Result<bool> any = move_all();
    if (any && is_complete(number)) return {};
    if (is_over) return fail(cause_of_end());
    const bool moved = TFD_TRY(any);
    const Begun& oldest = begun(number);
    if (oldest.differs)
      if (auto difference = find_difference(members(), oldest.calls)) return fail(std::move(*difference));
    const auto now = Clock::now();
    if (!deadline.is_never() && now >= deadline.when()) {
      const std::vector<int> late = missing(number);
      return fail(Error{Code::kDeadlineExceeded,
                        fmt::format("{}: {} without {}", format_call(oldest.operation->call()),
                                    rounded_duration(now - began), names_of(late)),
                        late.size() == 1 ? members().all[static_cast<std::size_t>(late[0])].name : ""});
    }
    TFD_TRY(check_hosts(now));
    TFD_TRY(check_outside(now));
    if (now > next_line && now - next_line > kOverslept) {  // this process was stopped, as by Ctrl-Z: it begins anew
      stalled_since = now;
      next_line = now + stall().after;
    } else if (now >= next_line) {
      std::vector<int> late = missing(number);
      std::string whom = names_of(late);
      stall().say({format_call(oldest.operation->call()), now - stalled_since, std::move(late), std::move(whom)});
      next_line = stall().again > Duration::zero() ? now + stall().again : Clock::time_point::max();
    }
    if (moved) {
      if (std::exchange(is_spinning, false)) spin_ = kLongestSpin;
      spin_until = now + spin_;
      continue;
    }
    if (now < spin_until) {
      is_spinning = true;
      pause(shares_processors_);
      continue;
    }
    if (is_outside_) {  // MPI wakes no sleeper, and moves only while it is asked
      if (now >= next_look) {
        sleep(number, now);
        next_look = now + kLook;
      }
      pause(true);
      continue;
    }
    if (std::exchange(is_spinning, false)) spin_ = spin_ > kShortestSpin ? spin_ / 2 : Duration::zero();
    sleep(number, std::min({deadline.when(), next_line, next_look_}));
    if (spin_ == Duration::zero() && ++sleeps_ % kSleepsBeforeSpin == 0) spin_ = kLongestSpin;
    spin_until = Clock::now() + spin_;
  }
}

/// The reason for canceling. If a member is lost, its last error counts: it may have arrived here unread.
Error StreamCommunicator::cause_of_end() {
  Error why = cancelled();
  if (why.code != Code::kUnavailable) return why;
  for (Peer& peer : peers_)
    if (members().all[static_cast<std::size_t>(peer.rank)].name == why.task)
      if (auto said = last_words(peer)) return *std::move(said);
  return why;
}

Result<bool> StreamCommunicator::move_all() {
  bool moved = false;
  for (Peer& peer : peers_) {
    moved = TFD_TRY(move_out(peer)) || moved;
    moved = TFD_TRY(move_in(peer)) || moved;
  }
  move_outside();
  return moved;
}

/// Advances operations of MPI, in the order in which they were begun.
void StreamCommunicator::move_outside() {
  if (!link_ || outside_error_) return;
  is_outside_ = false;
  for (std::uint64_t number = first_; number < next_ && has_arrived(number); ++number) {
    Begun& one = begun(number);
    if (one.is_done_outside) continue;
    auto state = one.operation->move_outside();
    if (!state) outside_error_ = std::move(state).error().within(format_call(one.operation->call()));
    one.is_done_outside = state && *state == Operation::Outside::kIsDone;
    is_outside_ = is_outside_ || !one.is_done_outside;
    if (!state || *state == Operation::Outside::kHasMore) break;
  }
  if (!is_outside_) trouble_since_.reset();
}

/// Checks whether the hosts of the others answer over these connections: the members' liveness is known from
/// other connections, and a network may let one through and not the other. TCP_USER_TIMEOUT doesn't fit, since
/// it ends a connection whose other side is alive, but computes and doesn't read.
Result<void> StreamCommunicator::check_hosts(Clock::time_point now) {
  if (now < next_look_) return {};
  const Duration silence = members().silence;
  const bool was_away = now - next_look_ > kOverslept;  // so long that earlier findings say nothing
  next_look_ = silence > Duration::zero() ? now + std::min<Duration>(kHostLook, silence / 4) : Clock::time_point::max();
  for (Peer& peer : peers_) {
    // Half of it must have passed without an answer, and as much again: of a peer that doesn't read the kernel asks
    // more and more seldom, and each answer is the first one for long.
    if (silence == Duration::zero() || !process::awaits_answer(peer.stream->fd(), silence / 2)) {
      peer.unanswered_since.reset();
      continue;
    }
    if (was_away || !peer.unanswered_since) peer.unanswered_since = now;
    if (now - *peer.unanswered_since < silence / 2) continue;
    const std::string& name = members().all[static_cast<std::size_t>(peer.rank)].name;
    return fail(Error{Code::kUnavailable,
                      fmt::format("{} is lost (its host doesn't answer over the connection of the collectives for {})",
                                  name, rounded_duration(silence)),
                      name});
  }
  return {};
}

/// Checks for deaths while MPI moves something: streams then have no bytes to bring, but their ends.
/// One that ends in order does so behind its last bytes, which may still be on their way; and where MPI fails since a
/// member is gone, that is the cause to be named.
Result<void> StreamCommunicator::check_outside(Clock::time_point now) {
  const auto ended = std::ranges::find_if(peers_, &Peer::has_ended);
  const bool has_ended = ended != peers_.end();
  if (!is_outside_ || (!has_ended && !outside_error_)) return {};
  if (!trouble_since_) trouble_since_ = now;
  const bool is_late = now - *trouble_since_ > kLastBytes;
  if (has_ended && (outside_error_ || is_late)) return fail(gone(*ended));
  if (is_late) return fail(*outside_error_);
  return {};
}

Result<bool> StreamCommunicator::move_out(Peer& peer) {
  std::size_t moved = 0;
  for (;;) {
    if (!peer.has_unsent() && !fill(peer)) {
      peer.must_write = false;
      return moved > 0;
    }
    const auto head = std::as_bytes(std::span(peer.head)).subspan(peer.head_at);
    const Result<std::size_t> sent = peer.stream->send(head, peer.body);
    if (!sent) return fail(gone(peer));
    const std::size_t of_head = std::min(*sent, head.size());
    peer.head_at += of_head;
    peer.body = peer.body.subspan(*sent - of_head);
    traffic_.bytes_sent += *sent;
    moved += *sent;
    peer.must_write = peer.has_unsent();
    if (peer.must_write || moved >= kMostFrameBytes) return moved > 0;  // in turns with reading
  }
}

/// Takes the next frame that can be sent. False: there is none.
bool StreamCommunicator::fill(Peer& peer) {
  if (peer.out_number == next_) return false;
  Begun& one = begun(peer.out_number);
  peer.head.clear();
  peer.head_at = 0;
  peer.unsent_number = peer.out_number;
  if (!std::exchange(peer.is_opened, true)) peer.head = one.opening;
  const std::size_t total = one.operation->bytes_to(peer.rank);
  if (peer.out_at < total) {
    peer.body = one.operation->ready(peer.rank, peer.out_at);
    if (peer.body.size() > kMostFrameBytes) peer.body = peer.body.first(kMostFrameBytes);
    if (!peer.body.empty())
      put_header(peer.head, {FrameType::kData, static_cast<std::uint32_t>(peer.body.size()), peer.out_number});
    peer.out_at += peer.body.size();
  }
  if (peer.out_at == total) {
    ++peer.out_number;
    peer.is_opened = false;
    peer.out_at = 0;
  }
  return !peer.head.empty();
}

Result<bool> StreamCommunicator::move_in(Peer& peer) {
  bool moved = false;
  for (;;) {
    if (peer.has_ended) {
      if (expects(peer)) return fail(gone(peer));
      return moved;
    }
    if (peer.header_at < kFrameHeaderBytes) {
      const std::size_t got = TFD_TRY(receive(peer, std::span(peer.header).subspan(peer.header_at)));
      peer.header_at += got;
      if (peer.has_ended) continue;
      if (got == 0) return moved;
      moved = true;
      if (peer.header_at < kFrameHeaderBytes) continue;
      const Result<FrameHeader> frame = parse_header(as_text(peer.header));
      if (!frame) return fail(nonsense(peer, frame.error().message));
      peer.frame = *frame;
      peer.body_at = 0;
    }
    if (!TFD_TRY(move_frame(peer))) return moved;
    moved = true;
    if (peer.frame.type == FrameType::kData && peer.header_at == 0) return true;  // in turns with the others
  }
}

/// Takes bytes, or notes that no more will come.
Result<std::size_t> StreamCommunicator::receive(Peer& peer, std::span<std::byte> to) {
  const Result<std::size_t> got = peer.stream->receive(to);
  if (got) return *got;
  if (got.error().code != Code::kUnavailable) return fail(nonsense(peer, got.error().message));
  peer.has_ended = true;
  return 0;
}

/// Moves on in the body of a frame. False: it can't now.
Result<bool> StreamCommunicator::move_frame(Peer& peer) {
  const FrameHeader& frame = peer.frame;
  if (frame.type == FrameType::kData) {
    if (!peer.was_heard || frame.number != peer.in_number) return fail(nonsense(peer, "bytes that belong to nothing"));
    Begun& one = begun(peer.in_number);
    if (one.differs) return false;
    if (frame.size - peer.body_at > one.operation->bytes_from(peer.rank) - peer.in_at)
      return fail(nonsense(peer, "more bytes than the operation has"));
    std::span<std::byte> room = one.operation->room(peer.rank, peer.in_at);
    room = room.first(std::min<std::size_t>(room.size(), frame.size - peer.body_at));
    if (room.empty()) return false;
    const std::size_t got = TFD_TRY(receive(peer, room));
    if (got == 0) return peer.has_ended;
    peer.body_at += got;
    peer.in_at += got;
    one.operation->arrived(peer.rank, peer.in_at);
    if (peer.body_at == frame.size) peer.header_at = 0;
    end_if_complete(peer);
    return true;
  }
  if (frame.type == FrameType::kCall) {
    if (peer.was_heard || frame.number != peer.in_number) return fail(nonsense(peer, "a collective out of its turn"));
    if (peer.in_number == next_) return false;  // not begun here; the next ones' bytes wait in the socket
  }
  peer.text.resize(frame.size);
  const std::size_t got = TFD_TRY(receive(peer, std::as_writable_bytes(std::span(peer.text)).subspan(peer.body_at)));
  if (got == 0) return peer.has_ended;
  peer.body_at += got;
  if (peer.body_at < frame.size) return true;
  peer.header_at = 0;
  if (frame.type == FrameType::kAbort) return fail(decode_abort(peer.text));
  TFD_TRY(take_call(peer));
  return true;
}

Result<void> StreamCommunicator::take_call(Peer& peer) {
  ByteReader in(peer.text);
  const auto encoded = in.read<std::string_view>();
  if (!in.is_good() || encoded.size() > kMostCallBytes) return fail(nonsense(peer, "no description of a collective"));
  Begun& one = begun(peer.in_number);
  one.calls[static_cast<std::size_t>(peer.rank)] = encoded;
  peer.was_heard = true;
  if (encoded != one.operation->encoded()) {
    one.differs = true;
    return {};
  }
  if (Result<void> heard = one.operation->hear(peer.rank, in.rest()); !heard)
    return fail(nonsense(peer, heard.error().message).within(format_call(one.operation->call())));
  end_if_complete(peer);
  return {};
}

void StreamCommunicator::end_if_complete(Peer& peer) {
  if (peer.in_at < begun(peer.in_number).operation->bytes_from(peer.rank)) return;
  ++peer.in_number;
  peer.in_at = 0;
  peer.was_heard = false;
}

/// True if all is here that streams bring of a collective.
bool StreamCommunicator::has_arrived(std::uint64_t number) const {
  return std::ranges::all_of(peers_, [&](const Peer& peer) { return peer.in_number > number; });
}

bool StreamCommunicator::is_complete(std::uint64_t number) const {
  if (link_ && !begun(number).is_done_outside) return false;
  return std::ranges::all_of(peers_, [&](const Peer& peer) {
    return peer.in_number > number && peer.out_number > number && !(peer.has_unsent() && peer.unsent_number <= number);
  });
}

/// Whether bytes could be taken from the peer now.
bool StreamCommunicator::is_reading(Peer& peer) {
  if (peer.has_ended) return false;
  if (peer.header_at < kFrameHeaderBytes || peer.frame.type == FrameType::kAbort) return true;
  if (peer.in_number == next_) return false;
  Begun& one = begun(peer.in_number);
  if (peer.frame.type == FrameType::kCall) return true;
  return !one.differs && !one.operation->room(peer.rank, peer.in_at).empty();
}

/// The members without which a collective doesn't end.
std::vector<int> StreamCommunicator::missing(std::uint64_t number) const {
  std::vector<int> silent, behind, deaf;
  for (const Peer& peer : peers_) {
    if (peer.in_number > number) {
      if (peer.out_number <= number || (peer.has_unsent() && peer.unsent_number <= number)) deaf.push_back(peer.rank);
      continue;
    }
    behind.push_back(peer.rank);
    Operation& operation = *begun(number).operation;
    // Bytes without room here may have come long ago: they wait for others.
    const bool owes = peer.in_at < operation.owed_by(peer.rank) && !operation.room(peer.rank, peer.in_at).empty();
    if (peer.in_number < number || !peer.was_heard || owes) silent.push_back(peer.rank);
  }
  std::vector<int>& out = !silent.empty() ? silent : !behind.empty() ? behind : deaf;
  std::ranges::sort(out);
  return out;
}

std::string StreamCommunicator::names_of(const std::vector<int>& ranks) const {
  if (ranks.empty()) return "an end of what all have begun in MPI";
  std::string out;
  for (const int one : ranks) out += (out.empty() ? "" : ", ") + members().all[static_cast<std::size_t>(one)].name;
  return out;
}

/// Waits until bytes can move, and counts the awaited members.
void StreamCommunicator::sleep(std::uint64_t number, Clock::time_point until) {
  const auto began = Clock::now();
  poll_streams(until);
  const Duration slept = Clock::now() - began;
  const std::vector<int> late = missing(number);
  if (late.size() == 1) traffic_.waited_for[static_cast<std::size_t>(late[0])] += slept;
}

void StreamCommunicator::poll_streams(Clock::time_point until) {
  std::vector<pollfd> items{{wake_.get(), POLLIN, 0}};
  std::vector<Stream*> sleeping;
  bool can_move = false;
  for (Peer& peer : peers_) {
    const bool reads = is_reading(peer);
    if (!reads && !peer.must_write) continue;
    items.push_back({peer.stream->fd(), peer.stream->events(reads, peer.must_write), 0});
    sleeping.push_back(peer.stream.get());
    can_move = !peer.stream->prepare_to_sleep(reads, peer.must_write) || can_move;
  }
  if (!can_move) ::poll(items.data(), items.size(), Deadline::at(until).poll_ms());
  for (Stream* stream : sleeping) stream->wake_up();
}

/// A peer's connection has ended: because of the error that it says last, if it says one.
Error StreamCommunicator::gone(Peer& peer) {
  if (auto said = last_words(peer)) return *std::move(said);
  const std::string& name = members().all[static_cast<std::size_t>(peer.rank)].name;
  return {Code::kUnavailable, fmt::format("{} is lost (its connection has ended)", name), name};
}

/// Reads all that a peer has sent, to throw it away; the error that it says last, if it says one.
std::optional<Error> StreamCommunicator::last_words(Peer& peer) {
  std::vector<std::byte> rest(kMostFrameBytes);
  while (!peer.has_ended) {
    const bool in_header = peer.header_at < kFrameHeaderBytes;
    const std::span<std::byte> to = in_header ? std::span(peer.header).subspan(peer.header_at)
                                              : std::span(rest).first(peer.frame.size - peer.body_at);
    const Result<std::size_t> got = peer.stream->receive(to);
    if (!got || *got == 0) break;
    (in_header ? peer.header_at : peer.body_at) += *got;
    if (in_header && peer.header_at == kFrameHeaderBytes) {
      const Result<FrameHeader> frame = parse_header(as_text(peer.header));
      if (!frame) break;
      peer.frame = *frame;
      peer.body_at = 0;
      peer.text.clear();
    }
    if (in_header) continue;
    if (peer.frame.type == FrameType::kAbort) peer.text += as_text(to.first(*got));
    if (peer.body_at < peer.frame.size) continue;
    if (peer.frame.type == FrameType::kAbort) return decode_abort(peer.text);
    peer.header_at = 0;
  }
  return std::nullopt;
}

Error StreamCommunicator::nonsense(const Peer& peer, std::string_view why) const {
  const std::string& name = members().all[static_cast<std::size_t>(peer.rank)].name;
  return {Code::kInvalidArgument, fmt::format("{}: {}", name, why), name};
}

Error StreamCommunicator::end_with(Error error, Duration linger) {
  if (failed_) return *failed_;
  failed_ = std::move(error);
  const std::string abort = encode_abort(*failed_);
  std::vector<std::byte> rest(kMostFrameBytes);
  std::vector<Peer*> open;
  for (Peer& peer : peers_) {
    // A frame that is under way is sent whole; after it, why there are no more.
    if (peer.head_at == 0 && peer.has_unsent()) {
      peer.head.clear();
      peer.body = {};
    }
    open.push_back(&peer);
  }
  std::vector<bool> was_told(peers_.size());
  const Deadline until = Deadline::after(linger);
  for (;;) {
    std::vector<pollfd> items;
    bool can_move = false;
    std::erase_if(open, [&](Peer* peer) TFD_REQUIRES(driving_) {
      const auto at = static_cast<std::size_t>(peer - peers_.data());
      for (;;) {
        if (!peer->has_unsent()) {
          if (was_told[at]) break;
          was_told[at] = true;
          peer->head = abort;
          peer->head_at = 0;
        }
        const auto head = std::as_bytes(std::span(peer->head)).subspan(peer->head_at);
        const Result<std::size_t> sent = peer->stream->send(head, peer->body);
        if (!sent) return true;
        const std::size_t of_head = std::min(*sent, head.size());
        peer->head_at += of_head;
        peer->body = peer->body.subspan(*sent - of_head);
        if (*sent == 0 && peer->has_unsent()) break;
      }
      if (was_told[at] && !peer->has_unsent()) ::shutdown(peer->stream->fd(), SHUT_WR);
      // Later bytes are discarded: closing a socket with unread bytes would take the peer the reason.
      for (;;) {
        const Result<std::size_t> got = peer->stream->receive(rest);
        if (!got) return true;
        if (*got == 0) break;
      }
      const bool writes = peer->has_unsent();
      can_move = !peer->stream->prepare_to_sleep(true, writes) || can_move;
      items.push_back({peer->stream->fd(), peer->stream->events(true, writes), 0});
      return false;
    });
    if (open.empty() || until.expired()) break;
    if (!can_move) ::poll(items.data(), items.size(), until.poll_ms());
    for (Peer* peer : open) peer->stream->wake_up();
  }
  begun_.clear();
  first_ = next_;
  return *failed_;
}

}  // namespace tfd::collective
