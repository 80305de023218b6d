// SPDX-License-Identifier: Apache-2.0
#include "core.hpp"

#include <pthread.h>

#include <cassert>
#include <csignal>
#include <utility>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/base/wait_report.hpp"

namespace tfd::transport {
namespace {

constexpr std::size_t kIdleBuffers = 64 * 1024 * 1024;
constexpr int kReceiveAtOnce = 256;
constexpr std::size_t kMostNamed = 8;  // peers in a message
// Time without a drive after which its thread is taken to do something else; more for one that has come back often.
constexpr Duration kAwayAtFirst = std::chrono::milliseconds(1), kAwayAtMost = std::chrono::milliseconds(16);

}  // namespace

Core::Core(EndpointOptions options, std::unique_ptr<Wire> wire, std::shared_ptr<Waker> waker)
    : options_(std::move(options)),
      address_(wire->address()),
      pool_(std::make_shared<BufferPool>(kIdleBuffers)),
      wire_(std::move(wire)),
      waker_(std::move(waker)),
      mailbox_(std::make_shared<Mailbox>(waker_)) {
  if (options_.incarnation == 0) options_.incarnation = make_incarnation();
  // Signals are handled by the tool's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Core::~Core() {
  assert(!on_io_thread());
  {
    const MutexLock lock(away_mutex_);
    stop_.store(true);
  }
  away_changed_.notify_all();
  waker_->wake();
  thread_.join();
}

/// For as long as it lives, this thread does the I/O.
class Core::AtLoop {
 public:
  explicit AtLoop(Core& core) : mailbox_(*core.mailbox_), lock_(core.loop_mutex_) {
    mailbox_.set_reader(std::this_thread::get_id());
  }
  ~AtLoop() { mailbox_.set_reader({}); }
  AtLoop(const AtLoop&) = delete;
  AtLoop& operator=(const AtLoop&) = delete;

