// SPDX-License-Identifier: Apache-2.0
#include "core.hpp"

#include <algorithm>

#include "tfd/base/units.hpp"

namespace tfd::transport {
namespace {

constexpr Duration kLeastBackOff = std::chrono::milliseconds(10);
constexpr Duration kMostBackOff = std::chrono::milliseconds(500);
constexpr Duration kAttemptSpacing = std::chrono::microseconds(500);  // on average, where a thousand peers are away
// Time for an attempt to connect and complete the handshake; a task that doesn't serve its socket yet may be slow.
constexpr Duration kAttempt = std::chrono::seconds(12);

}  // namespace

Core::Peer* Core::find_peer(PeerId id) {
  const auto found = peers_.find(static_cast<std::uint32_t>(id));
  return found == peers_.end() ? nullptr : found->second.get();
}

Clock::time_point Core::moved(PeerId id) {
  const Peer* peer = find_peer(id);
  const Link* link = peer == nullptr ? nullptr : find_link(peer->link);
  return link == nullptr ? Clock::time_point() : link->moved;
}

void Core::begin_peer(PeerId id, std::string name, std::string address, PeerOptions options) {
  if (is_closing_) return;
  auto peer = std::make_unique<Peer>();
  peer->id = id;
  peer->name = std::move(name);
  peer->address = std::move(address);
  peer->options = options;
  peer->back_off = kLeastBackOff;
  peer->reason = "no answer";
  Peer& kept = *peer;
  peers_[static_cast<std::uint32_t>(id)] = std::move(peer);
  publish(kept);
  connect(kept);
}

void Core::end_peer(PeerId id, Code code, const std::string& why) {
  Peer* peer = find_peer(id);
  if (peer == nullptr) return;
  if (peer->link != LinkId::kNone) {
    wire_->disconnect(peer->link);
    drop_link(peer->link);
  }
  drop_second(*peer);
  const auto gone = std::move(peers_.extract(static_cast<std::uint32_t>(id)).mapped());
  const bool was_up = is_standing(gone->state);
  gone->state = PeerState::kLost;
  gone->loss = why;
  fail_all(*gone, code, fmt::format("{} {}", gone->name, why));
  if (was_up) tell(*gone);
}

Core::Peer* Core::peer_of(LinkId link) {
  const auto found = peer_of_link_.find(link);
  return found == peer_of_link_.end() ? nullptr : find_peer(found->second);
}

LinkId Core::begin_link(const Peer& peer) {
  const LinkId id = wire_->connect(peer.address);
  peer_of_link_.emplace(id, peer.id);
  Link& link = open_link(id);
  const std::string offer = wire_->offer(id);
  link.control({.type = FrameType::kHello, .incarnation = options_.incarnation}, encode_hello(options_.name, offer));
  mark_dirty(link);
  return id;
}

void Core::connect(Peer& peer) {
  const std::uint64_t attempt = peer.attempt = ++attempts_;
  peer.link = begin_link(peer);
  at(Clock::now() + kAttempt, [this, id = peer.id, attempt] {
    Peer* tried = find_peer(id);
    if (tried == nullptr || tried->attempt != attempt || is_standing(tried->state)) return;
    const LinkId old = tried->link;
    if (old == LinkId::kNone) return;
    wire_->disconnect(old);
    drop_link(old);
    retry(*tried, tried->reason);
  });
}

void Core::retry(Peer& peer, const std::string& reason) {
  peer.link = LinkId::kNone;
  peer.reason = reason;
  peer.refused.reset();
  publish(peer);
  ++pauses_;
  const Duration most = std::max<Duration>(kMostBackOff, kAttemptSpacing * static_cast<std::int64_t>(pauses_));
  const Duration pause = std::min(peer.back_off, most);
  at(Clock::now() + pause, [this, id = peer.id, attempt = peer.attempt] {
    --pauses_;
    Peer* again = find_peer(id);
    if (again != nullptr && again->attempt == attempt && again->link == LinkId::kNone) connect(*again);
  });
  peer.back_off = std::min(2 * pause, most);
}

void Core::on_up(Peer& peer, Link& link) {
  peer.state = PeerState::kUp;
  peer.incarnation = link.incarnation;
  peer.reason.clear();
  peer.refused.reset();
  peer.complaint.clear();
  peer.doubts = 0;
  peer.is_gone = false;
  peer.back_off = kLeastBackOff;
  if (options_.heartbeat_interval > Duration::zero()) send_ping(link);
  publish(peer);
  options_.log.debug("{} is up at {}", peer.name, peer.address);
  for (const std::uint64_t id : std::exchange(peer.unsent, {}))
    if (const auto found = peer.pending.find(id); found != peer.pending.end()) send_request(peer, id, found->second);
  tell(peer);
}

void Core::on_lost(Peer& peer, const std::string& reason, bool is_gone) {
  wire_->disconnect(peer.link);
  drop_link(peer.link);
  drop_second(peer);
  const bool was_up = is_standing(peer.state);
  if (was_up) {
    peer.state = PeerState::kLost;
    peer.loss = reason;
    peer.is_gone = is_gone;
  } else if (is_gone && peer.state == PeerState::kLost && !std::exchange(peer.is_gone, true)) {
    on_gone(peer, reason);
  }
  const PeerId id = peer.id;
  retry(peer, reason);
  if (!was_up) return;
  const std::string news =
      fmt::format("{} {}", peer.name, reason == kFarewell ? "has said goodbye" : "is lost: " + reason);
  options_.log.info("{}", news);
  fail_all(peer, Code::kUnavailable, news);
  if (Peer* still = find_peer(id)) tell(*still);
}

/// Handles proof that the process of a lost peer has ended; until then its network could have been the cause.
void Core::on_gone(Peer& peer, const std::string& reason) {
  options_.log.debug("{} is gone: {}", peer.name, reason);
  peer.loss = reason;
  tell(peer);
}

/// Handles a peer that answers but refuses us: waiting callers fail at once. Connecting is retried, for another process
/// may take its place.
void Core::refuse(PeerId id, LinkId link, Code code, const std::string& reason) {
  const bool is_news = find_peer(id)->refused != code;
  on_closed(link, reason);
  Peer* peer = find_peer(id);
  if (peer == nullptr || peer->reason != reason) return;
  peer->refused = code;
  publish(*peer);
  fail_all(*peer, code, fmt::format("{} {}", peer->name, reason));
  if (is_news && (peer = find_peer(id)) != nullptr && peer->state == PeerState::kConnecting) tell(*peer);
}

void Core::publish(const Peer& peer) {
  {
    const MutexLock lock(cards_mutex_);
    PeerCard& card = cards_[static_cast<std::size_t>(peer.id)];
    card.state = peer.state;
    card.incarnation = peer.incarnation;
    card.reason = peer.reason;
    card.refused = peer.refused;
  }
  cards_changed_.notify_all();
}

void Core::tell(const Peer& peer) {
  if (!options_.on_peer || is_closing_) return;
  const bool has_reason = peer.state == PeerState::kSilent || peer.refused;
  const std::string reason = peer.state == PeerState::kLost ? peer.loss : has_reason ? peer.reason : "";
  const bool is_gone = peer.state == PeerState::kLost && peer.is_gone;
  options_.on_peer({peer.id, peer.name, peer.state, peer.incarnation, reason, peer.refused, is_gone});
}

void Core::fail_all(Peer& peer, Code code, const std::string& message) {
  // Taken out first: callbacks may ask again at once.
  std::unordered_map<std::uint64_t, Pending> pending = std::exchange(peer.pending, {});
  peer.unsent.clear();
  in_flight_ -= pending.size();
  std::vector<std::uint64_t> ids;
  ids.reserve(pending.size());
  for (const auto& [id, request] : pending) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  const std::string name = peer.name;
  for (const std::uint64_t id : ids) pending.at(id).callback(fail(Error{code, message, name}));
}

void Core::start_request(RequestItem& item) {
  Peer* peer = find_peer(item.peer);
  if (is_closing_)
    return item.callback(fail(Error{Code::kCancelled, "the endpoint was closed", peer ? peer->name : ""}));
  if (peer == nullptr) return item.callback(fail(Code::kNotFound, "no such peer"));
  if (peer->refused)
    return item.callback(fail(Error{*peer->refused, fmt::format("{} {}", peer->name, peer->reason), peer->name}));
  if (peer->state == PeerState::kLost)
    return item.callback(
        fail(Error{Code::kUnavailable, fmt::format("{} is lost: {}", peer->name, peer->loss), peer->name}));
  if (item.deadline.expired())
    return item.callback(
        fail(Error{Code::kDeadlineExceeded, fmt::format("no time left to ask {}", peer->name), peer->name}));
  const std::uint64_t id = next_request_++;
  Pending pending{item.deadline, Clock::now(), std::move(item.callback), std::move(item.message)};
  if (!item.deadline.is_never()) {
    deadlines_.add(item.deadline.when(), {peer->id, id});
    deadlines_.sweep(in_flight_, [this](const Due& due) {
      const Peer* asked = find_peer(due.peer);
      return asked != nullptr && asked->pending.contains(due.id);
    });
  }
  const auto kept = peer->pending.emplace(id, std::move(pending)).first;
  ++in_flight_;
  if (is_standing(peer->state))
    send_request(*peer, id, kept->second);
  else
    peer->unsent.push_back(id);
}

void Core::send_request(Peer& peer, std::uint64_t id, Pending& pending) {
  const FrameHeader header{.type = FrameType::kRequest,
                           .flags = static_cast<std::uint16_t>(pending.message.may_lend ? kMayLend : kNoFlags),
                           .kind = pending.message.kind,
                           .id = id,
                           .incarnation = peer.incarnation,
                           .epoch = pending.message.epoch};
  Result<EncodedMessage> encoded = encode_message(header, pending.message);
  pending.message = {};
  if (!encoded) return finish_request(peer, id, fail(std::move(encoded).error()));
  Link* link = find_link(peer.link);
  if (link == nullptr) return;
  // A deadline that counts from the last byte is enforced on this side: the peer doesn't know when that moved.
  const bool is_fixed = !peer.options.deadlines_wait_for_bytes;
  link->queue(id, is_fixed ? pending.deadline : Deadline::never(), std::move(*encoded));
  mark_dirty(*link);
}

void Core::finish_request(Peer& peer, std::uint64_t id, Result<Message> answer) {
  auto found = peer.pending.extract(id);
  if (found.empty()) return;
  --in_flight_;
  found.mapped().callback(std::move(answer));
}

void Core::on_deadline(Due due) {
  Peer* peer = find_peer(due.peer);
  if (peer == nullptr) return;
  const auto found = peer->pending.find(due.id);
  if (found == peer->pending.end()) return;
  Link* const link = find_link(peer->link);
  if (link != nullptr && is_standing(peer->state) && peer->options.deadlines_wait_for_bytes) {
    const Pending& pending = found->second;
    const auto later = std::max(link->moved, pending.asked) + (pending.deadline.when() - pending.asked);
    if (later > Clock::now()) return deadlines_.add(later, due);
  }
  if (link != nullptr) {
    link->cancel(due.id);
    link->drop_partial(due.id);
    mark_dirty(*link);
  }
  const std::string waited = rounded_duration(Clock::now() - found->second.asked);
  std::string message = fmt::format("no answer from {} within {}", peer->name, waited);
  if (peer->state != PeerState::kUp && !peer->reason.empty()) message += fmt::format(" ({})", peer->reason);
  finish_request(*peer, due.id, fail(Error{Code::kDeadlineExceeded, std::move(message), peer->name}));
}

}  // namespace tfd::transport
