#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The pods of one label selector, kept up to date: listed page by page, then watched from the resource version of the
// list on, so that no change is missed between the two or between two watches. Thread rule: one thread.
//
//   PodWatcher pods(client, environment, "job-name=a", std::nullopt);
//   TFD_TRY(pods.list(deadline));
//   const bool changed = TFD_TRY(pods.watch(deadline, [&] { return is_complete(pods.pods()); }));
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client.hpp"
#include "pods.hpp"

namespace tfd::resolve::kubernetes {

class PodWatcher {
 public:
  PodWatcher(Client& client, const ResolverEnvironment& environment, std::string selector,
             std::optional<std::string> namespace_name, bool in_pages);

  /// Lists all pods anew. Errors as Client::get()'s.
  Result<void> list(Deadline deadline);
  /// Watches until `enough` (asked after each batch of changes, and after each new list) is true, or the deadline:
  /// whether it was. Cut connections, restarts of the server and "too old" are survived, with pauses; kPermissionDenied
  /// and kInvalidArgument aren't. Where watching isn't allowed the pods are listed every few seconds.
  Result<bool> watch(Deadline deadline, const std::function<bool()>& enough);

  std::vector<Pod> pods() const;  // by name, those of one name as the API gave them
  const std::string& selector() const { return selector_; }
  /// "pods of job-name=a in all namespaces".
  std::string describe() const;

 private:
  enum class Ended { kEnough, kByServer, kTooOld };
  Result<Ended> watch_once(Deadline deadline, const std::function<bool()>& enough);
  Result<void> list_pages(Deadline deadline, bool in_pages);
  Result<void> relist(Deadline deadline);
  bool rest(Deadline deadline);
  void answered();
  bool apply(const WatchEvent& event);
  std::string path() const;

  Client& client_;
  const ResolverEnvironment& environment_;
  std::string selector_;
  std::optional<std::string> namespace_;
  bool in_pages_;
  bool may_watch_ = true;
  struct Held {
    Pod pod;
    std::size_t order = 0;  // as the API gave them
  };
  std::map<std::string, Held> pods_;  // by uid
  std::string resource_version_;
  int failures_ = 0;  // in a row
};

}  // namespace tfd::resolve::kubernetes
