// SPDX-License-Identifier: Apache-2.0
//
// A launcher that asks the one that holds the rendezvous.
#include <algorithm>
#include <string_view>

#include "sides.hpp"
#include "tfd/base/units.hpp"
#include "tfd/launch/listen.hpp"

namespace tfd::rendezvous {
namespace {

constexpr Duration kNamedAfter = std::chrono::seconds(3);  // of silence
constexpr Duration kStranger = std::chrono::seconds(1);    // for a tfd-launch of this host to answer, by whatever name
constexpr Duration kByeTime = std::chrono::seconds(2);
constexpr Duration kAskAgain = std::chrono::milliseconds(500);  // where the group has as many as it can
constexpr Duration kLossSeen = std::chrono::seconds(2);         // behind the silence after which one of them is lost

class Guest final : public Rendezvous {
 public:
  Guest(process::EventLoop& loop, RendezvousOptions options)
      : loop_(loop), options_(std::move(options)), wait_(options_.agreement.report) {}

  ~Guest() override {
    loop_.cancel(report_timer_);
    loop_.cancel(again_timer_);
    loop_.cancel(stranger_timer_);
    endpoint_.reset();  // after this no callback runs
  }

  Result<void> open() {
    TFD_TRY(loop_.accept_posts());
    transport::EndpointOptions options = endpoint_options(options_);
    options.name = "launcher";
    options.heartbeat_timeout = kNamedAfter;
    options.on_peer = [this](const transport::PeerEvent& event) { poster_.post([this, event] { on_peer(event); }); };
    endpoint_ = TFD_TRY(options_.make_endpoint(std::move(options)));
    const Duration patience = std::max(options_.silence - kNamedAfter, Duration::zero());
    peer_ = endpoint_->add_peer("rendezvous", cluster::format_address(options_.at), {.patience = patience});
    report_later();
    if (!options_.own_address.empty())
      stranger_timer_ = loop_.at(Clock::now() + kStranger, [this] { look_for_stranger(); });
    return {};
  }

  void report(const Report& report) override {
    request(Kind::kReport, format_report(report), Deadline::never(), [this](const Result<transport::Message>& answer) {
      if (!answer) fail_with(answer.error());
    });
  }
  bool is_done() const override { return is_done_; }
  bool has_joined() const override { return has_joined_; }

 private:
  /// "python3, process 1234": the process that listens at the rendezvous, if that is this host.
  std::string owner() const {
    if (options_.own_address.empty()) return "";
    return launch::describe_port_owner({.host = options_.own_address, .port = options_.at.port});
  }

  /// This host would hold the rendezvous, but for a process that has nothing to do with it.
  void look_for_stranger() {
    stranger_timer_ = 0;
    const std::string who = has_asked_ || is_over_ ? "" : owner();
    if (who.empty() || who.starts_with("tfd-launch,") || who.starts_with("tfd,")) return;
    give_up({Code::kSystem,
             fmt::format("cannot bind {}: address already in use ({})", cluster::format_address(options_.at), who),
             {}});
  }

  std::string where() const {
    const std::string owner = this->owner();
    return fmt::format("the rendezvous at {}{}", cluster::format_address(options_.at),
                       owner.empty() ? "" : fmt::format(", where {} listens", owner));
  }

  void report_later() {
    report_timer_ = loop_.at(std::min(wait_.next(), wait_.since() + options_.agreement.join), [this] { look(); });
  }

  /// The rendezvous isn't there yet.
  void look() {
    report_timer_ = 0;
    if (has_asked_ || is_over_) return;
    const bool is_unresolved = transport::is_unresolved(endpoint_->reason(peer_));
    const std::string reason = is_unresolved ? "the name doesn't resolve" : reason_;
    const std::string why = reason.empty() ? "" : fmt::format(" ({})", reason);
    if (Clock::now() - wait_.since() >= options_.agreement.join)
      return give_up(
          {Code::kDeadlineExceeded, fmt::format("waited {} for {}{} (--join)", wait_.waited(), where(), why), {}});
    if (wait_.take_due() && options_.say) options_.say(wait_.line(where() + why));
    report_later();
  }

  void on_peer(const transport::PeerEvent& event) {
    if (is_over_) return;
    reason_ = event.reason;
    if (event.refused) return give_up({*event.refused, fmt::format("{}: {}", where(), event.reason), {}});
    if (event.state == transport::PeerState::kUp && !has_asked_) return join();
    if (event.state == transport::PeerState::kSilent && options_.say)
      options_.say(fmt::format("the launcher at {} doesn't answer ({}): it is lost after {}",
                               cluster::format_address(options_.at), event.reason, format_duration(options_.silence)));
    if (event.state == transport::PeerState::kLost) lose(event.reason);
  }

