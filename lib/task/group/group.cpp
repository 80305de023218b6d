// SPDX-License-Identifier: Apache-2.0
#include "tfd/task/group.hpp"

#include <netdb.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <map>
#include <optional>

#include "meeting.hpp"
#include "messages/protocol.hpp"
#include "tfd/base/environment.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/base/units.hpp"
#include "tfd/cluster/address.hpp"
#include "tfd/cluster/task_id.hpp"

namespace tfd::task {
namespace {

constexpr Duration kNamedAfter = std::chrono::seconds(3);   // of silence
constexpr Duration kPoll = std::chrono::milliseconds(200);  // of a wait's deadline, interruption and report

Result<collective::Secret> make_secret() {
  collective::Secret out{};
  if (::getrandom(out.data(), out.size(), 0) != static_cast<ssize_t>(out.size()))
    return fail_errno(errno, "cannot draw random bytes");
  return out;
}

/// The address of a host by name: the first that the resolver knows.
Result<std::string> resolve(const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) return fail(Code::kUnavailable, "{} can't be resolved: {}", printable(host), ::gai_strerror(error));
  std::array<char, NI_MAXHOST> text{};
  const int named =
      ::getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  ::freeaddrinfo(found);
  if (named != 0) return fail(Code::kUnavailable, "{} can't be resolved", printable(host));
  return std::string(text.data());
}

class GroupImpl final : public Group {
 public:
  explicit GroupImpl(GroupOptions options)
      : options_(std::move(options)), started_(Clock::now()), meeting_(names_of(options_.members)) {}

  ~GroupImpl() override {
    leave();
    endpoint_.reset();  // after this no handler runs
  }

  Result<void> form(Deadline deadline) {
    const std::string host = TFD_TRY(find_host());
    listener_ = TFD_TRY(collective::Listener::bind(host));
    TFD_TRY(make_endpoint(host));
    MeetingResult met = TFD_TRY(is_chief() ? meet_as_chief(deadline) : meet(deadline));
    if (met.members.size() != options_.members.size())
      return fail(Code::kInvalidArgument, "{} has a group of {}, this process one of {}: they differ in the cluster",
                  chief(), met.members.size(), options_.members.size());
    devices_ = std::move(met.devices);
    auto communicator = TFD_TRY(collective::connect({.generation = met.generation,
                                                     .rank = options_.rank,
                                                     .all = std::move(met.members),
                                                     .secret = met.secret,
                                                     .is_encrypted = options_.has_key},
                                                    listener_.get(), options_.engine, deadline));
    communicator->on_stall(options_.stall_report, 3 * options_.stall_report, options_.say);
    const MutexLock lock(mutex_);
    communicator_ = std::move(communicator);
    if (lost_) communicator_->cancel(*lost_);
    return {};
  }

  /// Watches the others from now on.
  void watch() {
    for (std::size_t i = 0; i < options_.members.size(); ++i) {
      const auto& [name, address] = options_.members[i];
      if (static_cast<int>(i) != options_.rank) endpoint_->add_peer(name, address, {.patience = patience()});
    }
  }

  collective::Communicator& communicator() override { return *communicator_; }
  const std::vector<int>& devices() const override { return devices_; }
  void leave() override {
    const MutexLock lock(mutex_);
    has_left_ = true;
  }

 private:
  static std::vector<std::string> names_of(const std::vector<std::pair<std::string, std::string>>& members) {
    std::vector<std::string> out;
    for (const auto& [name, address] : members) out.push_back(name);
    return out;
  }
  bool is_chief() const { return options_.rank == 0; }
  Duration patience() const { return std::max(options_.silence - kNamedAfter, Duration::zero()); }
  const std::string& own_name() const { return options_.members[static_cast<std::size_t>(options_.rank)].first; }
  const std::string& chief() const { return options_.members.front().first; }

  /// The numeric address at which this member listens.
  Result<std::string> find_host() const {
    const std::string& text = options_.members[static_cast<std::size_t>(options_.rank)].second;
    const cluster::Address own = TFD_TRY(cluster::parse_address(text), own_name());
    if (!cluster::is_loopback(own) && !options_.has_key && !options_.is_insecure)
      return fail(
          Code::kPermissionDenied,
          "{} is at {}, where other hosts can connect, and there is no key: make one with tfd-serve --generate-key, or "
          "say --insecure",
          own_name(), printable(text));
    return resolve(own.host);
  }

