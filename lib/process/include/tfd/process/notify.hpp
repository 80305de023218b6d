#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Notifies the service manager that started us (systemd) of our state. Source: sd_notify(3). Thread rule: pure
// function.
#include <string_view>

#include "tfd/base/environment.hpp"
#include "tfd/base/error.hpp"

namespace tfd::process {

/// "READY=1", "STOPPING=1". Nothing happens where NOTIFY_SOCKET is unset. kSystem when the socket refuses.
Result<void> notify_service_manager(const Environment& env, std::string_view state);

}  // namespace tfd::process
