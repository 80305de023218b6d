// SPDX-License-Identifier: Apache-2.0
//
// What the other side of shared memory writes there: records that can't be, and positions that can't be, at any moment.
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "checks.hpp"
#include "ring/ring_link.hpp"
#include "targets.hpp"

namespace tfd::fuzz {
namespace {

using process::SharedRings;
using transport::LinkId;
using transport::RingLink;

/// Reads what is there, and answers each record; false once the other side was found to lie.
bool go_on(RingLink& link) {
  const auto echo = std::make_shared<std::string>();
  for (;;) {
    const auto record = link.next();
    if (!record) return false;
    if (!*record) return link.flush();
    const std::span<const std::byte> bytes = (*record)->bytes;
    expect(bytes.size() < RingLink::kRingBytes, "a record fits into the ring");
    std::string copy(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    link.done();
    if (!link.send({std::move(copy), nullptr, {}})) return false;
  }
}

}  // namespace

// The first byte of an operation says what it is: bytes to write, whose count follows; or positions to move by eight
// times the number that follows.
void rings(std::string_view bytes) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return;
  const process::Fd memory = SharedRings::make_memory(RingLink::kRingBytes).value();
  RingLink link(LinkId{1}, process::Fd(ends[0]),
                SharedRings::map(memory, RingLink::kRingBytes, SharedRings::Side::kTaker).value());
  const process::Fd bell(ends[1]);
  auto other = SharedRings::map(memory, RingLink::kRingBytes, SharedRings::Side::kMaker).value();
  while (bytes.size() >= 3) {
    const char what = bytes[0];
    const std::size_t count = static_cast<unsigned char>(bytes[1]) | static_cast<unsigned char>(bytes[2]) << 8;
    bytes.remove_prefix(3);
    if ((what & 3) == 3) {
      other.consume(8 * count);
    } else if ((what & 3) == 2) {
      other.publish(8 * count);
    } else {
      const auto room = other.room();
      if (!room) return;
      const std::size_t size = std::min({count, bytes.size(), room->size()});
      std::memcpy(room->data(), bytes.data(), size);
      bytes.remove_prefix(size);
      other.publish((size + 7) / 8 * 8);
    }
    if (!go_on(link)) return;
    if (what & 4) (void)link.prepare_to_sleep();
    if (what & 8) link.answer_bell();
  }
}

}  // namespace tfd::fuzz
