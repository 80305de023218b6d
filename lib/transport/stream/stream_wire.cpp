// SPDX-License-Identifier: Apache-2.0
#include "stream/stream_wire.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "tfd/base/descriptors.hpp"
#include "tfd/cluster/address.hpp"
#include "tfd/process/tcp_socket.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::transport {
namespace {

constexpr std::size_t kLarge = 64 << 10;  // bytes of a message that are worth a stream
constexpr std::size_t kMostLines = 4096;  // each link has a descriptor of libzmq's, too
constexpr Duration kUnsentLinger = std::chrono::milliseconds(250);
constexpr Duration kLastWords = std::chrono::seconds(1);  // that come after libzmq's connection has ended

}  // namespace

StreamWire::StreamWire(std::unique_ptr<ZmqWire> beyond, std::shared_ptr<Poller> poller, bool is_sealed)
    : beyond_(std::move(beyond)),
      poller_(std::move(poller)),
      is_sealed_(is_sealed),
      most_lines_(share_of_descriptors(kMostLines)) {}

StreamWire::LinePtr StreamWire::find(LinkId link) const {
  if (lines_.empty()) return nullptr;
  const auto found = lines_.find(link);
  return found == lines_.end() ? nullptr : found->second;
}

StreamWire::LinePtr StreamWire::add(std::unique_ptr<StreamLink> link) {
  auto line = std::make_shared<Line>();
  line->link = std::move(link);
  line->watched = EPOLLRDHUP;
  const LinkId id = line->link->id();
  if (!poller_->add(line->link->fd(), line->watched, this, static_cast<std::uint64_t>(id))) return nullptr;
  return lines_[id] = std::move(line);
}

void StreamWire::heat(const LinePtr& line) {
  if (!std::exchange(line->is_hot, true)) hot_.push_back(line);
}

void StreamWire::drop(LinkId link) {
  if (door_) door_->withdraw(link);
  offered_.erase(link);
  attempts_.erase(link);
  if (const LinePtr line = find(link)) {
    line->is_gone = true;
    std::erase(hot_, line);
    lines_.erase(link);
  }
}

void StreamWire::disconnect(LinkId link) {
  drop(link);
  beyond_->disconnect(link);
}

void StreamWire::forget(LinkId link) {
  if (door_) door_->withdraw(link);
  if (const LinePtr line = find(link)) line->link->let_go();
}

bool StreamWire::send(LinkId link, Parcel parcel) {
  const LinePtr line = find(link);
  if (!line || !line->sends) {
    const bool is_large = parcel.keep && parcel.piece.size() >= kLarge;
    const bool is_sent = beyond_->send(link, std::move(parcel));
    if (is_large) connect_stream(link);
    return is_sent;
  }
  const Result<void> sent = line->link->send(std::move(parcel));
  if (!sent)
    drop(link);
  else
    watch(*line);
  return sent.has_value();
}

std::string StreamWire::offer(LinkId link) {
  if (!is_accepted(link) || !offers_ || lines_.size() >= most_lines_) return {};
  if (!door_) {
    const Result<cluster::Address> own = cluster::parse_address(beyond_->address());
    offers_ = own && (!is_sealed_ || process::can_seal());
    if (!offers_) return {};
    Result<std::unique_ptr<StreamDoor>> door = StreamDoor::open(*poller_, *this, own->host, is_sealed_);
    if (!(offers_ = door.has_value())) return {};
    door_ = std::move(*door);
  }
  return door_->offer(link);
}

void StreamWire::take_up(LinkId link, std::string_view offer) {
  Result<StreamOffer> offered = StreamOffer::decode(offer);
  if (!is_accepted(link) && offered && offered->secrets.has_value() == is_sealed_)
    offered_.insert_or_assign(link, std::move(*offered));
}

void StreamWire::connect_stream(LinkId link) {
  if (offered_.empty()) return;
  const auto found = offered_.find(link);
  if (found == offered_.end()) return;
  const StreamOffer offer = std::move(found->second);
  offered_.erase(found);
  const std::string host = beyond_->host_of(link);
  if (host.empty() || lines_.size() + attempts_.size() >= most_lines_) return;
  Result<process::Fd> socket = process::start_connecting_by_tcp(fmt::format("{}:{}", host, offer.port));
  if (!socket) return;
  if (!poller_->add(socket->get(), EPOLLOUT, this, static_cast<std::uint64_t>(link))) return;
  attempts_.insert_or_assign(link, Attempt{std::move(*socket), offer});
}

