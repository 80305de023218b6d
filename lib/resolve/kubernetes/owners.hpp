#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The numbers of pods that Jobs and StatefulSets are to have. Thread rule: one thread.
#include <vector>

#include "choose.hpp"
#include "client.hpp"

namespace tfd::resolve::kubernetes {

/// The size of a Job or a StatefulSet as the API gives it.
Size read_size(std::string_view kind, const cluster::JsonValue& object);

class Owners {
 public:
  Owners(Client& client, const ResolverEnvironment& environment) : client_(client), environment_(environment) {}
  /// Asks about the owners of these pods that weren't asked about since forget(). Where that isn't allowed, or the
  /// owner is gone, it stays unknown and the log says so. Errors: kUnavailable, kDeadlineExceeded.
  Result<void> learn(const std::vector<Pod>& pods, Deadline deadline);
  /// Whether learn() would ask.
  bool knows(const std::vector<Pod>& pods) const;
  void forget();
  const Sizes& sizes() const { return sizes_; }

 private:
  Client& client_;
  const ResolverEnvironment& environment_;
  Sizes sizes_;
  Sizes unknown_;  // asked about in vain
  bool said_ = false;
};

}  // namespace tfd::resolve::kubernetes
