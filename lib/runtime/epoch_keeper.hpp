#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What hands out the epochs of a cluster, on a parameter server: one holder at a time. A second claim is refused while
// the first holder answers a ping, sent then and there; one that is dead, or frozen, is succeeded.
// Thread rule: lives on the endpoint's I/O thread.
#include <functional>
#include <optional>
#include <string>

#include "protocol.hpp"
#include "tfd/base/deadline.hpp"
#include "tfd/runtime/epoch.hpp"

namespace tfd::runtime {

class EpochKeeper {
 public:
  using Ping = std::function<void(std::uint64_t connection, std::function<void(bool answers)>)>;
  /// `name` is the task's.
  EpochKeeper(std::string name, Ping ping);

  /// `loaded` is the epoch of the run that is there, 0: none. Answered with an epoch; kPermissionDenied says who has
  /// the cluster.
  void claim(const transport::Caller& caller, Claim claim, std::uint64_t loaded, transport::Responder responder);

 private:
  struct Holder {
    std::uint64_t connection = 0;
    std::string name;
    std::string host;
    std::int64_t pid = 0;
    Clock::time_point since{};
    std::uint64_t epoch = 0;
  };
  void grant(const transport::Caller& caller, const Claim& claim, std::uint64_t loaded, transport::Responder responder);
  Error refusal(const Holder& holder) const;

  std::string name_;
  Ping ping_;
  std::optional<Holder> holder_;
  std::uint64_t next_;
};

}  // namespace tfd::runtime
