// SPDX-License-Identifier: Apache-2.0
//
// A stream through rings in memory that two processes share: bytes are copied out before they are examined. A byte on
// the socket wakes a sleeper: so that a process that ends wakes its peers, too, without a clock.
#include "shared_stream.hpp"

#include <algorithm>
#include <cstring>

#include "tfd/process/local_socket.hpp"
#include "tfd/process/shared_rings.hpp"

namespace tfd::collective {
namespace {

using process::SharedRings;

constexpr std::size_t kRingBytes = 256 << 10;  // both rings of a pair fit into an L2 cache
constexpr std::size_t kPieceBytes = 32 << 10;  // the reader begins while the next one is written

class SharedStream : public Stream {
 public:
  SharedStream(process::Fd socket, SharedRings rings) : socket_(std::move(socket)), rings_(std::move(rings)) {}

  Result<std::size_t> send(std::span<const std::byte> first, std::span<const std::byte> second) override {
    if (has_ended_) return fail(Code::kUnavailable, "the other process has ended");
    std::size_t sent = 0;
    for (std::span<const std::byte> bytes : {first, second}) {
      while (!bytes.empty()) {
        const std::span<std::byte> room = TFD_TRY(rings_.room());
        const std::size_t size = std::min({bytes.size(), room.size(), kPieceBytes});
        if (size == 0) return sent;
        std::memcpy(room.data(), bytes.data(), size);
        if (rings_.publish(size)) process::ring_bell(fd());
        bytes = bytes.subspan(size);
        sent += size;
      }
    }
    return sent;
  }
  bool has_unsent() const override { return false; }

  Result<std::size_t> receive(std::span<std::byte> to) override {
    std::size_t got = 0;
    while (got < to.size()) {
      const std::span<const std::byte> arrived = TFD_TRY(rings_.arrived());
      const std::size_t size = std::min({to.size() - got, arrived.size(), kPieceBytes});
      if (size == 0) break;
      std::memcpy(to.data() + got, arrived.data(), size);
      if (rings_.consume(size)) process::ring_bell(fd());
      got += size;
    }
    if (got == 0 && has_ended_) return fail(Code::kUnavailable, "the other process has ended");
    return got;
  }

  int fd() const override { return socket_.get(); }
  short events(bool, bool) const override { return POLLIN; }
  bool prepare_to_sleep(bool reads, bool writes) override { return rings_.prepare_to_sleep(reads, writes ? 1 : 0); }
  void wake_up() override {
    rings_.wake_up();
    if (!process::answer_bell(fd())) has_ended_ = true;
  }

 private:
  process::Fd socket_;
  SharedRings rings_;
  bool has_ended_ = false;
};

}  // namespace

Result<std::unique_ptr<Stream>> make_shared_stream(process::Fd socket) {
  const process::Fd memory = TFD_TRY(SharedRings::make_memory(kRingBytes));
  auto rings = TFD_TRY(SharedRings::map(memory, kRingBytes, SharedRings::Side::kMaker));
  constexpr std::byte kHere{0};
  TFD_TRY(process::send_with_descriptor(socket.get(), {&kHere, 1}, memory.get()));
  return std::make_unique<SharedStream>(std::move(socket), std::move(rings));
}

Result<std::unique_ptr<Stream>> take_shared_stream(process::Fd socket, Deadline deadline) {
  pollfd item{socket.get(), POLLIN, 0};
  if (::poll(&item, 1, deadline.poll_ms()) == 0)
    return fail(Code::kDeadlineExceeded, "a member has handed over no memory to share");
  std::byte here{};
  const Result<process::Fd> memory = process::receive_with_descriptor(socket.get(), {&here, 1});
  if (!memory || !*memory) return fail(Code::kUnavailable, "a member has ended before it handed over memory to share");
  auto rings = TFD_TRY(SharedRings::map(*memory, kRingBytes, SharedRings::Side::kTaker));
  return std::make_unique<SharedStream>(std::move(socket), std::move(rings));
}

}  // namespace tfd::collective