  Result<void> make_endpoint(const std::string& host) {
    const auto& [name, text] = options_.members[static_cast<std::size_t>(options_.rank)];
    transport::EndpointOptions options;
    options.name = name;
    options.bind = cluster::format_address({.host = host, .port = TFD_TRY(cluster::parse_address(text)).port});
    options.listen_fd = options_.listen_fd;
    options.log = options_.log.for_room("transport");
    options.heartbeat_timeout = kNamedAfter;
    options.handler = [this](const transport::Caller& caller, const transport::Message& request,
                             transport::Responder responder) { handle(caller, request, std::move(responder)); };
    options.on_peer = [this](const transport::PeerEvent& event) { peer_changed(event); };
    options.on_caller_gone = [this](const transport::Caller& caller) {
      const MutexLock lock(mutex_);
      const auto found = waiting_.find(caller.connection);
      if (found == waiting_.end()) return;
      meeting_.forget(found->second.rank);
      waiting_.erase(found);
    };
    endpoint_ = TFD_TRY(options_.make_endpoint(std::move(options)), name);
    return {};
  }

  JoinRequest own_request() const {
    return {.name = own_name(),
            .host = collective::host_id(),
            .address = listener_->address(),
            .pid = ::getpid(),
            .devices = options_.devices,
            .agreement = options_.agreement};
  }

  // ---- on the I/O thread

  void handle(const transport::Caller& caller, const transport::Message& request, transport::Responder responder) {
    switch (static_cast<Kind>(request.kind)) {
      case Kind::kStatus:
        return responder.reply(encode(status()));
      case Kind::kMeet:
        return join(caller, request, std::move(responder));
      default:
        return responder.reply(fail(Code::kFailedPrecondition,
                                    "{} makes steps with its group (multi-worker-mirrored) and takes no other work",
                                    own_name()));
    }
  }

  void join(const transport::Caller& caller, const transport::Message& request, transport::Responder responder) {
    if (!is_chief()) return responder.reply(fail(Code::kFailedPrecondition, "{} isn't the chief", own_name()));
    const auto asked = parse_join(request.meta);
    if (!asked) return responder.reply(fail(asked.error()));
    const MutexLock lock(mutex_);
    const auto rank = meeting_.join(*asked);
    if (!rank) return responder.reply(fail(rank.error()));
    std::erase_if(waiting_, [&](const auto& one) { return one.second.rank == *rank; });
    waiting_.emplace(caller.connection, Waiting{*rank, std::move(responder)});
    has_news_ = true;
    changed_.notify_all();
  }

  void peer_changed(const transport::PeerEvent& event) {
    const auto silence = format_duration(options_.silence);
    std::optional<Error> lost;
    if (event.state == transport::PeerState::kSilent && options_.say)
      options_.say(fmt::format("{} doesn't answer ({}): it is lost after {}", event.name, event.reason, silence));
    // The end of a process is seen by the communicator, behind all that it sent before.
    if (event.state == transport::PeerState::kLost && !event.is_gone)
      lost = Error{Code::kUnavailable, fmt::format("{} is lost ({})", event.name, event.reason), event.name};
    if (!lost) return;
    const MutexLock lock(mutex_);
    if (has_left_ || lost_) return;
    lost_ = std::move(lost);
    if (communicator_) communicator_->cancel(*lost_);
  }

  TaskStatus status() const {
    TaskStatus out;
    if (const auto task = cluster::parse_task(own_name())) out.task = *task;
    out.incarnation = endpoint_ ? endpoint_->incarnation() : 0;
    out.uptime_ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - started_).count();
    out.host = host_name();
    out.pid = ::getpid();
    out.replicas = options_.devices;
    if (options_.describe) options_.describe(out);
    return out;
  }

  // ---- on the caller's thread

