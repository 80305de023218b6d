#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Links of another wire, whose bytes go through shared memory where both processes are this host's and this user's: the
// hello offers it, and a peer that takes it up sends everything from its welcome on that way. The other wire's
// connection stays where it is, and its end, like the end of the other process, is the link's. Thread rule: see Wire.
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "poller.hpp"
#include "ring/ring_door.hpp"
#include "ring/ring_link.hpp"
#include "wire.hpp"

namespace tfd::transport {

class RingWire final : public Wire, private Wire::Sink, private Poller::Watcher {
 public:
  /// `only`: peers that don't take up the offer are refused.
  RingWire(std::unique_ptr<Wire> beyond, std::shared_ptr<Poller> poller, bool only);
  ~RingWire() override { close(); }

  std::string address() const override { return beyond_->address(); }
  LinkId connect(const std::string& address) override { return beyond_->connect(address); }
  bool is_of_this_host(LinkId link) override { return beyond_->is_of_this_host(link); }
  void disconnect(LinkId link) override;
  bool send(LinkId link, Parcel parcel) override;
  void flush(LinkId link) override;
  std::optional<Loan> lend(LinkId link, const std::shared_ptr<const tensor::Storage>& keep,
                           std::span<const std::byte> bytes) override;
  Result<std::shared_ptr<tensor::Storage>> borrow(LinkId link, const Loan& loan, std::size_t bytes) override;
  void forget(LinkId link) override { beyond_->forget(link); }
  void has_greeted(LinkId link) override { beyond_->has_greeted(link); }
  std::string offer(LinkId link) override;
  void take_up(LinkId link, std::string_view offer) override;
  bool receive(Wire::Sink& sink, int most) override;
  void wait(Clock::time_point until) override;
  void close() override;

 private:
  struct Ring {
    std::unique_ptr<RingLink> link;
    bool is_hot = false;   // looked at without being woken
    bool is_gone = false;  // dropped, perhaps while one of its messages is being handled
  };
  using RingPtr = std::shared_ptr<Ring>;  // with a loop over hot ones

  RingPtr find(LinkId link) const;
  /// False: it can't be watched; its end is closed.
  bool add(std::unique_ptr<RingLink> link);
  void drop(LinkId link);
  void heat(const RingPtr& ring);
  /// Has those that have nothing to read wait for their bells.
  void cool();
  void let_in();
  /// Hands over at most `most` messages of a ring, and how many it were.
  int receive_from(Ring& ring, int most);
  void end(Ring& ring, const std::string& reason);

  /// A bell, which says that its ring is worth a look, or the door's.
  void on_ready(std::uint64_t whose, std::uint32_t events) override;

  // Events of the other wire.
  void on_message(LinkId link, std::span<const std::byte> bytes) override;
  Place place_piece(LinkId link, std::size_t size) override { return sink_->place_piece(link, size); }
  void on_piece(LinkId link, std::span<const std::byte> bytes, std::shared_ptr<const void> keep) override {
    sink_->on_piece(link, bytes, std::move(keep));
  }
  void on_closed(LinkId link, const std::string& reason) override;
  void on_refused(LinkId link, const std::string& reason, bool certain) override;
  void on_stands(LinkId link) override { sink_->on_stands(link); }

  std::unique_ptr<Wire> beyond_;
  std::shared_ptr<Poller> poller_;  // with `beyond`
  bool only_;
  std::unique_ptr<RingDoor> door_;  // once something was offered
  bool at_the_door_ = false;        // somebody is
  bool offers_ = true;              // false: no descriptors are left for it
  std::size_t most_rings_;
  std::unordered_map<LinkId, RingPtr> rings_;
  std::vector<RingPtr> hot_;
  Wire::Sink* sink_ = nullptr;  // of the receive() that runs
};

}  // namespace tfd::transport