// Nothing is sent but the token until the other side has confirmed: a side that waits in vain goes on as before.
void StreamWire::on_connected(LinkId link) {
  const auto found = attempts_.find(link);
  Attempt attempt = std::move(found->second);
  attempts_.erase(found);
  const std::string& token = attempt.offer.token;
  if (process::connection_error(attempt.socket.get()) != 0 ||
      ::send(attempt.socket.get(), token.data(), token.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
          static_cast<ssize_t>(token.size()))
    return;
  poller_->remove(attempt.socket.get());
  if (auto stream = attempt.offer.make_stream(std::move(attempt.socket), true))
    add(std::make_unique<StreamLink>(link, std::move(*stream)));
}

void StreamWire::begin_sending(Line& line) {
  line.sends = beyond_->send(line.link->id(), {});
  if (!line.sends) drop(line.link->id());
}

void StreamWire::let_in() {
  if (!door_) return;
  Result<std::vector<std::unique_ptr<StreamLink>>> in = door_->let_in();
  if (!in) {  // connections that wait behind the door go on as before
    offers_ = false;
    door_.reset();
    return;
  }
  for (std::unique_ptr<StreamLink>& link : *in)
    if (const LinePtr line = add(std::move(link))) begin_sending(*line);
}

void StreamWire::on_ready(std::uint64_t whose, std::uint32_t events) {
  const auto link = static_cast<LinkId>(whose);
  if (whose == 0) {
    at_the_door_ = true;
  } else if (const LinePtr line = find(link)) {
    heat(line);
    if (!line->reads && (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) on_broken(*line);
  } else if (attempts_.contains(link)) {
    on_connected(link);
  }
}

// Before it is read, only its end is looked for.
void StreamWire::watch(Line& line) {
  const std::uint32_t events = (line.reads ? EPOLLIN : EPOLLRDHUP) | (line.link->has_unsent() ? EPOLLOUT : 0U);
  if (line.is_broken || std::exchange(line.watched, events) == events) return;
  poller_->change(line.link->fd(), events);
}

/// Where the other side has closed a stream that isn't read yet.
void StreamWire::on_broken(Line& line) {
  line.is_broken = true;
  poller_->remove(line.link->fd());
  if (!line.sends) return drop(line.link->id());  // nobody was told of it: all goes on as before
  if (line.ends_at) return;
  line.reason = kConnectionReset;
  line.ends_at = Clock::now() + kLastWords;
}

bool StreamWire::receive_from(Line& line, int most) {
  const LinkId id = line.link->id();
  for (int got = 0; got < most; ++got) {
    Result<std::optional<StreamLink::Record>> record = line.link->next(*sink_);
    if (!record) {
      const bool is_end = record.error().code == Code::kUnavailable;
      end(line, !is_end ? record.error().message : !line.reason.empty() ? line.reason : std::string(kConnectionReset));
      return false;
    }
    if (!*record) return false;
    if ((*record)->is_piece)
      sink_->on_piece(id, (*record)->bytes, std::move((*record)->keep));
    else
      sink_->on_message(id, (*record)->bytes);
    if (line.is_gone) return false;
  }
  return true;
}

void StreamWire::end(Line& line, const std::string& reason) {
  const LinkId id = line.link->id();
  disconnect(id);
  sink_->on_closed(id, reason);
}

bool StreamWire::move(Line& line, int most) {
  if (const Result<void> flushed = line.link->flush(); !flushed) {
    end(line, std::string(kConnectionReset));
    return false;
  }
  watch(line);
  if (line.reads && receive_from(line, most)) return true;
  if (!line.is_gone && line.ends_at && Clock::now() >= *line.ends_at) end(line, std::string(line.reason));
  return false;
}

bool StreamWire::receive(Wire::Sink& sink, int most) {
  sink_ = &sink;
  if (std::exchange(at_the_door_, false)) let_in();
  bool more = false;
  for (const LinePtr& line : std::exchange(hot_, {})) {
    line->is_hot = false;
    if (line->is_gone) continue;
    const bool has_more = move(*line, most);
    more = more || has_more;
    if (has_more || (!line->is_gone && line->ends_at)) heat(line);
  }
  if (beyond_->receive(*this, most)) more = true;
  sink_ = nullptr;
  return more;
}

void StreamWire::on_message(LinkId link, std::span<const std::byte> bytes) {
  const LinePtr line = find(link);
  if (!bytes.empty()) {
    if (line && line->reads) return end(*line, "a message came after the last one");
    if (bytes.size() >= kLarge) connect_stream(link);
    return sink_->on_message(link, bytes);
  }
  // The other side sends by the stream from now on.
  if (!line && is_accepted(link)) return;
  if (!line) {
    disconnect(link);
    return sink_->on_closed(link, std::string(kConnectionReset));
  }
  line->reads = true;
  if (!line->sends) begin_sending(*line);
  heat(line);
}

// Messages that the other process sent before are still to be read, or on their way.
void StreamWire::on_closed(LinkId link, const std::string& reason) {
  if (const LinePtr line = find(link); line && line->reads) {
    line->reason = reason;
    line->ends_at = Clock::now() + kLastWords;
    return heat(line);
  }
  drop(link);
  sink_->on_closed(link, reason);
}

void StreamWire::on_refused(LinkId link, const std::string& reason, bool certain) {
  drop(link);
  sink_->on_refused(link, reason, certain);
}

void StreamWire::wait(Clock::time_point until) {
  for (const LinePtr& line : hot_) {
    if (!line->ends_at) return;
    until = std::min(until, *line->ends_at);
  }
  beyond_->wait(until);
}

void StreamWire::close() {
  const Clock::time_point end = Clock::now() + kUnsentLinger;
  for (const auto& [id, line] : lines_) {
    StreamLink& link = *line->link;
    while (link.flush() && link.has_unsent() && Clock::now() < end) {
      pollfd room{link.fd(), POLLOUT, 0};
      poll_until(&room, 1, end);
    }
  }
  hot_.clear();
  lines_.clear();
  attempts_.clear();
  door_.reset();
  beyond_->close();
}

}  // namespace tfd::transport
