// SPDX-License-Identifier: Apache-2.0
#include "stream/stream_link.hpp"

#include <algorithm>
#include <cstring>

#include "frame.hpp"

namespace tfd::transport {
namespace {

constexpr std::uint32_t kPieceFlag = std::uint32_t{1} << 31;
constexpr std::size_t kLeastRoom = 64 << 10;  // a batch of small messages

}  // namespace

Result<void> StreamLink::send(Parcel parcel) {
  if (unsent_.empty() && TFD_TRY(put(parcel))) return {};
  unsent_.push_back(std::move(parcel));
  return {};
}

Result<void> StreamLink::flush() {
  while (!unsent_.empty()) {
    if (!TFD_TRY(put(unsent_.front()))) return {};
    unsent_.pop_front();
  }
  if (stream_->has_unsent()) TFD_TRY(stream_->send({}, {}));
  return {};
}

Result<bool> StreamLink::put(const Parcel& parcel) {
  const std::span<const std::byte> bytes = parcel.content();
  const std::uint32_t size = static_cast<std::uint32_t>(bytes.size()) | (parcel.keep ? kPieceFlag : 0);
  std::array<std::byte, kHeadBytes> head;
  std::memcpy(head.data(), &size, kHeadBytes);
  while (sent_ < kHeadBytes + bytes.size()) {
    const std::size_t of_head = std::min(sent_, kHeadBytes);
    const std::size_t sent = TFD_TRY(stream_->send(std::span(head).subspan(of_head), bytes.subspan(sent_ - of_head)));
    if (sent == 0) return false;
    sent_ += sent;
  }
  sent_ = 0;
  return true;
}

/// True once `to` is full.
Result<bool> StreamLink::receive(std::span<std::byte> to) {
  while (!to.empty()) {
    const std::size_t got = TFD_TRY(stream_->receive(to));
    if (got == 0) return false;
    received_ += got;
    to = to.subspan(got);
  }
  return true;
}

Result<std::optional<StreamLink::Record>> StreamLink::next(Wire::Sink& sink) {
  if (received_ < kHeadBytes) {
    if (!TFD_TRY(receive(std::span(head_).subspan(received_)))) return std::nullopt;
    TFD_TRY(begin_body(sink));
  }
  if (!TFD_TRY(receive(body_.bytes.subspan(received_ - kHeadBytes)))) return std::nullopt;
  received_ = 0;
  return Record{body_.bytes, is_piece_, std::move(body_.keep)};
}

Result<void> StreamLink::begin_body(Wire::Sink& sink) {
  std::uint32_t head = 0;
  std::memcpy(&head, head_.data(), kHeadBytes);
  const std::size_t size = head & ~kPieceFlag;
  if (size > kWireMessageBytes) return fail(Code::kInvalidArgument, "a record of {} bytes", size);
  is_piece_ = (head & kPieceFlag) != 0;
  body_ = is_piece_ ? sink.place_piece(id_, size) : Place{};
  if (!body_.keep) use_own(size);
  return {};
}

void StreamLink::use_own(std::size_t size) {
  if (size > own_size_) {
    own_size_ = std::max(size, kLeastRoom);
    own_ = std::make_unique_for_overwrite<std::byte[]>(own_size_);
  }
  body_ = {std::span(own_.get(), size), nullptr};
}

}  // namespace tfd::transport