  Result<MeetingResult> meet_as_chief(Deadline deadline) {
    {
      const MutexLock lock(mutex_);
      TFD_TRY(meeting_.join(own_request()));
    }
    TFD_TRY(wait(deadline, [this] {
      const MutexLock lock(mutex_);
      return meeting_.missing();
    }));
    const collective::Secret secret = TFD_TRY(make_secret());
    const MutexLock lock(mutex_);
    MeetingResult result = meeting_.end(secret);
    const std::string text = format_result(result);
    for (auto& [connection, one] : waiting_) {
      transport::Message answer;
      answer.kind = static_cast<std::uint16_t>(Kind::kMeet);
      answer.meta = text;
      one.responder.reply(std::move(answer));
    }
    waiting_.clear();
    return result;
  }

  Result<MeetingResult> meet(Deadline deadline) {
    const auto peer = endpoint_->add_peer(chief(), options_.members.front().second, {.patience = patience()});
    bool is_up = false;
    TFD_TRY(wait(deadline, [&]() -> std::vector<std::string> {
      is_up = is_up || endpoint_->state(peer) == transport::PeerState::kUp;
      return is_up ? std::vector<std::string>() : std::vector<std::string>{chief()};
    }));
    transport::Message request;
    request.kind = static_cast<std::uint16_t>(Kind::kMeet);
    request.meta = format_join(own_request());
    std::optional<Result<transport::Message>> answer;
    endpoint_->request(peer, std::move(request), deadline, [this, &answer](Result<transport::Message> got) {
      const MutexLock lock(mutex_);
      answer = std::move(got);
      has_news_ = true;
      changed_.notify_all();
    });
    auto waited = wait(Deadline::never(), [this, &answer] {
      const MutexLock lock(mutex_);
      return answer ? std::vector<std::string>() : std::vector<std::string>{"the other members"};
    });
    if (!waited) {
      endpoint_.reset();  // calls back what is in flight, which refers to this frame
      return fail(std::move(waited).error());
    }
    if (!*answer) return fail(std::move(*answer).error());
    return parse_result((*answer)->meta);
  }

  /// Waits until nobody is missing.
  template <class Missing>
  Result<void> wait(Deadline deadline, const Missing& missing) {
    Deadline report = Deadline::after(options_.stall_report);
    const auto begun = Clock::now();
    for (;;) {
      const std::vector<std::string> names = missing();
      if (names.empty()) return {};
      if (options_.interruption.stop_requested()) return fail(Code::kCancelled, "interrupted");
      if (deadline.expired())
        return fail(Code::kDeadlineExceeded, "waited {} for {} to join", format_duration(Clock::now() - begun),
                    fmt::join(names, ", "));
      if (report.expired()) {
        if (options_.say)
          options_.say(fmt::format("waiting for {} to join ({} so far)", fmt::join(names, ", "),
                                   format_duration(Clock::now() - begun)));
        report = Deadline::after(3 * options_.stall_report);
      }
      MutexLock lock(mutex_);
      lock.wait(changed_, Deadline::after(kPoll), [this]() TFD_REQUIRES(mutex_) { return has_news_; });
      has_news_ = false;
    }
  }

  const GroupOptions options_;
  const Clock::time_point started_;
  std::vector<int> devices_;
  std::unique_ptr<collective::Listener> listener_;

  Mutex mutex_;
  std::condition_variable changed_;
  bool has_news_ TFD_GUARDED_BY(mutex_) = false;
  struct Waiting {
    int rank;
    transport::Responder responder;
  };
  Meeting meeting_ TFD_GUARDED_BY(mutex_);
  std::map<std::uint64_t, Waiting> waiting_ TFD_GUARDED_BY(mutex_);  // by connection
  std::unique_ptr<collective::Communicator> communicator_;           // made under the lock, used by its own thread
  std::optional<Error> lost_ TFD_GUARDED_BY(mutex_);
  bool has_left_ TFD_GUARDED_BY(mutex_) = false;

  std::unique_ptr<transport::Endpoint> endpoint_;  // last: its thread uses the others
};

}  // namespace

Result<std::unique_ptr<Group>> Group::form(GroupOptions options, Deadline deadline) {
  auto group = std::make_unique<GroupImpl>(std::move(options));
  TFD_TRY(group->form(deadline));
  group->watch();
  return group;
}

}  // namespace tfd::task
