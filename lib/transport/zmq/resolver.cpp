// SPDX-License-Identifier: Apache-2.0
#include "zmq/resolver.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "tfd/base/thread_annotations.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::transport {
namespace {

constexpr int kMostThreads = 4;

bool is_numeric(const std::string& host) {
  in_addr four;
  return inet_pton(AF_INET, host.c_str(), &four) == 1;
}

Resolver::Answer look(std::uint64_t tag, const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int code = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (code == EAI_NONAME || code == EAI_NODATA) return {tag, {}, std::string(kNoSuchHost)};
  if (code != 0) return {tag, {}, fmt::format("{}: {}", kCannotLookUp, gai_strerror(code))};
  Resolver::Answer answer{tag, {}, std::string(kNoSuchHost)};
  for (const int family : {AF_INET, AF_INET6})
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
      char text[NI_MAXHOST];
      if (one->ai_family != family ||
          getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
        continue;
      answer.addresses.push_back(family == AF_INET6 ? "[" + std::string(text) + "]" : text);
    }
  freeaddrinfo(found);
  return answer;
}

}  // namespace

struct Resolver::State {
  std::shared_ptr<Waker> waker;  // the endpoint's
  Mutex mutex;
  std::deque<std::pair<std::uint64_t, std::string>> asked TFD_GUARDED_BY(mutex);
  std::vector<Answer> answers TFD_GUARDED_BY(mutex);
  int threads TFD_GUARDED_BY(mutex) = 0;
  std::atomic<bool> has_answers{false};

  void work() {
    MutexLock lock(mutex);
    while (!asked.empty()) {
      const auto [tag, host] = std::move(asked.front());
      asked.pop_front();
      lock.unlock();
      Answer answer = look(tag, host);
      lock.lock();
      answers.push_back(std::move(answer));
      has_answers = true;
      waker->wake();
    }
    --threads;
  }
};

std::string host_name(const std::string& address) {
  const std::size_t scheme = address.find("://");
  if (scheme != std::string::npos && !address.starts_with("tcp://")) return "";
  const std::size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon <= begin) return "";
  const std::string host = address.substr(begin, colon - begin);
  const bool could_be = std::all_of(host.begin(), host.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_';
  });
  return could_be && !is_numeric(host) ? host : "";
}

Resolver::Resolver(std::shared_ptr<Waker> waker) : state_(std::make_shared<State>()) {
  state_->waker = std::move(waker);
}

Resolver::~Resolver() {
  const MutexLock lock(state_->mutex);
  state_->asked.clear();
}

void Resolver::look_up(std::uint64_t tag, const std::string& host) {
  const MutexLock lock(state_->mutex);
  state_->asked.emplace_back(tag, host);
  if (state_->threads == kMostThreads) return;
  ++state_->threads;
  // Detached: getaddrinfo() can't be interrupted and may take a minute, and destruction mustn't wait for it.
  std::thread([state = state_] { state->work(); }).detach();
}

std::vector<Resolver::Answer> Resolver::take() {
  if (!state_->has_answers.load()) return {};
  const MutexLock lock(state_->mutex);
  state_->has_answers = false;
  return std::exchange(state_->answers, {});
}

bool Resolver::has_answers() const { return state_->has_answers.load(); }

}  // namespace tfd::transport
