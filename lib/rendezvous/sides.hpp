#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The two sides of a rendezvous. Thread rule: as Rendezvous.
#include <functional>
#include <memory>
#include <utility>

#include "messages.hpp"
#include "tfd/rendezvous/rendezvous.hpp"

namespace tfd::rendezvous {

/// Hands work from an endpoint's thread to the loop's. The loop may outlive a side: the posts of a side are dropped
/// when that side is destroyed. Thread rule: post() is thread-safe; the rest is for the loop's thread.
class Poster {
 public:
  explicit Poster(process::EventLoop& loop) : loop_(loop) {}
  void post(std::function<void()> work) const {
    loop_.post([exists = std::weak_ptr(exists_), work = std::move(work)] {
      if (!exists.expired()) work();
    });
  }

 private:
  process::EventLoop& loop_;
  const std::shared_ptr<const bool> exists_ = std::make_shared<const bool>(true);  // its posts look whether it does
};

Result<std::unique_ptr<Rendezvous>> hold(process::EventLoop& loop, RendezvousOptions options);
Result<std::unique_ptr<Rendezvous>> visit(process::EventLoop& loop, RendezvousOptions options);
/// Options of both sides' endpoints.
transport::EndpointOptions endpoint_options(const RendezvousOptions& options);

}  // namespace tfd::rendezvous
