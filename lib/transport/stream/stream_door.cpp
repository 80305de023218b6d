// SPDX-License-Identifier: Apache-2.0
#include "stream/stream_door.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "frame.hpp"
#include "tfd/base/random.hpp"
#include "tfd/cluster/address.hpp"
#include "tfd/process/tcp_socket.hpp"

namespace tfd::transport {
namespace {

constexpr std::string_view kKind = "stream";  // the offer begins with it
constexpr std::size_t kMostStreamVisitors = 512;
constexpr Duration kTokenPatience = std::chrono::seconds(10);

std::string random_bytes(std::size_t size) {
  std::string out(size, '\0');
  fill_random(std::as_writable_bytes(std::span(out.data(), out.size())));
  return out;
}

void append(std::string& out, const StreamOffer::Secret& secret) {
  out.append(reinterpret_cast<const char*>(secret.data()), secret.size());
}

}  // namespace

std::string StreamOffer::encode() const {
  std::string out(kKind);
  put<std::uint16_t>(out, port);
  out += token;
  if (secrets) append(out, secrets->of_asker);
  if (secrets) append(out, secrets->of_answerer);
  return out;
}

Result<StreamOffer> StreamOffer::decode(std::string_view text) {
  constexpr std::size_t kPlain = kKind.size() + 2 + kTokenBytes;
  if (!text.starts_with(kKind) || (text.size() != kPlain && text.size() != kPlain + 2 * kSecretBytes))
    return fail(Code::kInvalidArgument, "not an offer of a stream");
  StreamOffer out;
  std::memcpy(&out.port, text.data() + kKind.size(), sizeof out.port);
  out.token = text.substr(kKind.size() + 2, kTokenBytes);
  if (text.size() == kPlain) return out;
  out.secrets.emplace();
  std::memcpy(out.secrets->of_asker.data(), text.data() + kPlain, kSecretBytes);
  std::memcpy(out.secrets->of_answerer.data(), text.data() + kPlain + kSecretBytes, kSecretBytes);
  return out;
}

Result<std::unique_ptr<process::Stream>> StreamOffer::make_stream(process::Fd socket, bool is_asker) const {
  if (!secrets) return process::make_plain_stream(std::move(socket));
  return is_asker ? process::make_sealed_stream(std::move(socket), secrets->of_asker, secrets->of_answerer)
                  : process::make_sealed_stream(std::move(socket), secrets->of_answerer, secrets->of_asker);
}

Result<std::unique_ptr<StreamDoor>> StreamDoor::open(Poller& poller, Poller::Watcher& wire, const std::string& host,
                                                     bool is_sealed) {
  process::TcpListener listener = TFD_TRY(process::listen_by_tcp(host));
  const std::uint16_t port = TFD_TRY(cluster::parse_address(listener.address)).port;
  TFD_TRY(poller.add(listener.socket.get(), EPOLLIN, &wire));
  return std::unique_ptr<StreamDoor>(new StreamDoor(poller, wire, std::move(listener.socket), port, is_sealed));
}

std::string StreamDoor::offer(LinkId link) {
  StreamOffer offer{.port = port_, .token = random_bytes(StreamOffer::kTokenBytes)};
  if (is_sealed_) {
    offer.secrets.emplace();
    fill_random(offer.secrets->of_asker);
    fill_random(offer.secrets->of_answerer);
  }
  std::string text = offer.encode();
  if (offered_.size() >= kMostOffers) withdraw(offered_.begin()->first);
  offered_[link] = offer.token;
  offers_.emplace(offer.token, std::pair(link, offer));
  return text;
}

void StreamDoor::withdraw(LinkId link) {
  const auto found = offered_.find(link);
  if (found == offered_.end()) return;
  offers_.erase(found->second);
  offered_.erase(found);
}

Result<void> StreamDoor::accept_all() {
  while (process::Fd socket = process::accept_connection(listener_.get())) {
    if (!poller_.add(socket.get(), EPOLLIN, &wire_)) continue;
    visitors_.push_back({std::move(socket), Clock::now() + kTokenPatience});
    if (visitors_.size() > kMostStreamVisitors) visitors_.pop_front();
  }
  if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return {};
  return fail(Code::kResourceExhausted, "no descriptor is left");
}

bool StreamDoor::has_left(Visitor& visitor, std::vector<std::unique_ptr<StreamLink>>& in) {
  char bytes[StreamOffer::kTokenBytes];
  const std::size_t left = StreamOffer::kTokenBytes - visitor.token.size();
  const ssize_t got = ::recv(visitor.socket.get(), bytes, left, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Clock::now() >= visitor.until;
  if (got <= 0) return true;
  visitor.token.append(bytes, static_cast<std::size_t>(got));
  if (visitor.token.size() < StreamOffer::kTokenBytes) return false;
  const auto found = offers_.find(visitor.token);
  if (found == offers_.end()) return true;
  const auto [link, offer] = found->second;
  withdraw(link);
  poller_.remove(visitor.socket.get());
  Result<std::unique_ptr<process::Stream>> stream = offer.make_stream(std::move(visitor.socket), false);
  if (stream) in.push_back(std::make_unique<StreamLink>(link, std::move(*stream)));
  return true;
}

Result<std::vector<std::unique_ptr<StreamLink>>> StreamDoor::let_in() {
  const Result<void> accepted = accept_all();
  std::vector<std::unique_ptr<StreamLink>> in;
  visitors_.remove_if([&](Visitor& visitor) { return has_left(visitor, in); });
  if (!accepted && in.empty()) return fail(accepted.error());
  return in;
}

}  // namespace tfd::transport
