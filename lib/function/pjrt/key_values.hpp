#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The callbacks by which a PJRT client accesses the hosts' key-value store. Thread rule: thread-safe; a plug-in calls
// them from any thread until its client is destroyed.
#include <memory>

#include "api.hpp"
#include "tfd/function/hosts.hpp"

namespace tfd::function {

class KeyValues {
 public:
  explicit KeyValues(std::shared_ptr<HostExchange> exchange) : exchange_(std::move(exchange)) {}
  KeyValues(const KeyValues&) = delete;
  KeyValues& operator=(const KeyValues&) = delete;

  /// Adds all three callbacks: a client that lacks one uses none. This object must outlive the client.
  void add_to(PJRT_Client_Create_Args& args);

 private:
  static PJRT_Error* get(PJRT_KeyValueGetCallback_Args* args);
  static PJRT_Error* try_get(PJRT_KeyValueTryGetCallback_Args* args);
  static PJRT_Error* put(PJRT_KeyValuePutCallback_Args* args);

  std::shared_ptr<HostExchange> exchange_;  // shared with its maker
};

}  // namespace tfd::function