 private:
  Mailbox& mailbox_;
  const MutexLock lock_;
};

void Core::run() {
  {
    const AtLoop here(*this);
    if (options_.heartbeat_interval > Duration::zero()) check_liveness();
  }
  const auto is_over = [this] { return stop_.load() || at_.load() != At::kIoThread; };
  while (!stop_.load()) {
    {
      const AtLoop here(*this);
      for (; !is_over(); sleep(Clock::time_point::max(), is_over)) turn();
    }
    stay_away();
  }
  const AtLoop here(*this);
  shut_down();
}

void Core::turn() {
  more_to_receive_ = wire_->receive(*this, kReceiveAtOnce);
  do_timers();
  do_items();
  ship_all();
}

/// Waits for something to do, for `until`, or for `is_awaited`, whose cause wakes it.
template <class IsAwaited>
void Core::sleep(Clock::time_point until, const IsAwaited& is_awaited) {
  if (more_to_receive_ || !local_.empty() || !dirty_.empty()) return;
  waker_->prepare_to_sleep();
  if (mailbox_->is_empty() && !is_awaited()) wire_->wait(std::min({until, deadlines_.next(), actions_.next()}));
  waker_->awake();
}

/// The I/O thread's, while another one drives: until that gives the work back, or does something else.
void Core::stay_away() {
  MutexLock lock(away_mutex_);
  const auto is_over = [this] { return stop_.load() || at_.load() == At::kIoThread; };
  Duration patience = kAwayAtFirst;
  for (std::uint64_t seen = drives_.load(); !lock.wait(away_changed_, Deadline::after(patience), is_over);) {
    const std::uint64_t now = drives_.load();
    At between = At::kBetween;
    if (now == seen && at_.compare_exchange_strong(between, At::kIoThread)) return;
    if (now != seen) patience = std::min(2 * patience, kAwayAtMost);
    seen = now;
  }
}

// An exception of a callback ends the process, as it does on the I/O thread.
bool Core::drive(const std::function<bool()>& is_over, const std::stop_token& stop, Duration most) noexcept {
  assert(!on_io_thread());
  At before = at_.load();
  do {
    if (before == At::kDriver) return is_over();
  } while (!at_.compare_exchange_weak(before, At::kDriver));
  if (before == At::kIoThread) waker_->wake();
  const Clock::time_point until = Clock::now() + most;
  const auto is_stopped = [&] { return stop_.load() || stop.stop_requested(); };
  bool is_done = false;
  {
    const AtLoop here(*this);
    const std::stop_callback wake(stop, [this] { waker_->wake(); });
    for (turn(); !(is_done = is_over()) && !is_stopped() && Clock::now() < until; turn()) sleep(until, is_stopped);
  }
  drives_.fetch_add(1);
  if (is_done) {
    at_.store(At::kBetween);
  } else {
    const MutexLock lock(away_mutex_);
    at_.store(At::kIoThread);
    away_changed_.notify_all();
  }
  return is_done;
}

void Core::hand_over(MailItem item) {
  if (on_io_thread())
    local_.push_back(std::move(item));
  else
    mailbox_->push(std::move(item));
}

void Core::do_items() {
  mailbox_->take(taken_);
  for (MailItem& item : taken_) do_item(item);
  taken_.clear();
  // Requests made by callbacks meanwhile are handled in this turn, too, up to a limit.
  for (std::size_t left = local_.size(); left > 0 && !local_.empty(); --left) {
    MailItem item = std::move(local_.front());
    local_.pop_front();
    do_item(item);
  }
}

void Core::do_item(MailItem& item) {
  if (auto* request = std::get_if<RequestItem>(&item))
    start_request(*request);
  else if (auto* reply = std::get_if<ReplyItem>(&item))
    send_reply(reply->link, reply->id, std::move(reply->answer), reply->promised);
  else if (auto& action = std::get<ActionItem>(item); !action.is_user || !is_closing_)
    action.action();
}

void Core::do_timers() {
  if (deadlines_.next() == Clock::time_point::max() && actions_.next() == Clock::time_point::max()) return;
  const Clock::time_point now = Clock::now();
  while (const auto due = deadlines_.take_due(now)) on_deadline(*due);
  while (const auto action = actions_.take_due(now)) (*action)();
}

void Core::ship_all() {
  shipping_.swap(dirty_);
  for (const LinkId id : shipping_) {
    Link* link = find_link(id);
    if (link == nullptr) continue;
    link->is_dirty = false;
    if (link->ship(*wire_))
      wire_->flush(id);
    else
      on_closed(id, std::string(kConnectionReset));
    for (std::function<void()> begin; (link = find_link(id)) != nullptr && (begin = link->take_ready());) begin();
  }
  shipping_.clear();
}

void Core::shut_down() {
  is_closing_ = true;
  do {
    for (const auto& [id, peer] : peers_) fail_all(*peer, Code::kCancelled, "the endpoint was closed");
    do_items();
  } while (!local_.empty() || !mailbox_->close_if_empty());
  ship_all();  // before the goodbyes, after which a peer reads no more
  for (const auto& [id, link] : links_) {
    if (!is_accepted(id) || !link->greeted) continue;
    link->control({.type = FrameType::kGoodbye}, kFarewell);
    mark_dirty(*link);
  }
  ship_all();
  wire_->close();
}

PeerId Core::add_peer(const std::string& name, const std::string& address, PeerOptions options) {
  PeerId id{};
  bool is_move = false;
  {
    const MutexLock lock(cards_mutex_);
    const auto [found, is_new] = ids_.try_emplace(name, static_cast<PeerId>(cards_.size()));
    id = found->second;
    if (is_new) {
      cards_.push_back({.name = name, .address = address});
    } else {
      PeerCard& card = cards_[static_cast<std::size_t>(id)];
      if (card.address == address) return id;
      card.address = address;
      card.state = PeerState::kConnecting;
      is_move = true;
    }
  }
  hand_over(ActionItem{[this, id, name, address, options, is_move] {
    if (is_move) end_peer(id, Code::kUnavailable, fmt::format("moved to {}", address));
    begin_peer(id, name, address, options);
  }});
  return id;
}

void Core::remove_peer(PeerId peer) {
  {
    const MutexLock lock(cards_mutex_);
    const auto i = static_cast<std::size_t>(peer);
    if (i >= cards_.size() || cards_[i].is_removed) return;
    ids_.erase(cards_[i].name);
    cards_[i].is_removed = true;
  }
  cards_changed_.notify_all();
  hand_over(ActionItem{[this, peer] { end_peer(peer, Code::kCancelled, "was removed"); }});
}

PeerState Core::state(PeerId peer) const {
  const MutexLock lock(cards_mutex_);
  const auto i = static_cast<std::size_t>(peer);
  return i < cards_.size() ? cards_[i].state : PeerState::kLost;
}

Incarnation Core::incarnation_of(PeerId peer) const {
  const MutexLock lock(cards_mutex_);
  const auto i = static_cast<std::size_t>(peer);
  return i < cards_.size() ? cards_[i].incarnation : 0;
}

std::string Core::reason(PeerId peer) const {
  const MutexLock lock(cards_mutex_);
  const auto i = static_cast<std::size_t>(peer);
  return i < cards_.size() ? cards_[i].reason : "";
}

void Core::request(PeerId peer, Message message, Deadline deadline, ReplyCallback callback) {
  hand_over(RequestItem{peer, std::move(message), deadline, std::move(callback)});
}

void Core::post(std::function<void()> action) { hand_over(ActionItem{std::move(action), true}); }

void Core::post_at(Clock::time_point when, std::function<void()> action) {
  hand_over(ActionItem{[this, when, action = std::move(action)]() mutable { at(when, std::move(action)); }, true});
}

Result<void> Core::wait_up(std::span<const PeerId> peers, Deadline deadline, const std::stop_token& stop) {
  assert(!on_io_thread());
  WaitReport report;
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(cards_mutex_);
    cards_changed_.notify_all();
  });
  MutexLock lock(cards_mutex_);
  for (;;) {
    bool all_up = true;
    for (const PeerId peer : peers) {  // thousands of them, after every change: names are for the end
      const auto i = static_cast<std::size_t>(peer);
      if (i >= cards_.size() || cards_[i].is_removed)
        return fail(Code::kNotFound, "no such peer: {}", i < cards_.size() ? cards_[i].name : std::to_string(i));
      const PeerCard& card = cards_[i];
      if (card.refused)
        return fail(Error{*card.refused, fmt::format("{} at {} {}", card.name, card.address, card.reason), card.name});
      all_up = all_up && card.state == PeerState::kUp;
    }
    if (all_up) return {};
    if (deadline.expired()) return fail(late(peers, report.since()));
    if (stop.stop_requested()) return fail(Error{Code::kCancelled, late(peers, report.since()).message, {}});
    if (report.take_due()) {
      const std::string whom = late(peers, report.since()).message;
      lock.unlock();
      options_.log.warning("still connecting: {}", whom);
      lock.lock();
      continue;
    }
    bool is_woken = false;  // by any change: it looks again above
    lock.wait(cards_changed_, deadline.earlier_of(Deadline::at(report.next())),
              [&is_woken] { return std::exchange(is_woken, true); });
  }
}

Error Core::late(std::span<const PeerId> peers, Clock::time_point since) const {
  std::vector<std::string> missing;
  std::size_t others = 0;
  for (const PeerId peer : peers) {
    const PeerCard& card = cards_[static_cast<std::size_t>(peer)];
    if (card.state == PeerState::kUp) continue;
    if (missing.size() == kMostNamed)
      ++others;
    else
      missing.push_back(card.reason.empty() ? card.name : fmt::format("{} ({})", card.name, card.reason));
  }
  if (others > 0) missing.push_back(counted(others, "other"));
  const auto waited = std::chrono::round<std::chrono::duration<std::int64_t, std::deci>>(Clock::now() - since);
  const std::string how_long = waited.count() == 0 ? "waiting" : "waited " + format_duration(waited);
  return {Code::kDeadlineExceeded, fmt::format("{} for {}", how_long, join_words(missing)), {}};
}

}  // namespace tfd::transport
