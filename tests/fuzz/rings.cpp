// SPDX-License-Identifier: Apache-2.0
//
// The other side's writes to shared memory: records that can't be, and positions that can't be, at any moment;
// and loans and returns, which may be nothing at all.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "checks.hpp"
#include "ring/ring_link.hpp"
#include "targets.hpp"
#include "tfd/process/local_socket.hpp"
#include "tfd/tensor/shared_heap.hpp"

namespace tfd::fuzz {
namespace {

using process::SharedRings;
using transport::LinkId;
using transport::RingLink;

/// Reads the available records, and answers each; false once the other side was found to lie.
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

constexpr std::size_t kHeapBytes = 64 * 1024;

/// A heap of the other side's, once per process.
int other_heap() {
  static const int heap = [] {
    const int out = ::memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    expect(::ftruncate(out, kHeapBytes) == 0, "there is memory");
    expect(::fcntl(out, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0, "memory can be sealed");
    return out;
  }();
  return heap;
}

/// Borrows what the input says, and reads it.
void borrow(RingLink& link, std::string_view& bytes) {
  struct {
    std::uint32_t slot, size;
    std::uint64_t offset;
  } stated{};
  const std::size_t size = std::min(bytes.size(), sizeof stated);
  std::memcpy(&stated, bytes.data(), size);
  bytes.remove_prefix(size);
  const auto lent = link.loans().borrow({stated.slot, stated.offset}, stated.size);
  if (!lent) return;
  expect(stated.offset + stated.size <= kHeapBytes, "only what is there is borrowed");
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < stated.size; ++i) sum += static_cast<std::uint64_t>((*lent)->data()[i]);
  expect(sum == 0, "the heap is of zeros");
}

/// Lends, and releases returned loans: each `every`th loan, whether there is one or not.
void lend(RingLink& link, SharedRings& other, std::size_t every) {
  tensor::SharedHeap::make();
  const auto value = tensor::Tensor::zeros(tensor::DType::kF32, {70'000});
  (void)link.loans().lend(value.storage(), value.bytes());
  for (std::size_t loan = 0; loan < SharedRings::kLoans; loan += every) other.give_back(loan);
  link.loans().settle();
}

}  // namespace

// The first byte of an operation says what it is: bytes to write, whose count follows; or positions to move by eight
// times the number that follows.
void rings(std::string_view bytes) {
  Result<process::LocalPair> ends = process::make_local_pair();
  if (!ends) return;
  const process::Fd memory = SharedRings::make_memory(RingLink::kRingBytes).value();
  RingLink link(LinkId{1}, std::move(ends->one),
                SharedRings::map(memory, RingLink::kRingBytes, SharedRings::Side::kTaker).value());
  const process::Fd bell = std::move(ends->other);
  auto other = SharedRings::map(memory, RingLink::kRingBytes, SharedRings::Side::kMaker).value();
  const std::byte ring{1};
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
    if (what & 16) (void)process::send_with_descriptor(bell.get(), {&ring, 1}, (what & 32) ? other_heap() : bell.get());
    if (what & 32) borrow(link, bytes);
    if (what & 64) lend(link, other, count % 7 + 1);
    if ((what & 80) == 80) other.allow_loans();
    if (!go_on(link)) return;
    if (what & 4) (void)link.prepare_to_sleep();
    if ((what & 160) == 160) other.announce_gift();
    if ((what & 136) == 136) link.on_bell(false);
    if ((what & 136) == 8) link.answer_bell();
  }
}

}  // namespace tfd::fuzz
