// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core.hpp"
#include "tfd/base/units.hpp"

namespace tfd::transport {
namespace {

constexpr Duration kPingSpacing = std::chrono::milliseconds(3);       // on average, over all links
constexpr Duration kAwaitedSpacing = std::chrono::microseconds(250);  // the same of peers that are awaited
constexpr Duration kSecondAttempt = std::chrono::seconds(12);         // as long as the first one may take
constexpr Duration kUntilRead = std::chrono::milliseconds(5);         // to read arrived data, before silence is counted
constexpr Duration kResumes = std::chrono::seconds(1);                // beyond TCP's wait
constexpr int kCallersSilence = 4;                                    // intervals, until a caller is pinged

/// When a connection that was cut has gone on, if it does: TCP repeats what it has sent after as long again as it has
/// waited for an answer. `seen`: when its process was heard of over another connection.
Clock::time_point goes_on_by(const Link& silent, Clock::time_point seen) {
  return seen + std::max<Duration>((seen - *silent.pinged) * 5 / 4, Duration::zero()) + kResumes;
}

}  // namespace

// Pings are sent on links that were silent for an interval. With thousands of links the interval is longer, but for
// peers that are awaited no more than twice as long: an idle cluster costs next to nothing, and the silence of one that
// works is noticed almost as soon in a cluster of any size. Callers ping us: one that is later than it says is pinged.
Duration Core::ping_interval() const {
  return std::max<Duration>(options_.heartbeat_interval, kPingSpacing * static_cast<std::int64_t>(links_.size()));
}

Duration Core::awaited_ping_interval() const {
  return std::clamp<Duration>(kAwaitedSpacing * static_cast<std::int64_t>(links_.size()), options_.heartbeat_interval,
                              2 * options_.heartbeat_interval);
}

void Core::check_liveness() {
  const Clock::time_point now = Clock::now();
  // Not forever: an endpoint that is never done reading must notice silence, too.
  if (more_to_receive_ && now - checked_ < 2 * options_.heartbeat_interval)
    return at(now + kUntilRead, [this] { check_liveness(); });
  const Duration interval = ping_interval(), awaited_interval = awaited_ping_interval();
  // This process, or its host, was suspended, or had no processor: peers couldn't be heard, so that time doesn't count.
  const Duration away = now - std::exchange(checked_, now) - options_.heartbeat_interval;
  const bool was_away = away > options_.heartbeat_interval + kUntilRead;
  std::vector<LinkId> silent;
  for (const auto& [id, link] : links_) {
    if (!link->greeted && !link->is_bad) continue;
    if (was_away && link->pinged) link->pinged = std::min(now, *link->pinged + away);
    if (is_silent(*link, now)) silent.push_back(id);
    const Duration quiet = is_accepted(id)
                               ? std::max(kCallersSilence * options_.heartbeat_interval, 2 * link->ping_interval)
                           : is_awaited(id) ? awaited_interval
                                            : interval;
    if (link->pinged || now - link->heard < quiet) continue;
    link->pinged = now;
    send_ping(*link);
  }
  for (const LinkId id : silent) on_silent(id, now);
  at(now + options_.heartbeat_interval, [this] { check_liveness(); });
}

// True for a peer that holds a request of ours, or whose state matters as much.
bool Core::is_awaited(LinkId id) {
  const Peer* peer = peer_of(id);
  return peer != nullptr && peer->link == id && (peer->options.is_awaited || !peer->pending.empty());
}

// A ping states when the next one comes at the latest; until well after that the other side needn't send its own.
void Core::send_ping(Link& link) {
  const auto interval = std::chrono::duration_cast<std::chrono::milliseconds>(ping_interval());
  link.control({.type = FrameType::kPing, .position = static_cast<std::uint64_t>(interval.count())});
  mark_dirty(link);
}

bool Core::is_silent(Link& link, Clock::time_point now) const {
  if (!link.pinged) return false;
  const Duration answer_within =
      is_accepted(link.id()) ? options_.caller_timeout : options_.heartbeat_timeout - options_.heartbeat_interval;
  return now - *link.pinged >= answer_within;
}

void Core::on_silent(LinkId id, Clock::time_point now) {
  Link* link = find_link(id);
  if (is_accepted(id)) {
    const auto seen = link == nullptr ? std::nullopt : seen_elsewhere(*link);
    if (!seen || now >= goes_on_by(*link, *seen)) on_closed(id, "silent");
    return;
  }
  Peer* peer = peer_of(id);
  if (link == nullptr || peer == nullptr || peer->link != id) return;
  const Duration most = options_.heartbeat_timeout + peer->options.patience;
  const Duration silent_for = now - *link->pinged + options_.heartbeat_interval;
  const Link* second = find_link(peer->second);
  if (second != nullptr && second->greeted) {
    if (now >= goes_on_by(*link, peer->second_since)) on_lost(*peer, "the connection broke", false);
    return;
  }
  if (silent_for >= most) return on_lost(*peer, fmt::format("{}{}", kNoHeartbeat, format_duration(most)), false);
  if (peer->state == PeerState::kUp) {
    peer->state = PeerState::kSilent;
    peer->reason = fmt::format("{}{}", kNoHeartbeat, format_duration(options_.heartbeat_timeout));
    publish(*peer);
    options_.log.info("{} is silent: {}", peer->name, peer->reason);
    tell(*peer);
  }
  look_for(*peer, now);
}

// Handles the first sign of life from a pinged link.
void Core::on_answer(LinkId id) {
  if (is_accepted(id)) return end_pings(id, true);
  Peer* peer = peer_of(id);
  if (peer != nullptr && peer->link == id) on_heard(*peer);
}

void Core::on_heard(Peer& peer) {
  drop_second(peer);
  if (peer.state != PeerState::kSilent) return;
  peer.state = PeerState::kUp;
  peer.reason.clear();
  publish(peer);
  options_.log.info("{} answers again", peer.name);
  tell(peer);
}

// When the process of this silent connection has come by another one since.
std::optional<Clock::time_point> Core::seen_elsewhere(const Link& silent) const {
  std::optional<Clock::time_point> seen;
  for (const auto& [id, link] : links_)
    if (is_accepted(id) && link->greeted && link->incarnation == silent.incarnation && link->greeted_at > silent.pinged)
      seen = std::max(seen, std::optional(link->greeted_at));
  return seen;
}

// A frozen process and a cut cable look alike, and a connection may be dead without either side knowing. A second one
// tells: refused by this host's kernel, the process has ended; refused by another host, or by what stands between, it
// is as silent as before; greeted by another incarnation, it was replaced; greeted by the same one, the
// cable is whole, and the first connection is dead unless it goes on soon.
void Core::look_for(Peer& peer, Clock::time_point now) {
  const Link* second = find_link(peer.second);
  if (second != nullptr && now - peer.second_since < kSecondAttempt) return;
  drop_second(peer);
  peer.second = begin_link(peer);
  peer.second_since = now;
}

void Core::on_second_greeting(Peer& peer, Link& link) {
  if (link.incarnation != peer.incarnation) return on_lost(peer, "another process has taken its place", true);
  peer.second_since = Clock::now();
}

bool Core::proves_end(LinkId link, const std::string& reason) {
  return is_nobody_there(reason) && wire_->is_of_this_host(link);
}

void Core::on_second_closed(Peer& peer, const std::string& reason) {
  if (proves_end(peer.second, reason)) return on_lost(peer, reason, true);
  drop_second(peer);
}

void Core::ping_caller(std::uint64_t connection, std::function<void(bool answers)> callback) {
  hand_over(ActionItem{[this, connection, callback = std::move(callback)]() mutable {
    begin_ping(static_cast<LinkId>(connection), std::move(callback));
  }});
}

void Core::begin_ping(LinkId id, std::function<void(bool answers)> callback) {
  Link* link = find_link(id);
  if (link == nullptr || !link->greeted) return callback(false);
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(options_.heartbeat_timeout);
  pings_.emplace(id, CallerPing{until, std::move(callback)});
  if (!link->pinged) link->pinged = Clock::now();
  send_ping(*link);
  at(until, [this, id, until] { end_pings(id, false, until); });
}

// Answers and drops the pings of callers whose deadline is at most `until`.
void Core::end_pings(LinkId id, bool answers, Clock::time_point until) {
  std::vector<std::function<void(bool)>> callbacks;
  const auto [first, last] = pings_.equal_range(id);
  for (auto it = first; it != last;) {
    if (it->second.until <= until) {
      callbacks.push_back(std::move(it->second.callback));
      it = pings_.erase(it);
    } else {
      ++it;
    }
  }
  for (const auto& callback : callbacks) callback(answers);
}

void Core::drop_second(Peer& peer) {
  const LinkId id = std::exchange(peer.second, LinkId::kNone);
  if (id == LinkId::kNone) return;
  wire_->disconnect(id);
  drop_link(id);
}

}  // namespace tfd::transport
