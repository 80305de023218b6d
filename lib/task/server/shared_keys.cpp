// SPDX-License-Identifier: Apache-2.0
#include "tfd/task/shared_keys.hpp"

#include <condition_variable>
#include <utility>

#include "coordination/coordination_service.hpp"
#include "messages/protocol.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/task/host_exchange.hpp"

namespace tfd::task {
namespace {

constexpr const char* kPrefix = "devices";
constexpr Duration kKeysLook = std::chrono::milliseconds(200);  // of an interruption

/// An answer in this process.
class OwnResponder final : public transport::Responder::Impl {
 public:
  explicit OwnResponder(transport::ReplyCallback done) : done_(std::move(done)) {}
  void reply(Result<transport::Message> answer) override { done_(std::move(answer)); }

 private:
  transport::ReplyCallback done_;
};

}  // namespace

struct SharedKeys::Link {
  Mutex mutex;
  std::condition_variable changed;
  transport::Endpoint* endpoint TFD_GUARDED_BY(mutex) = nullptr;  // null: not begun yet, or closed
  std::optional<transport::PeerId> first TFD_GUARDED_BY(mutex);
  std::weak_ptr<CoordinationService> service TFD_GUARDED_BY(mutex);  // of the first member itself
  std::optional<Error> failed TFD_GUARDED_BY(mutex) = Error{Code::kUnavailable, "the group hasn't begun"};

  /// State shared by a request in flight and the thread that waits for it.
  struct Answer {
    std::optional<Result<transport::Message>> got = {};  // under Link::mutex
  };

  /// Sends the request. Call under the lock.
  void send(transport::Message message, Deadline deadline, transport::ReplyCallback done) TFD_REQUIRES(mutex) {
    if (first) return endpoint->request(*first, std::move(message), deadline, std::move(done));
    endpoint->post([service = service, message = std::move(message), done = std::move(done)]() mutable {
      const auto serves = service.lock();
      if (serves == nullptr) return;
      serves->handle({.name = "this process", .connection = ~std::uint64_t{0}}, message,
                     transport::Responder(std::make_unique<OwnResponder>(std::move(done))));
    });
  }
};

SharedKeys::SharedKeys(std::string name, bool is_first) : name_(std::move(name)), link_(std::make_shared<Link>()) {
  if (!is_first) return;
  service_ = std::make_shared<CoordinationService>(
      name_, [](std::uint64_t, const std::function<void(bool)>& done) { done(true); },
      [link = std::weak_ptr(link_)](Clock::time_point when, std::function<void()> action) {
        const auto own = link.lock();
        if (own == nullptr) return;
        const MutexLock lock(own->mutex);
        if (own->endpoint != nullptr) own->endpoint->post_at(when, std::move(action));
      },
      [](std::int64_t) { return false; });
}

void SharedKeys::begin(transport::Endpoint& endpoint, std::optional<transport::PeerId> first) {
  const MutexLock lock(link_->mutex);
  link_->endpoint = &endpoint;
  link_->failed.reset();
  link_->first = first;
  link_->service = service_;
}

void SharedKeys::fail_all(const Error& error) {
  const MutexLock lock(link_->mutex);
  if (!link_->failed) link_->failed = error;
  link_->changed.notify_all();
}

void SharedKeys::close() {
  fail_all({Code::kUnavailable, "the group that the devices' hosts met in has ended"});
  const MutexLock lock(link_->mutex);
  link_->endpoint = nullptr;
}

bool SharedKeys::is_request(const transport::Message& message) {
  return message.kind == static_cast<std::uint16_t>(Kind::kCoordinate);
}

void SharedKeys::handle(const transport::Caller& caller, const transport::Message& request,
                        transport::Responder responder) {
  if (service_ == nullptr) return responder.reply(fail(Code::kFailedPrecondition, "{} has no keys to share", name_));
  const auto failed = [this]() -> std::optional<Error> {
    const MutexLock lock(link_->mutex);
    return link_->failed;
  }();
  if (failed) return responder.reply(fail(*failed));
  service_->handle(caller, request, std::move(responder));
}

void SharedKeys::caller_gone(const transport::Caller& caller) {
  if (service_ != nullptr) service_->caller_gone(caller);
}

std::shared_ptr<function::HostExchange> SharedKeys::exchange() {
  const auto ask = [link = link_](const CoordinationRequest& request, Deadline deadline,
                                  const std::stop_token& stop) -> Result<CoordinationAnswer> {
    const auto answer = std::make_shared<Link::Answer>();
    MutexLock lock(link->mutex);
    if (link->failed) return fail(*link->failed);
    link->send(encode(request, 0), deadline, [link, answer](Result<transport::Message> got) {
      const MutexLock inner(link->mutex);
      answer->got = std::move(got);
      link->changed.notify_all();
    });
    while (!answer->got) {
      if (link->failed) return fail(*link->failed);
      if (stop.stop_requested()) return fail(Code::kCancelled, "interrupted");
      if (deadline.expired()) return fail(Code::kDeadlineExceeded, "the first member doesn't answer");
      lock.wait(link->changed, deadline.earlier_of(Deadline::after(kKeysLook)),
                [&]() TFD_REQUIRES(link->mutex) { return answer->got.has_value() || link->failed.has_value(); });
    }
    if (!*answer->got) return fail((*answer->got).error());
    return decode_coordination_answer(**answer->got);
  };
  return make_host_exchange(CoordinationClient(ask), kPrefix);
}

}  // namespace tfd::task
