#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Code shared by the tests of the transports: endpoints of every kind, and things to wait for.
#include <doctest/doctest.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "poller.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::transport {

using namespace std::chrono_literals;

inline constexpr auto kSoon = 60s;  // nothing takes so long unless it is broken
inline Deadline soon() { return Deadline::after(kSoon); }

inline std::shared_ptr<Poller> make_poller() { return Poller::make(std::make_shared<Waker>()).value(); }

/// Counts what it is told.
struct Counted final : Poller::Watcher {
  int told = 0;
  void on_ready(std::uint64_t, std::uint32_t) override { ++told; }
};

class Bed {
 public:
  virtual ~Bed() = default;
  virtual std::unique_ptr<Endpoint> make(EndpointOptions options) = 0;
  virtual std::string any_address() = 0;

  std::unique_ptr<Endpoint> serve(Handler handler, std::string name = "worker:0", std::string bind = "") {
    EndpointOptions options;
    options.name = std::move(name);
    options.handler = std::move(handler);
    options.bind = bind.empty() ? any_address() : bind;
    return make(std::move(options));
  }
  std::unique_ptr<Endpoint> client() {
    EndpointOptions options;
    options.name = "coordinator";
    return make(std::move(options));
  }
};

class ZmqBed final : public Bed {
 public:
  explicit ZmqBed(std::string kind) : kind_(std::move(kind)) {
    if (kind_ != "ipc") return;
    char path[] = "/tmp/tfd-transport-XXXXXX";
    directory_ = mkdtemp(path);
  }
  ~ZmqBed() override {
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }
  std::unique_ptr<Endpoint> make(EndpointOptions options) override {
    options.transport = kind_ == "ring" ? Transport::kRing : Transport::kTcp;
    auto made = make_zmq_endpoint(std::move(options));
    REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error().message));
    return std::move(*made);
  }
  std::string any_address() override {
    if (kind_ == "ipc") return "ipc://" + directory_ + "/" + std::to_string(++count_);
    return kind_ == "ipv6" ? "[::1]:0" : "127.0.0.1:0";
  }

 private:
  std::string kind_;
  std::string directory_;
  int count_ = 0;
};

class InprocBed final : public Bed {
 public:
  std::unique_ptr<Endpoint> make(EndpointOptions options) override {
    auto made = network->make_endpoint(std::move(options));
    REQUIRE(made.has_value());
    return std::move(*made);
  }
  std::string any_address() override { return "127.0.0.1:0"; }
  std::unique_ptr<InprocNetwork> network = make_inproc_network();
};

inline void with_every_bed(void (*test)(Bed&)) {
  SUBCASE("tcp") {
    ZmqBed bed("tcp");
    test(bed);
  }
  SUBCASE("ipc") {
    ZmqBed bed("ipc");
    test(bed);
  }
  SUBCASE("ring") {
    ZmqBed bed("ring");
    test(bed);
  }
  SUBCASE("inproc") {
    InprocBed bed;
    test(bed);
  }
}

#define TFD_CONCAT_(a, b) a##b
#define TFD_CONCAT(a, b) TFD_CONCAT_(a, b)
/// A test case that runs over each transport; `bed` is at hand.
#define EVERY_TRANSPORT(name)                                                                     \
  static void TFD_CONCAT(every_transport_, __LINE__)(Bed & bed);                                  \
  TEST_CASE("every transport: " name) { with_every_bed(TFD_CONCAT(every_transport_, __LINE__)); } \
  static void TFD_CONCAT(every_transport_, __LINE__)(Bed & bed)

/// A list that other threads add to and the test waits for.
template <class T>
class Seen {
 public:
  void add(T value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
    changed_.notify_all();
  }
  /// All values once there are `count`; fails the test when they don't come.
  std::vector<T> wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    const bool there = changed_.wait_until(lock, Clock::now() + kSoon, [&] { return values_.size() >= count; });
    CHECK_MESSAGE(there, "waited for ", count, ", have ", values_.size());
    return values_;
  }
  std::vector<T> now() const {
    const std::lock_guard lock(mutex_);
    return values_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<T> values_;
};

class Flag {
 public:
  void raise() { seen_.add(1); }
  void wait() { seen_.wait(1); }

 private:
  Seen<int> seen_;
};

inline Message text_message(std::string text, std::uint16_t kind = 1) { return {kind, std::move(text), {}}; }

inline tensor::Tensor ramp(std::int64_t size) {
  tensor::Tensor out = tensor::Tensor::uninitialized(tensor::DType::kF32, {size});
  for (std::int64_t i = 0; i < size; ++i) out.mutable_as<float>()[i] = static_cast<float>(i % 100003);
  return out;
}

inline void echo(const Caller&, Message request, Responder responder) { responder.reply(std::move(request)); }

}  // namespace tfd::transport
