// SPDX-License-Identifier: Apache-2.0
#include "core.hpp"

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::transport {

namespace {

constexpr std::uint64_t kMostPingMs = 60 * 60 * 1000;

}  // namespace

/// Answers over the mailbox, or directly where it already is on the I/O thread.
class Core::Reply final : public Responder::Impl {
 public:
  Reply(Core& core, LinkId link, std::uint64_t id, bool may_lend)
      : core_(core), mailbox_(core.mailbox_), link_(link), id_(id), may_lend_(may_lend) {}
  void reply(Result<Message> answer) override {
    if (answer) answer->may_lend = may_lend_;
    // An open mailbox means that the core exists.
    if (mailbox_->is_reader() && !mailbox_->is_closed())
      core_.send_reply(link_, id_, std::move(answer), promised_);
    else
      mailbox_->push(ReplyItem{link_, id_, std::move(answer), promised_});
  }
  void when_room(std::uint64_t bytes, std::function<void()> begin) override {
    Link* link = core_.find_link(link_);
    if (link == nullptr) return;
    link->when_room(bytes, [this, bytes, begin = std::move(begin)] {
      promised_ = bytes;
      begin();
    });
  }

 private:
  Core& core_;
  std::shared_ptr<Mailbox> mailbox_;  // with the core, which may be gone by now
  LinkId link_;
  std::uint64_t id_;
  bool may_lend_;
  std::uint64_t promised_ = 0;  // bytes that the link counts for it
};

Link& Core::open_link(LinkId id) {
  auto& link = links_[id];
  link = std::make_unique<Link>(id, Limits{options_.max_message_bytes, options_.max_peer_bytes}, *pool_);
  return *link;
}

Link* Core::find_link(LinkId id) {
  const auto found = links_.find(id);
  return found == links_.end() ? nullptr : found->second.get();
}

void Core::drop_link(LinkId id) {
  links_.erase(id);
  peer_of_link_.erase(id);
}

void Core::mark_dirty(Link& link) {
  if (link.is_dirty) return;
  link.is_dirty = true;
  dirty_.push_back(link.id());
}

void Core::on_closed(LinkId id, const std::string& reason) {
  const auto found = peer_of_link_.find(id);
  if (found == peer_of_link_.end()) {
    const auto link = links_.extract(id);
    if (!link.empty()) caller_gone(*link.mapped());
    wire_->forget(id);
    return end_pings(id, false);
  }
  Peer* peer = find_peer(found->second);
  if (peer != nullptr && peer->second == id) return on_second_closed(*peer, reason);
  if (peer == nullptr || peer->link != id) return drop_link(id);
  on_lost(*peer, reason, proves_end(id, reason));
}

void Core::caller_gone(const Link& link) {
  if (!options_.on_caller_gone || !is_accepted(link.id()) || !link.greeted || is_closing_) return;
  options_.on_caller_gone(
      {.name = link.name, .incarnation = link.incarnation, .connection = static_cast<std::uint64_t>(link.id())});
}

void Core::on_refused(LinkId id, const std::string& reason, bool certain) {
  constexpr int kMostDoubts = 3;
  Peer* peer = peer_of(id);
  if (peer == nullptr || peer->link != id) return on_closed(id, reason);
  if (certain || ++peer->doubts >= kMostDoubts) return refuse(peer->id, id, Code::kPermissionDenied, reason);
  on_closed(id, "hangs up at once");
}

void Core::on_stands(LinkId id) {
  Peer* peer = peer_of(id);
  if (peer == nullptr || peer->link != id || is_standing(peer->state)) return;
  peer->reason = "silent";
  publish(*peer);
}

void Core::on_message(LinkId id, std::span<const std::byte> bytes) {
  Link* link = find_link(id);
  if (link == nullptr) {
    if (!is_accepted(id)) return;  // the event is about a connection that we dropped
    // Bytes that aren't our protocol open no link. A caller that was given up and continues anyway is told so.
    std::span<const std::byte> rest = bytes;
    const Result<FrameView> first = take_frame(rest);
    const bool is_version = !first && first.error().code == Code::kProtocolMismatch;
    if (!is_version && !first) return;
    link = &open_link(id);
    if (first && first->header.type != FrameType::kHello)
      return on_violation(*link, {Code::kUnavailable, "it was silent for too long, or never greeted", {}});
  }
  if (link->is_bad) return;
  on_heard(*link);
  Result<void> done;
  if (link->awaits_chunk()) {
    done = on_chunk(*link, bytes);
  } else {
    while (done && !bytes.empty()) {
      const Result<FrameView> frame = take_frame(bytes);
      if (!frame) {
        done = fail(frame.error());
        break;
      }
      done = on_frame(*link, *frame);
      link = find_link(id);  // a callback of the user, or a goodbye, may have ended it
      if (link == nullptr || link->is_bad) return;
    }
  }
  if (!done) on_violation(*link, done.error());
}

Place Core::place_piece(LinkId id, std::size_t size) {
  Link* const link = find_link(id);
  return link == nullptr || link->is_bad || !link->awaits_chunk() ? Place{} : link->place_chunk(size);
}

void Core::on_piece(LinkId id, std::span<const std::byte> bytes, std::shared_ptr<const void> keep) {
  Link* const link = find_link(id);
  if (link == nullptr || link->is_bad) return;
  on_heard(*link);
  const Result<void> done = link->awaits_chunk() ? on_chunk(*link, bytes, std::move(keep))
                                                 : fail(Code::kInvalidArgument, "a piece that no chunk announces");
  if (!done) on_violation(*link, done.error());
}

void Core::on_heard(Link& link) {
  link.heard = Clock::now();
  if (std::exchange(link.pinged, std::nullopt)) on_answer(link.id());
}

Result<void> Core::on_chunk(Link& link, std::span<const std::byte> bytes, std::shared_ptr<const void> keep) {
  std::optional<Link::Arrived> arrived = TFD_TRY(link.on_chunk(bytes));
  keep.reset();  // or the tensor would have two users
  if (arrived) on_arrived(link, std::move(*arrived));
  return {};
}

Result<void> Core::on_frame(Link& link, const FrameView& frame) {
  const FrameHeader& header = frame.header;
  if (header.type == FrameType::kHello || header.type == FrameType::kWelcome) return on_greeting(link, frame);
  if (header.type == FrameType::kGoodbye) {
    on_goodbye(link, printable(as_text(frame.body).substr(0, 200)));
    return {};
  }
  if (!link.greeted) return fail(Code::kInvalidArgument, "a frame came before the greeting");
  if (takes_credit(header.type)) {
    link.moved = link.heard;
    TFD_TRY(link.count_received(header));
    mark_dirty(link);
  }
  const bool from_client = is_accepted(link.id());
  switch (header.type) {
    case FrameType::kRequest:
    case FrameType::kReply: {
      if (from_client != (header.type == FrameType::kRequest))
        return fail(Code::kInvalidArgument, "a request or reply in the wrong direction");
      std::optional<Link::Arrived> arrived = TFD_TRY(link.on_head(frame));
      if (arrived) on_arrived(link, std::move(*arrived));
      return {};
    }
    case FrameType::kFailure:
      on_arrived(link, {header, Deadline::never(), fail(decode_error(frame.body))});
      return {};
    case FrameType::kChunk: {
      if ((header.flags & kLent) == 0) {
        link.await_chunk(header);
        return {};
      }
      std::optional<Link::Arrived> arrived = TFD_TRY(link.on_lent(frame, *wire_));
      if (arrived) on_arrived(link, std::move(*arrived));
      return {};
    }
    case FrameType::kCredit:
      link.moved = link.heard;
      link.on_credit(header.position);
      mark_dirty(link);
      return {};
    case FrameType::kPing:
      link.ping_interval = std::chrono::milliseconds(std::min(header.position, kMostPingMs));
      if (!link.may_answer_ping()) return {};
      link.control({.type = FrameType::kPong});
      mark_dirty(link);
      return {};
    case FrameType::kCancel:
      link.drop_partial(header.id);
      return {};
    default:
      return {};
  }
}

Result<void> Core::on_greeting(Link& link, const FrameView& frame) {
  const bool from_client = is_accepted(link.id());
  if (from_client != (frame.header.type == FrameType::kHello) || link.greeted)
    return fail(Code::kInvalidArgument, "a greeting out of turn");
  if (frame.body.size() > 1024 || frame.header.incarnation == 0)
    return fail(Code::kInvalidArgument, "a greeting without a name or incarnation");
  link.greeted = true;
  link.greeted_at = Clock::now();
  const Hello hello = decode_hello(as_text(frame.body));
  link.name = printable(hello.name);
  link.incarnation = frame.header.incarnation;
  if (from_client) {
    wire_->has_greeted(link.id());
    if (!hello.offer.empty()) wire_->take_up(link.id(), hello.offer);
    const std::string offer = wire_->offer(link.id());
    link.control({.type = FrameType::kWelcome, .incarnation = options_.incarnation},
                 encode_hello(options_.name, offer));
    mark_dirty(link);
    return {};
  }
  if (!hello.offer.empty()) wire_->take_up(link.id(), hello.offer);
  if (Peer* peer = find_peer(peer_of_link_.at(link.id()))) {
    if (peer->second == link.id())
      on_second_greeting(*peer, link);
    else
      on_up(*peer, link);
  }
  return {};
}

// Handles the other side's last frame on this connection.
void Core::on_goodbye(Link& link, const std::string& reason) {
  Peer* peer = peer_of(link.id());
  if (peer != nullptr && peer->link == link.id()) return on_lost(*peer, reason, reason == kFarewell);
  on_closed(link.id(), reason);
}

void Core::on_violation(Link& link, const Error& error) {
  const LinkId id = link.id();
  if (is_accepted(id)) {
    options_.log.warning("client {}: {}", link.name.empty() ? "without a name" : link.name, error.message);
    // A single connection of a listening socket can't be closed: it gets a goodbye and is ignored from then on; data it
    // had sent is freed.
    const auto old = links_.extract(id);
    wire_->forget(id);
    Link& deaf = open_link(id);
    deaf.is_bad = true;
    if (error.code == Code::kProtocolMismatch)
      deaf.control({.type = FrameType::kWelcome, .incarnation = options_.incarnation}, options_.name);
    else
      deaf.control({.type = FrameType::kGoodbye}, error.message);
    mark_dirty(deaf);
    caller_gone(*old.mapped());
    return;
  }
  Peer* peer = peer_of(id);
  if (peer == nullptr) return;
  if (std::exchange(peer->complaint, error.message) != error.message)  // it is tried again and again
    options_.log.warning("{} at {}: {}", peer->name, peer->address, error.message);
  if (error.code == Code::kProtocolMismatch)
    refuse(peer->id, id, error.code, error.message);
  else
    on_closed(id, error.message);
}

void Core::on_arrived(Link& link, Link::Arrived arrived) {
  if (is_accepted(link.id())) return on_request(link, std::move(arrived));
  Peer* peer = find_peer(peer_of_link_.at(link.id()));
  if (peer == nullptr) return;
  if (!arrived.message) {  // an error of the peer's, or for this side an answer that it can't take
    Error& error = arrived.message.error();
    const bool is_its = arrived.header.type == FrameType::kFailure;
    if (!is_its) error.message += fmt::format(", the answer of {}", peer->name);
    if (error.task.empty()) error.task = is_its ? peer->name : options_.name;
  }
  finish_request(*peer, arrived.header.id, std::move(arrived.message));
}

void Core::on_request(Link& link, Link::Arrived arrived) {
  const std::uint64_t id = arrived.header.id;
  Responder responder(std::make_unique<Reply>(*this, link.id(), id, (arrived.header.flags & kMayLend) != 0));
  if (arrived.header.incarnation != options_.incarnation)
    return responder.reply(
        fail(Code::kUnavailable, "the task that this was for is gone, and another one has taken its place"));
  if (!arrived.message) return responder.reply(fail(std::move(arrived.message).error()));
  if (arrived.deadline.expired())
    return responder.reply(fail(Code::kDeadlineExceeded, "the request arrived after its deadline"));
  if (!options_.handler) return responder.reply(fail(Code::kUnimplemented, "{} serves no requests", options_.name));
  options_.handler(
      {link.name, link.incarnation, arrived.deadline, options_.key.has_value(), static_cast<std::uint64_t>(link.id())},
      std::move(*arrived.message), std::move(responder));
}

void Core::send_reply(LinkId link_id, std::uint64_t id, Result<Message> answer, std::uint64_t promised) {
  Link* link = find_link(link_id);
  if (link == nullptr || link->is_bad) return;
  link->answered(promised);
  const auto failure = [&](const Error& error) {
    EncodedMessage encoded;
    append_frame(encoded.head, {.type = FrameType::kFailure, .id = id, .incarnation = options_.incarnation},
                 encode_error(error));
    return encoded;
  };
  EncodedMessage out;
  if (answer) {
    Result<EncodedMessage> encoded = encode_message({.type = FrameType::kReply,
                                                     .kind = answer->kind,
                                                     .id = id,
                                                     .incarnation = options_.incarnation,
                                                     .epoch = answer->epoch},
                                                    *answer);
    out = encoded ? std::move(*encoded) : failure(encoded.error());
  } else {
    out = failure(answer.error());
  }
  link->queue(id, Deadline::never(), std::move(out));
  mark_dirty(*link);
}

}  // namespace tfd::transport
