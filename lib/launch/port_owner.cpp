// SPDX-License-Identifier: Apache-2.0
#include "tfd/launch/port_owner.hpp"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <sstream>

#include "tfd/base/file.hpp"
#include "tfd/base/text.hpp"

namespace tfd::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostTable = std::size_t{64} << 20;

/// An address as the kernel's tables have it: words of four bytes, in the host's order. Empty: it isn't numeric.
std::string table_form(const std::string& host) {
  std::array<std::uint32_t, 4> words{};
  if (::inet_pton(AF_INET, host.c_str(), words.data()) == 1) return fmt::format("{:08X}", words[0]);
  if (::inet_pton(AF_INET6, host.c_str(), words.data()) != 1) return "";
  return fmt::format("{:08X}{:08X}{:08X}{:08X}", words[0], words[1], words[2], words[3]);
}

/// Names of the sockets that listen at the address, or at any: "socket:[4711]".
std::set<std::string> listening_sockets(const cluster::Address& address) {
  const std::string host = table_form(address.host), port = fmt::format(":{:04X}", address.port);
  std::set<std::string> out;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::istringstream lines(load_file(table, kMostTable).value_or(""));
    for (std::string line; std::getline(lines, line);) {
      // Number, local and remote address, state, queues, timer, retransmissions, user, time-out, inode.
      std::array<std::string, 10> fields;
      std::istringstream words(line);
      for (std::string& field : fields) words >> field;
      const std::string& at = fields[1];
      if (fields[3] != "0A" || !at.ends_with(port)) continue;
      const std::string bound = at.substr(0, at.size() - port.size());
      if (bound == host || bound.find_first_not_of('0') == std::string::npos)
        out.insert(fmt::format("socket:[{}]", fields[9]));
    }
  }
  return out;
}

bool has_one_of(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code ignored;  // another user's, or it has ended
  for (fs::directory_iterator file(process / "fd", ignored), end; !ignored && file != end; file.increment(ignored)) {
    std::error_code unreadable;
    if (sockets.contains(fs::read_symlink(file->path(), unreadable).string())) return true;
  }
  return false;
}

}  // namespace

std::string describe_port_owner(const cluster::Address& address) {
  const std::set<std::string> sockets = listening_sockets(address);
  if (sockets.empty()) return "";
  std::error_code ignored;
  for (fs::directory_iterator process("/proc", ignored), end; !ignored && process != end; process.increment(ignored)) {
    const std::string pid = process->path().filename();
    if (!std::ranges::all_of(pid, [](char c) { return c >= '0' && c <= '9'; })) continue;
    if (!has_one_of(process->path(), sockets)) continue;
    std::string name = load_file(process->path() / "comm").value_or("");
    std::erase(name, '\n');
    return fmt::format("{}, process {}", printable(name), pid);
  }
  return "";
}

void name_port_owner(Error& error, const cluster::Address& address) {
  if (const std::string owner = describe_port_owner(address); !owner.empty())
    error.message += fmt::format(" ({})", owner);
}

}  // namespace tfd::launch
