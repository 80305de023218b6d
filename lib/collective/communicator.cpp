// SPDX-License-Identifier: Apache-2.0
#include "tfd/collective/communicator.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "meeting.hpp"
#include "tcp_communicator.hpp"
#include "tfd/base/file.hpp"
#include "tfd/base/names.hpp"
#include "tfd/base/text.hpp"

namespace tfd::collective {
namespace {

constexpr NameTable<EngineKind, 3> kEngines{
    {{{EngineKind::kAuto, "auto"}, {EngineKind::kShm, "shm"}, {EngineKind::kTcp, "tcp"}}}};

Result<void> check_members(const Members& members, const Listener* listener) {
  const auto size = static_cast<int>(members.all.size());
  if (members.rank < 0 || members.rank >= size)
    return fail(Code::kInvalidArgument, "rank {} of {} members", members.rank, size);
  if (listener == nullptr && members.rank + 1 < size)
    return fail(Code::kInvalidArgument, "{} needs a listener for the members after it",
                members.all[static_cast<std::size_t>(members.rank)].name);
  return {};
}

}  // namespace

Result<EngineKind> parse_engine_kind(std::string_view name) {
  if (const auto kind = kEngines.find(name)) return *kind;
  return fail(Code::kUsage, "'{}' moves no collectives: choose {}", printable(name), join_words(kEngines.names()));
}

std::string host_id() {
  std::array<char, 64> space{};
  const ssize_t size = ::readlink("/proc/self/ns/net", space.data(), space.size());
  std::string boot = load_file("/proc/sys/kernel/random/boot_id").value_or("");
  std::erase_if(boot, is_space);
  return boot + "/" + std::string(space.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
}

void Communicator::on_stall(Duration after, Duration again, std::function<void(const std::string&)> say) {
  stall_ = {after, again, std::move(say)};
}

Result<std::unique_ptr<Communicator>> connect(Members members, Listener* listener, EngineKind engine,
                                              Deadline deadline) {
  TFD_TRY(check_members(members, listener));
  if (engine == EngineKind::kShm) return fail(Code::kUnimplemented, "collectives by shared memory aren't there yet");
  if (members.is_encrypted) return fail(Code::kUnimplemented, "collectives can't be encrypted yet");
  auto streams = TFD_TRY(meet(members, listener, deadline));
  auto tcp = TFD_TRY(TcpCommunicator::make(std::move(members), std::move(streams)));
  const auto generation = static_cast<std::int64_t>(tcp->generation());
  TFD_TRY(tcp->barrier("connect", generation, deadline));
  return std::unique_ptr<Communicator>(std::move(tcp));
}

}  // namespace tfd::collective
