// SPDX-License-Identifier: Apache-2.0
#include "ring/ring_wire.hpp"

#include <algorithm>
#include <string_view>

#include "tfd/base/descriptors.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::transport {
namespace {

constexpr std::size_t kMostRings = 512;  // 2 MiB each; of the descriptors peers on other hosts need some, too
constexpr std::size_t kMostHot = 16;     // that are looked at in vain: of more, each one waits for its bell
constexpr Duration kLinger = std::chrono::milliseconds(250);

}  // namespace

RingWire::RingWire(std::unique_ptr<Wire> beyond, std::shared_ptr<Poller> poller, bool only)
    : beyond_(std::move(beyond)),
      poller_(std::move(poller)),
      only_(only),
      most_rings_(share_of_descriptors(kMostRings)) {}

RingWire::RingPtr RingWire::find(LinkId link) const {
  if (rings_.empty()) return nullptr;
  const auto found = rings_.find(link);
  return found == rings_.end() ? nullptr : found->second;
}

bool RingWire::add(std::unique_ptr<RingLink> link) {
  const auto whose = static_cast<std::uint64_t>(link->id());
  if (!poller_->add(link->fd(), EPOLLIN | EPOLLRDHUP | EPOLLET, this, whose)) return false;
  tensor::SharedHeap::make();  // so that tensors made from now on can be lent
  const auto ring = std::make_shared<Ring>();
  ring->link = std::move(link);
  rings_[ring->link->id()] = ring;
  heat(ring);
  return true;
}

void RingWire::drop(LinkId link) {
  if (door_) door_->withdraw(link);
  const RingPtr ring = find(link);
  if (!ring) return;
  ring->is_gone = true;
  poller_->remove(ring->link->fd());
  std::erase(hot_, ring);
  rings_.erase(link);
  ring->link->loans().leave_behind();
}

void RingWire::heat(const RingPtr& ring) {
  if (std::exchange(ring->is_hot, true)) return;
  hot_.push_back(ring);
}

void RingWire::disconnect(LinkId link) {
  drop(link);
  beyond_->disconnect(link);
}

bool RingWire::send(LinkId link, Parcel parcel) {
  const RingPtr ring = find(link);
  if (!ring) return beyond_->send(link, std::move(parcel));
  if (!ring->link->send(std::move(parcel))) {
    drop(link);
    return false;
  }
  if (ring->link->has_unsent()) heat(ring);
  return true;
}

std::optional<Loan> RingWire::lend(LinkId link, const std::shared_ptr<const tensor::Storage>& keep,
                                   std::span<const std::byte> bytes) {
  const RingPtr ring = find(link);
  return ring ? ring->link->loans().lend(keep, bytes) : std::nullopt;
}

Result<std::shared_ptr<tensor::Storage>> RingWire::borrow(LinkId link, const Loan& loan, std::size_t bytes) {
  const RingPtr ring = find(link);
  return ring ? ring->link->loans().borrow(loan, bytes) : Wire::borrow(link, loan, bytes);
}

void RingWire::flush(LinkId link) {
  if (const RingPtr ring = find(link)) ring->link->announce();
}

std::string RingWire::offer(LinkId link) {
  if (is_accepted(link)) return find(link) ? std::string() : beyond_->offer(link);
  if (!offers_ || rings_.size() + (door_ ? door_->offers() : 0) >= most_rings_) return {};
  if (!door_) {
    Result<std::unique_ptr<RingDoor>> door = RingDoor::open(*poller_, *this);
    if (!(offers_ = door.has_value())) return {};
    door_ = std::move(*door);
  }
  return door_->offer(link);
}

void RingWire::take_up(LinkId link, std::string_view offer) {
  if (!is_accepted(link)) return beyond_->take_up(link, offer);
  if (rings_.size() >= most_rings_ || find(link)) return;
  if (Result<std::unique_ptr<RingLink>> ring = RingDoor::enter(offer, link)) add(std::move(*ring));
}

