// SPDX-License-Identifier: Apache-2.0
#include "ring/ring_door.hpp"

#include <sys/socket.h>

#include "frame.hpp"
#include "tfd/base/random.hpp"
#include "tfd/process/local_socket.hpp"

namespace tfd::transport {
namespace {

constexpr std::string_view kPrefix = "tfd-ring-";
constexpr std::size_t kTextBytes = 32;      // 128 random bits in hexadecimal: a name, and a token
constexpr std::size_t kMostVisitors = 512;  // as many as there are offers
constexpr Duration kPatience = std::chrono::seconds(10);

}  // namespace

Result<std::unique_ptr<RingDoor>> RingDoor::open(Poller& poller, Poller::Watcher& wire) {
  std::string name = random_text(kTextBytes / 2);
  process::Fd listener = TFD_TRY(process::listen_locally(std::string(kPrefix) + name));
  TFD_TRY(poller.add(listener.get(), EPOLLIN, &wire));
  return std::unique_ptr<RingDoor>(new RingDoor(poller, wire, std::move(name), std::move(listener)));
}

std::string RingDoor::offer(LinkId link) {
  std::string token = random_text(kTextBytes / 2);
  tokens_[token] = link;
  return name_ + (offered_[link] = std::move(token));
}

bool RingDoor::withdraw(LinkId link) {
  const auto found = offered_.find(link);
  if (found == offered_.end()) return false;
  tokens_.erase(found->second);
  offered_.erase(found);
  return true;
}

std::vector<LinkId> RingDoor::waiting() const {
  std::vector<LinkId> out;
  for (const auto& [link, token] : offered_) out.push_back(link);
  return out;
}

Result<bool> RingDoor::accept_one() {
  for (;;) {
    process::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!socket && errno == EAGAIN) return false;
    if (!socket) return fail(Code::kResourceExhausted, "no descriptor is left");
    if (!process::is_own_user(socket.get())) continue;
    if (!poller_.add(socket.get(), EPOLLIN, &wire_)) continue;
    visitors_.push_back({std::move(socket), Clock::now() + kPatience});
    return true;
  }
}

Result<std::unique_ptr<RingLink>> RingDoor::admit(Visitor& visitor) {
  std::string token(kTextBytes, '\0');
  const auto memory = TFD_TRY(process::receive_with_descriptor(
      visitor.socket.get(), std::as_writable_bytes(std::span(token.data(), token.size()))));
  const auto found = tokens_.find(token);
  if (found == tokens_.end()) return fail(Code::kPermissionDenied, "an unknown token");
  auto rings = process::SharedRings::map(memory, RingLink::kRingBytes, process::SharedRings::Side::kTaker);
  if (!rings && rings.error().code == Code::kResourceExhausted) is_full_ = true;
  if (!rings) return fail(std::move(rings).error());
  const LinkId link = found->second;
  withdraw(link);
  poller_.remove(visitor.socket.get());
  return std::make_unique<RingLink>(link, std::move(visitor.socket), std::move(*rings));
}

bool RingDoor::has_left(Visitor& visitor, std::vector<std::unique_ptr<RingLink>>& in) {
  Result<std::unique_ptr<RingLink>> link = admit(visitor);
  if (link) in.push_back(std::move(*link));
  return link || link.error().code != Code::kUnavailable || Clock::now() >= visitor.until;
}

// Many connections at once don't displace each other: one that has named a token is in before the next is accepted.
Result<std::vector<std::unique_ptr<RingLink>>> RingDoor::let_in() {
  std::vector<std::unique_ptr<RingLink>> in;
  visitors_.remove_if([&](Visitor& visitor) { return has_left(visitor, in); });
  for (;;) {
    const Result<bool> accepted = accept_one();
    is_full_ = is_full_ || !accepted;
    if (is_full_ && in.empty()) return fail(Code::kResourceExhausted, "no descriptor or memory is left");
    if (is_full_ || !*accepted) return in;
    if (has_left(visitors_.back(), in)) visitors_.pop_back();
    if (visitors_.size() > kMostVisitors) visitors_.pop_front();
  }
}

Result<std::unique_ptr<RingLink>> RingDoor::enter(std::string_view offer, LinkId link) {
  if (offer.size() != 2 * kTextBytes) return fail(Code::kInvalidArgument, "not an offer of memory");
  process::Fd socket = TFD_TRY(process::connect_locally(std::string(kPrefix).append(offer.substr(0, kTextBytes))));
  if (!process::is_own_user(socket.get())) return fail(Code::kPermissionDenied, "another user's socket");
  const process::Fd memory = TFD_TRY(process::SharedRings::make_memory(RingLink::kRingBytes));
  auto rings = TFD_TRY(process::SharedRings::map(memory, RingLink::kRingBytes, process::SharedRings::Side::kMaker));
  TFD_TRY(process::send_with_descriptor(socket.get(), as_bytes(offer.substr(kTextBytes)), memory.get()));
  return std::make_unique<RingLink>(link, std::move(socket), std::move(rings));
}

}  // namespace tfd::transport