  void lose(const std::string& why) {
    give_up({Code::kUnavailable,
             fmt::format("the launcher at {}, which holds the rendezvous, is lost ({})",
                         cluster::format_address(options_.at), why),
             {}});
  }

  void join() {
    has_asked_ = true;
    if (wait_.has_reported() && options_.say)
      options_.say(
          fmt::format("the rendezvous at {} answers after {}", cluster::format_address(options_.at), wait_.waited()));
    auto own = options_.bring();
    if (!own) return give_up(own.error());
    until_ = Clock::now() + options_.silence + kLossSeen;
    ask_to_join(format_joining(*own));
  }

  /// Takes the place of one that has ended, though the group may not know that yet.
  void ask_to_join(const std::string& joining) {
    request(Kind::kJoin, joining, Deadline::never(), [this, joining](const Result<transport::Message>& answer) {
      if (is_over_) return;
      if (answer) return ask();
      const bool is_full = answer.error().code == Code::kResourceExhausted;
      if (!is_full) return fail_with(answer.error());
      if (!options_.agreement.bounds.is_elastic || Clock::now() >= until_)
        return give_up({Code::kFailedPrecondition, answer.error().message, {}});
      if (options_.say && again_timer_ == 0)
        options_.say(fmt::format("{}; trying for {}, since one of them may have ended", answer.error().message,
                                 format_duration(options_.silence + kLossSeen)));
      again_timer_ = loop_.at(Clock::now() + kAskAgain, [this, joining] { ask_to_join(joining); });
    });
  }

  /// Asks for the commands behind those that were done.
  void ask() {
    request(Kind::kNext, format_seen(seen_), Deadline::never(), [this](const Result<transport::Message>& answer) {
      if (!answer) return fail_with(answer.error());
      const auto commands = parse_commands(answer->meta);
      if (!commands) return give_up(commands.error());
      for (const auto& [number, command] : *commands) {
        if (number <= seen_ || is_over_) continue;
        seen_ = number;
        obey(command);
      }
      if (!is_over_) ask();
    });
  }

  void obey(const Command& command) {
    has_joined_ = has_joined_ || command.kind == Command::Kind::kStart;
    if (command.kind == Command::Kind::kEnd) {
      is_over_ = true;
      request(Kind::kBye, "", Deadline::after(kByeTime), [this](const auto&) { is_done_ = true; });
    }
    options_.on_command(command);
  }

  /// Reports a failed request; if the connection failed, its error.
  void fail_with(const Error& error) {
    constexpr std::string_view kPrefix = "rendezvous is lost: ";
    const bool is_prefixed = error.message.starts_with(kPrefix);
    if (error.code == Code::kUnavailable)
      return lose(is_prefixed ? error.message.substr(kPrefix.size()) : error.message);
    give_up({error.code, error.message, {}});  // "rendezvous" is no task
  }

  void give_up(Error error) {
    if (std::exchange(is_over_, true)) return;
    is_done_ = true;
    options_.on_failure(std::move(error));
  }

  void request(Kind kind, std::string meta, Deadline deadline,
               std::function<void(const Result<transport::Message>&)> then) {
    transport::Message message;
    message.kind = static_cast<std::uint16_t>(kind);
    message.meta = std::move(meta);
    endpoint_->request(peer_, std::move(message), deadline,
                       [this, then = std::move(then)](Result<transport::Message> answer) {
                         poster_.post([then, answer = std::move(answer)] { then(answer); });
                       });
  }

  process::EventLoop& loop_;
  RendezvousOptions options_;
  WaitReport wait_;  // for the rendezvous
  transport::PeerId peer_{};
  std::uint64_t seen_ = 0;
  std::string reason_;
  bool has_asked_ = false;
  bool has_joined_ = false;
  bool is_over_ = false;  // kEnd has come, or it was given up
  bool is_done_ = false;
  Clock::time_point until_;  // it asks whether it may join, where the group has as many as it can
  process::EventLoop::TimerId report_timer_ = 0, again_timer_ = 0, stranger_timer_ = 0;
  const Poster poster_{loop_};
  std::unique_ptr<transport::Endpoint> endpoint_;  // last: its thread posts
};

}  // namespace

Result<std::unique_ptr<Rendezvous>> visit(process::EventLoop& loop, RendezvousOptions options) {
  auto guest = std::make_unique<Guest>(loop, std::move(options));
  TFD_TRY(guest->open());
  return std::unique_ptr<Rendezvous>(std::move(guest));
}

Result<std::unique_ptr<Rendezvous>> Rendezvous::open(process::EventLoop& loop, RendezvousOptions options) {
  return options.listener ? hold(loop, std::move(options)) : visit(loop, std::move(options));
}

}  // namespace tfd::rendezvous