void RingWire::let_in() {
  if (!door_) return;
  Result<std::vector<std::unique_ptr<RingLink>>> in = door_->let_in();
  for (; in && !in->empty(); in = door_->let_in())
    for (std::unique_ptr<RingLink>& link : *in) {
      const LinkId id = link->id();
      if (add(std::move(link))) continue;
      beyond_->disconnect(id);
      sink_->on_closed(id, "no descriptor or memory is left");
    }
  if (in) return;
  // Connections that wait behind the door are dropped, and come again over the network.
  offers_ = false;
  const std::vector<LinkId> waiting = door_->waiting();
  door_.reset();
  for (const LinkId link : waiting) {
    beyond_->disconnect(link);
    sink_->on_closed(link, in.error().message);
  }
}

void RingWire::on_ready(std::uint64_t whose, std::uint32_t events) {
  if (whose == 0) {
    at_the_door_ = true;
  } else if (const RingPtr ring = find(static_cast<LinkId>(whose))) {
    ring->link->on_bell((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
    heat(ring);
  }
}

int RingWire::receive_from(Ring& ring, int most) {
  const LinkId id = ring.link->id();
  for (int got = 0; got < most; ++got) {
    const Result<std::optional<RingLink::Record>> record = ring.link->next();
    if (!record) {
      end(ring, record.error().message);
      return got;
    }
    if (!*record) {
      if (ring.link->has_ended()) end(ring, std::string(kConnectionReset));
      return got;
    }
    if ((*record)->is_piece)
      sink_->on_piece(id, (*record)->bytes, nullptr);
    else
      sink_->on_message(id, (*record)->bytes);
    if (ring.is_gone) return got;
    ring.link->done();
  }
  return most;
}

void RingWire::end(Ring& ring, const std::string& reason) {
  const LinkId id = ring.link->id();
  disconnect(id);
  sink_->on_closed(id, reason);
}

bool RingWire::receive(Wire::Sink& sink, int most) {
  sink_ = &sink;
  RingLoans::settle_left_behind();
  if (hot_.size() > kMostHot) cool();
  if (std::exchange(at_the_door_, false)) let_in();
  bool more = false;
  for (std::size_t i = 0; i < hot_.size(); ++i) {  // which may get shorter
    const RingPtr ring = hot_[i];
    if (ring->link->loans().has_lent()) ring->link->loans().settle();
    if (!ring->link->flush())
      end(*ring, "positions of shared memory that can't be");
    else if (receive_from(*ring, most) == most)
      more = true;
  }
  if (beyond_->receive(*this, most)) more = true;
  sink_ = nullptr;
  return more;
}

void RingWire::on_message(LinkId link, std::span<const std::byte> bytes) {
  // The answer came over the network.
  if (door_ && door_->has_offers() && door_->withdraw(link) && only_)
    return sink_->on_refused(link, "isn't on this host, or is another user's, and TFD_TRANSPORT says ring", true);
  sink_->on_message(link, bytes);
}

// Messages that the other process wrote before are still to be read.
void RingWire::on_closed(LinkId link, const std::string& reason) {
  if (const RingPtr ring = find(link)) {
    ring->link->answer_bell();
    for (std::size_t left = RingLink::kRingBytes; left > 0 && !ring->is_gone;) {
      const int got = receive_from(*ring, 1);
      if (got == 0) break;
      left -= std::min<std::size_t>(left, 8);  // a record takes as much at least
    }
    if (ring->is_gone) return;
  }
  drop(link);
  sink_->on_closed(link, reason);
}

void RingWire::on_refused(LinkId link, const std::string& reason, bool certain) {
  drop(link);
  sink_->on_refused(link, reason, certain);
}

void RingWire::cool() {
  std::erase_if(hot_, [](const RingPtr& ring) { return !(ring->is_hot = !ring->link->prepare_to_sleep()); });
}

void RingWire::wait(Clock::time_point until) {
  cool();
  if (hot_.empty()) beyond_->wait(until);
}

void RingWire::close() {
  const Clock::time_point end = Clock::now() + kLinger;
  for (const auto& [id, ring] : rings_) {
    RingLink& link = *ring->link;
    while (link.flush() && link.has_unsent() && !link.has_ended() && Clock::now() < end) {
      if (!link.prepare_to_sleep()) continue;
      pollfd bell{link.fd(), POLLIN, 0};
      poll_until(&bell, 1, end);
      link.answer_bell();
    }
    link.loans().leave_behind();
  }
  hot_.clear();
  rings_.clear();
  door_.reset();
  beyond_->close();
}

}  // namespace tfd::transport
