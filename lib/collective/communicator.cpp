// SPDX-License-Identifier: Apache-2.0
#include "tfd/collective/communicator.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "meeting.hpp"
#include "sockets.hpp"
#include "stream.hpp"
#include "stream_communicator.hpp"
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

using Streams = std::vector<std::unique_ptr<Stream>>;

Result<Streams> network_streams(std::vector<Met> met, bool is_encrypted) {
  Streams out(met.size());
  for (std::size_t rank = 0; rank < met.size(); ++rank) {
    const auto& [of_asker, of_answerer] = met[rank].keys;
    if (!met[rank].socket) continue;
    out[rank] = !is_encrypted     ? make_plain_stream(std::move(met[rank].socket))
                : met[rank].asked ? TFD_TRY(make_sealed_stream(std::move(met[rank].socket), of_asker, of_answerer))
                                  : TFD_TRY(make_sealed_stream(std::move(met[rank].socket), of_answerer, of_asker));
  }
  return out;
}

Result<Streams> shared_streams(std::vector<Met> met, Deadline deadline) {
  Streams out(met.size());
  for (std::size_t rank = 0; rank < met.size(); ++rank)
    if (met[rank].asked) out[rank] = TFD_TRY(make_shared_stream(std::move(met[rank].socket)));
  for (std::size_t rank = 0; rank < met.size(); ++rank)
    if (met[rank].socket) out[rank] = TFD_TRY(take_shared_stream(std::move(met[rank].socket), deadline));
  return out;
}

/// All are connected when it returns.
Result<std::unique_ptr<StreamCommunicator>> connect_streams(const Members& members, Streams streams,
                                                            bool shares_memory, Deadline deadline) {
  auto out = TFD_TRY(StreamCommunicator::make(members, std::move(streams), shares_memory));
  TFD_TRY(out->barrier("connect", static_cast<std::int64_t>(members.generation), deadline));
  return out;
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
  const bool is_one_host =
      std::ranges::all_of(members.all, [&](const Member& member) { return member.host == members.all.front().host; });
  if (engine == EngineKind::kShm && !is_one_host)
    return fail(Code::kFailedPrecondition, "members of several hosts share no memory");
  const bool shares = engine != EngineKind::kTcp && is_one_host;
  auto network = TFD_TRY(network_streams(TFD_TRY(meet(members, listener, deadline)), members.is_encrypted));
  auto tcp = TFD_TRY(connect_streams(members, std::move(network), false, deadline));
  if (!shares || members.all.size() == 1) return std::unique_ptr<Communicator>(std::move(tcp));
  // Unix sockets, whose names the members tell each other, carry the memory's descriptors.
  const auto local = TFD_TRY(listen_on_host());
  const auto step = static_cast<std::int64_t>(members.generation);
  const auto names = TFD_TRY(tcp->all_gather("shared memory", step, local->address(), deadline, 256));
  Members near = members;
  for (std::size_t rank = 0; rank < names.size(); ++rank) near.all[rank].address = names[rank];
  auto streams = TFD_TRY(shared_streams(TFD_TRY(meet(near, local.get(), deadline)), deadline));
  return std::unique_ptr<Communicator>(TFD_TRY(connect_streams(members, std::move(streams), true, deadline)));
}

}  // namespace tfd::collective
