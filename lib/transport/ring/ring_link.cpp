// SPDX-License-Identifier: Apache-2.0
#include "ring/ring_link.hpp"

#include <cstring>

#include "tfd/process/local_socket.hpp"

namespace tfd::transport {
namespace {

constexpr std::size_t kSizeBytes = 4, kPadding = 8;
constexpr std::uint32_t kPieceBit = std::uint32_t{1} << 31;
constexpr std::size_t kMostUnannounced = 64 << 10;             // more of it is read while the rest is written
constexpr int kMostUnread = process::kUnreadBells / 4;         // some ring meanwhile
constexpr std::size_t kMostRecord = RingLink::kRingBytes / 2;  // so that a sender that waits for room gets it

std::size_t padded(std::size_t size) { return (kSizeBytes + size + kPadding - 1) / kPadding * kPadding; }

}  // namespace

bool RingLink::send(Parcel parcel) {
  if (padded(parcel.content().size()) > kMostRecord) return false;
  if (unsent_.empty()) {
    const Result<bool> sent = put(parcel);
    if (!sent || *sent) return sent.has_value();
  }
  unsent_.push_back(std::move(parcel));
  return true;
}

void RingLink::announce() {
  if (std::exchange(unannounced_, 0) > 0 && line_->rings.has_reader_waiting()) process::ring_bell(fd());
}

bool RingLink::flush() {
  Result<bool> sent = true;
  while (!unsent_.empty() && (sent = put(unsent_.front())) && *sent) unsent_.pop_front();
  announce();
  return sent.has_value();
}

Result<bool> RingLink::put(const Parcel& parcel) {
  const std::span<const std::byte> bytes = parcel.content();
  const std::span<std::byte> room = TFD_TRY(line_->rings.room());
  if (room.size() < padded(bytes.size())) return false;
  const std::uint32_t size = static_cast<std::uint32_t>(bytes.size()) | (parcel.keep ? kPieceBit : 0);
  std::memcpy(room.data(), &size, kSizeBytes);
  if (!bytes.empty()) std::memcpy(room.data() + kSizeBytes, bytes.data(), bytes.size());
  line_->rings.put(padded(bytes.size()));
  unannounced_ += padded(bytes.size());
  if (unannounced_ >= kMostUnannounced) announce();
  return true;
}

Result<std::optional<RingLink::Record>> RingLink::next() {
  const std::span<const std::byte> arrived = TFD_TRY(line_->rings.arrived());
  if (arrived.empty()) return std::nullopt;
  if (arrived.size() < kSizeBytes) return fail(Code::kInvalidArgument, "half a record in shared memory");
  std::uint32_t head = 0;
  std::memcpy(&head, arrived.data(), kSizeBytes);
  const std::size_t size = head & ~kPieceBit;
  if (size > kMostRecord || padded(size) > arrived.size())
    return fail(Code::kInvalidArgument, "a record of {} bytes in shared memory, where {} are", size,
                arrived.size() - kSizeBytes);
  reading_ = padded(size);
  const std::span<const std::byte> bytes = arrived.subspan(kSizeBytes, size);
  if ((head & kPieceBit) != 0) return Record{bytes, true};
  copy_.assign(bytes.begin(), bytes.end());
  return Record{copy_, false};
}

void RingLink::done() {
  if (line_->rings.consume(std::exchange(reading_, 0))) process::ring_bell(fd());
}

void RingLink::on_bell(bool is_last) {
  const bool has_gift = !loans_.has_heap() && line_->rings.is_gift_announced();
  if (is_last || has_gift || sleeps_ >= kMostUnread || !process::hears_unread_bells())
    answer_bell();
  else
    line_->rings.wake_up();
  has_ended_ = has_ended_ || is_last;
}

void RingLink::answer_bell() {
  sleeps_ = 0;
  process::Fd heap;
  if (!process::answer_bell(fd(), heap)) has_ended_ = true;
  if (heap) loans_.take_heap(heap);
  line_->rings.wake_up();
}

bool RingLink::prepare_to_sleep() {
  if (has_ended_) return false;
  ++sleeps_;  // the other side rings once for each
  const std::size_t room = unsent_.empty() ? 0 : padded(unsent_.front().content().size());
  if (line_->rings.prepare_to_sleep(true, room)) return true;
  line_->rings.wake_up();
  return false;
}

}  // namespace tfd::transport
