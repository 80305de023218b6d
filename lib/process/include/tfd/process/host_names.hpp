#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Addresses of hosts by name, as the system's name service has them: a name may come later, as that of a pod does a few
// seconds after its start. Thread rule: a free function, which blocks.
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/wait_report.hpp"

namespace tfd::process {

struct NameWait {
  Deadline deadline;
  Duration report = kFirstWaitReport;                     // until a line says so
  std::function<void(const std::string& line)> say = {};  // may be empty
  std::stop_token interruption = {};
};
/// Looks a host up until its name resolves. Returns its numeric addresses, at least one, in the system's order; a
/// numeric one is its own. kDeadlineExceeded: "waited 10m for train-1.train to resolve: Name or service not known";
/// kCancelled: interrupted.
Result<std::vector<std::string>> wait_for_host(const std::string& host, const NameWait& how);

}  // namespace tfd::process
