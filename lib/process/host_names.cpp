// SPDX-License-Identifier: Apache-2.0
#include "tfd/process/host_names.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <memory>

#include "tfd/base/notifier.hpp"
#include "tfd/base/text.hpp"

namespace tfd::process {
namespace {

constexpr Duration kLookAgain = std::chrono::milliseconds(500);

/// Numeric addresses; the error is the system's reason alone.
Result<std::vector<std::string>> look_up(const std::string& host) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (error != 0) return fail(Code::kUnavailable, "{}", ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
  std::vector<std::string> out;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(entry->ai_addr, entry->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0)
      out.emplace_back(text.data());
  }
  if (out.empty()) return fail(Code::kUnavailable, "it has no address");
  return out;
}

}  // namespace

Result<std::vector<std::string>> wait_for_host(const std::string& host, const NameWait& how) {
  Notifier woken;
  const std::stop_callback wake(how.interruption, [&woken] { woken.notify(); });
  const std::string name = printable(host);
  WaitReport wait(how.report);
  for (;;) {
    auto found = look_up(host);
    if (found && wait.has_reported() && how.say) how.say(fmt::format("{} resolves after {}", name, wait.waited()));
    if (found) return found;
    const std::string& why = found.error().message;
    if (how.interruption.stop_requested())
      return fail(Code::kCancelled, "interrupted while waiting for {} to resolve: {}", name, why);
    if (how.deadline.expired())
      return fail(Code::kDeadlineExceeded, "waited {} for {} to resolve: {}", wait.waited(), name, why);
    if (wait.take_due() && how.say) how.say(wait.line(fmt::format("{} to resolve: {}", name, why)));
    woken.wait(how.deadline.earlier_of(Deadline::after(kLookAgain)));
  }
}

}  // namespace tfd::process
