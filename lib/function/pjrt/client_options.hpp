#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The options that a PJRT client is made with. Each platform's plug-ins have their own, and most refuse others, so they
// depend on the platform; where that isn't known before there is a client, on what the plug-in accepts (facts: pjrt,
// section 4). Thread rule: plain values, pure functions.
#include <span>
#include <string_view>
#include <vector>

#include "api.hpp"
#include "tfd/function/function.hpp"

namespace tfd::function {

/// One way to make a client.
struct ClientAttempt {
  std::vector<ClientOption> options;
  bool exchanges = false;        // it gets the callbacks of the hosts' exchange
  bool chooses_devices = false;  // the client has ClientWish::visible only, in ascending order
};

struct ClientWish {
  std::string_view kind = {};         // "cpu", "gpu", "tpu"; empty: not known
  int cpu_devices = 0;                // of a CPU plug-in; 0: as many as it has
  std::span<const int> visible = {};  // positions of a GPU plug-in's devices that the client is for; empty: all
  int hosts = 1, host = 0;
  bool has_exchange = false;
  std::span<const ClientOption> own = {};  // the user's
};

/// The ways in which to make a client, in order: a plug-in that refuses the options of one is asked for the next. All
/// of what a platform needs goes together: numbers of hosts and devices, and the user's options.
std::vector<ClientAttempt> client_attempts(const ClientWish& wish);

/// Options in the API's form; they refer to `options`.
std::vector<PJRT_NamedValue> named_values(const std::vector<ClientOption>& options);

}  // namespace tfd::function
