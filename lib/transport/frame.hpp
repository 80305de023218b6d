#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a frame: a fixed header of 56 bytes, little-endian, and a body. Several frames may travel in one message
// of the wire, one after the other (a batch); the body of a chunk travels as the next message, all of it, so that the
// sender needn't copy it after a header. Thread rule: pure functions.
//
//   0 magic "\xF7TFD"   4 version u8   5 type u8     6 flags u16      8 kind u16   10 block u16   12 body size u32
//  16 request id u64   24 incarnation u64           32 time left u64 (microseconds, 0: forever)   40 position u64
//  48 epoch u64 (of the run that a request is about; 0: of none)
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tfd/base/error.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::transport {

inline constexpr std::size_t kHeaderBytes = 56;
inline constexpr std::uint8_t kProtocolVersion = 6;
inline constexpr std::size_t kChunkBytes = 256 * 1024;         // large frames starve heartbeats
inline constexpr std::size_t kWireMessageBytes = 1024 * 1024;  // no message of the wire is larger

enum class FrameType : std::uint8_t {
  kHello = 1,    // the asking side begins: its name and what it offers (Hello) as the body, its incarnation
  kWelcome = 2,  // the serving side's answer: its name as the body, its incarnation
  kRequest = 3,
  kReply = 4,
  kFailure = 5,  // a reply that is an Error
  kChunk = 6,    // `position` bytes into `block` of message `id`; detached
  kCredit = 7,   // `position` bytes were taken off this connection since its begin
  kPing = 8,
  kPong = 9,
  kGoodbye = 10,  // the sender leaves; the body is the reason
  kCancel = 11,   // the rest of request `id` won't come
};

enum FrameFlags : std::uint16_t {
  kNoFlags = 0,
  kDetached = 1,         // the body is the next message of the wire
  kEnvelopeChunked = 2,  // metadata and tensor table come as block 0
  kMayLend = 4,          // of a request: its answer's tensors may be lent
  kLent = 8,             // a chunk is a whole block, lent: u64 offset, u32 slot
};

struct FrameHeader {
  FrameType type = FrameType::kPing;
  std::uint16_t flags = kNoFlags;
  std::uint16_t kind = 0;
  std::uint16_t block = 0;
  std::uint32_t body_size = 0;
  std::uint64_t id = 0;
  Incarnation incarnation = 0;
  std::uint64_t time_left_us = 0;  // not a time of day: clocks of hosts differ
  std::uint64_t position = 0;
  std::uint64_t epoch = 0;
  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};

struct FrameView {
  FrameHeader header;
  std::span<const std::byte> body;  // empty if it is detached
};

void append_header(std::string& out, const FrameHeader& header);
void append_frame(std::string& out, FrameHeader header, std::string_view body);
/// Sets the time left of an encoded frame, where it had to wait before it was sent.
void set_time_left(std::string& frame, std::uint64_t time_left_us);

/// Takes the first frame off `rest`. kProtocolMismatch for another version, kInvalidArgument for malformed or truncated
/// bytes.
Result<FrameView> take_frame(std::span<const std::byte>& rest);

/// Frames that count against the credit of a connection.
bool takes_credit(FrameType type);

/// The body of a hello.
struct Hello {
  std::string_view name;
  std::string_view offer;  // of a way past the network (Wire::offer()); empty: none
};
std::string encode_hello(std::string_view name, std::string_view offer);
Hello decode_hello(std::string_view body);

std::string encode_error(const Error& error);
/// Decodes an error; malformed bytes become kUnknown.
Error decode_error(std::span<const std::byte> body);

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Little-endian integers. Returns where the next one goes.
template <class T>
char* put(char* to, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) *to++ = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
  return to;
}
template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof(T)];
  put(bytes, value);
  out.append(bytes, sizeof(T));
}
template <class T>
T get(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value |= static_cast<std::uint64_t>(bytes[at + i]) << (8 * i);
  return static_cast<T>(value);
}

}  // namespace tfd::transport
