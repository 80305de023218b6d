// SPDX-License-Identifier: Apache-2.0
#include "listen_host.hpp"

#include "tfd/base/text.hpp"
#include "tfd/cluster/address.hpp"
#include "tfd/process/host_names.hpp"

namespace tfd::group {

Result<std::string> wait_for_host_to_listen_at(const GroupOptions& options, Deadline deadline) {
  const auto& [name, text] = options.members[static_cast<std::size_t>(options.rank)];
  const cluster::Address own = TFD_TRY(cluster::parse_address(text), name);
  // Nobody else ever connects to a group of one.
  if (options.members.size() == 1 && options.most <= 1) return std::string(cluster::is_ipv6(own) ? "::1" : "127.0.0.1");
  if (!cluster::is_loopback(own) && !options.has_key && !options.is_insecure)
    return fail(
        Code::kPermissionDenied,
        "{} is at {}, where other hosts can connect, and there is no key: make one with tfd-serve --generate-key, or "
        "say --insecure",
        name, printable(text));
  const process::NameWait how{.deadline = deadline,
                              .report = options.stall_report,
                              .say =
                                  [&options, &task = name](const std::string& line) {
                                    if (options.say) options.say(fmt::format("{}: {}", task, line));
                                  },
                              .interruption = options.interruption};
  return TFD_TRY(process::wait_for_host(own.host, how), name).front();
}

}  // namespace tfd::group
