// SPDX-License-Identifier: Apache-2.0
//
// The launcher that holds the rendezvous. Others ask it for their next commands, and wait for the answer: so a launcher
// that only can connect, and can't be connected to, takes part, too.
#include <deque>
#include <map>

#include "sides.hpp"

namespace tfd::rendezvous {
namespace {

constexpr auto kFarewellTime = std::chrono::seconds(3);

class Holder final : public Rendezvous {
 public:
  Holder(process::EventLoop& loop, RendezvousOptions options)
      : loop_(loop), options_(std::move(options)), agreement_(options_.agreement, Clock::now()) {}

  ~Holder() override {
    loop_.cancel(timer_);
    loop_.cancel(farewell_);
    for (auto& [id, guest] : guests_) guest.next.reset();
    endpoint_.reset();  // after this no handler runs
  }

  Result<void> open() {
    TFD_TRY(loop_.accept_posts());
    Joining own = TFD_TRY(options_.bring());
    TFD_TRY(agreement_.join(kHolder, std::move(own), Clock::now()));
    transport::EndpointOptions options = endpoint_options(options_);
    options.name = "rendezvous";
    options.bind = cluster::format_address(options_.listener->address);
    options.listen_fd = options_.listener->fd.release();
    options.caller_timeout = options_.silence;
    options.handler = [this](const transport::Caller& caller, transport::Message request,
                             transport::Responder responder) {
      poster_.post([this, caller, request = std::move(request),
                    answer = std::make_shared<transport::Responder>(std::move(responder))] {
        handle(caller, request, std::move(*answer));  // shared since std::function copies
      });
    };
    options.on_caller_gone = [this](const transport::Caller& caller) {
      poster_.post([this, caller] { on_gone(caller); });
    };
    options.on_turned_away = [this] { poster_.post([this] { agreement_.turned_away(); }); };
    endpoint_ = TFD_TRY(options_.make_endpoint(std::move(options)));
    poster_.post([this] { pump(); });  // not from here: the caller doesn't have us yet
    return {};
  }

  void report(const Report& report) override {
    agreement_.report(kHolder, report, Clock::now());
    poster_.post([this] { pump(); });
  }
  bool is_done() const override { return has_ended_ && (guests_.empty() || is_farewell_over_); }
  bool has_joined() const override { return true; }

 private:
  struct Guest {
    std::uint64_t connection = 0;  // the latest
    std::uint64_t last = 0;        // number of the last command
    std::deque<std::pair<std::uint64_t, Command>> commands;
    std::optional<transport::Responder> next;
  };

  void handle(const transport::Caller& caller, const transport::Message& request, transport::Responder responder) {
    const Result<void> done = apply(caller, request, responder);
    if (!done)
      responder.reply(fail(done.error()));
    else if (static_cast<Kind>(request.kind) != Kind::kNext)
      responder.reply(transport::Message{});
    pump();
  }

  Result<void> apply(const transport::Caller& caller, const transport::Message& request,
                     transport::Responder& responder) {
    const LauncherId id = caller.incarnation;
    const auto kind = static_cast<Kind>(request.kind);
    if (kind == Kind::kJoin) {
      Joining joining = TFD_TRY(parse_joining(request.meta));
      options_.log.info("{} brings {}", joining.host, joining.addresses.size());
      TFD_TRY(agreement_.join(id, std::move(joining), Clock::now()));
      guests_[id].connection = caller.connection;
      return {};
    }
    const auto found = guests_.find(id);
    if (found == guests_.end()) return fail(Code::kFailedPrecondition, "this launcher takes no part in the group");
    Guest& guest = found->second;
    guest.connection = caller.connection;
    switch (kind) {
      case Kind::kNext: {
        const std::uint64_t seen = TFD_TRY(parse_seen(request.meta));
        while (!guest.commands.empty() && guest.commands.front().first <= seen) guest.commands.pop_front();
        guest.next.emplace(std::move(responder));
        return {};
      }
      case Kind::kReport: {
        const Report report = TFD_TRY(parse_report(request.meta));
        agreement_.report(id, report, Clock::now());
        return {};
      }
      case Kind::kBye:
        if (agreement_.is_over() || !agreement_.has(id)) guests_.erase(found);
        return {};
      default:
        return fail(Code::kInvalidArgument, "an unknown request of a launcher");
    }
  }

  void on_gone(const transport::Caller& caller) {
    const auto found = guests_.find(caller.incarnation);
    if (found == guests_.end() || found->second.connection != caller.connection) return;  // it has another one
    guests_.erase(found);
    agreement_.lose(caller.incarnation, "it has ended, or doesn't answer", Clock::now());
    pump();
  }

  /// Sends the agreement's commands, and carries out those for this launcher.
  void pump() {
    agreement_.tick(Clock::now());
    for (auto& [id, command] : agreement_.take()) {
      if (id == kHolder) {
        has_ended_ = has_ended_ || command.kind == Command::Kind::kEnd;
        options_.on_command(command);
        continue;
      }
      const auto found = guests_.find(id);
      if (found != guests_.end()) found->second.commands.emplace_back(++found->second.last, std::move(command));
    }
    for (auto& [id, guest] : guests_) {
      if (!guest.next || guest.commands.empty()) continue;
      transport::Message answer;
      answer.meta = format_commands({guest.commands.begin(), guest.commands.end()});
      guest.next->reply(std::move(answer));
      guest.next.reset();
    }
    if (has_ended_ && farewell_ == 0)
      farewell_ = loop_.at(Clock::now() + kFarewellTime, [this] { is_farewell_over_ = true; });
    loop_.cancel(timer_);
    timer_ = 0;
    if (const auto when = agreement_.next(); when != Clock::time_point::max())
      timer_ = loop_.at(when, [this] { pump(); });
  }

  process::EventLoop& loop_;
  RendezvousOptions options_;
  Agreement agreement_;
  std::map<LauncherId, Guest> guests_;
  bool has_ended_ = false;
  bool is_farewell_over_ = false;
  process::EventLoop::TimerId timer_ = 0, farewell_ = 0;
  const Poster poster_{loop_};
  std::unique_ptr<transport::Endpoint> endpoint_;  // last: its thread posts
};

}  // namespace

Result<std::unique_ptr<Rendezvous>> hold(process::EventLoop& loop, RendezvousOptions options) {
  auto holder = std::make_unique<Holder>(loop, std::move(options));
  TFD_TRY(holder->open());
  return std::unique_ptr<Rendezvous>(std::move(holder));
}

transport::EndpointOptions endpoint_options(const RendezvousOptions& options) {
  transport::EndpointOptions out;
  out.log = options.log.for_room("transport");
  out.heartbeat_interval = std::chrono::milliseconds(250);  // a process that ended is missed after four
  return out;
}

}  // namespace tfd::rendezvous
