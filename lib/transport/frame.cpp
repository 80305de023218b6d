// SPDX-License-Identifier: Apache-2.0
#include "frame.hpp"

#include <algorithm>
#include <cassert>

#include "tfd/base/text.hpp"

namespace tfd::transport {
namespace {

constexpr std::string_view kMagic = "\xF7TFD";
constexpr std::size_t kTimeLeftAt = 32;

}  // namespace

void append_header(std::string& out, const FrameHeader& header) {
  char bytes[kHeaderBytes];
  char* at = std::ranges::copy(kMagic, bytes).out;
  at = put(at, kProtocolVersion);
  at = put(at, static_cast<std::uint8_t>(header.type));
  at = put(at, header.flags);
  at = put(at, header.kind);
  at = put(at, header.block);
  at = put(at, header.body_size);
  at = put(at, header.id);
  at = put(at, header.incarnation);
  at = put(at, header.time_left_us);
  at = put(at, header.position);
  at = put(at, header.epoch);
  assert(at == bytes + kHeaderBytes);
  out.append(bytes, kHeaderBytes);
}

void append_frame(std::string& out, FrameHeader header, std::string_view body) {
  header.body_size = static_cast<std::uint32_t>(body.size());
  append_header(out, header);
  out.append(body);
}

void set_time_left(std::string& frame, std::uint64_t time_left_us) { put(frame.data() + kTimeLeftAt, time_left_us); }

Result<FrameView> take_frame(std::span<const std::byte>& rest) {
  // Magic and version come first in every version, so that another version differs from garbage.
  if (rest.size() < 5 || as_text(rest.first(4)) != kMagic)
    return fail(Code::kInvalidArgument, "not a tfd frame ({} bytes)", rest.size());
  const auto version = get<std::uint8_t>(rest, 4);
  if (version != kProtocolVersion)
    return fail(Code::kProtocolMismatch, "speaks protocol version {}; this is version {}", version, kProtocolVersion);
  if (rest.size() < kHeaderBytes)
    return fail(Code::kInvalidArgument, "a frame's header is cut off after {} bytes", rest.size());
  const auto type = get<std::uint8_t>(rest, 5);
  if (type < static_cast<std::uint8_t>(FrameType::kHello) || type > static_cast<std::uint8_t>(FrameType::kCancel))
    return fail(Code::kInvalidArgument, "unknown frame type {}", type);
  FrameView frame;
  FrameHeader& header = frame.header;
  header.type = static_cast<FrameType>(type);
  header.flags = get<std::uint16_t>(rest, 6);
  header.kind = get<std::uint16_t>(rest, 8);
  header.block = get<std::uint16_t>(rest, 10);
  header.body_size = get<std::uint32_t>(rest, 12);
  header.id = get<std::uint64_t>(rest, 16);
  header.incarnation = get<std::uint64_t>(rest, 24);
  header.time_left_us = get<std::uint64_t>(rest, kTimeLeftAt);
  header.position = get<std::uint64_t>(rest, 40);
  header.epoch = get<std::uint64_t>(rest, 48);
  const bool detached = (header.flags & kDetached) != 0;
  const bool is_sent = header.type == FrameType::kChunk && (header.flags & kLent) == 0;
  if (detached != is_sent)
    return fail(Code::kInvalidArgument, "only chunks, and all of them but loans, have a detached body");
  if (detached) {
    if (rest.size() != kHeaderBytes)
      return fail(Code::kInvalidArgument, "a chunk must be the last frame of its message");
    if (header.body_size == 0 || header.body_size > kChunkBytes)
      return fail(Code::kInvalidArgument, "a chunk of {} bytes, where 1 to {} are allowed", header.body_size,
                  kChunkBytes);
    rest = {};
    return frame;
  }
  if (header.body_size > rest.size() - kHeaderBytes)
    return fail(Code::kInvalidArgument, "a frame's body is cut off: {} of {} bytes", rest.size() - kHeaderBytes,
                header.body_size);
  frame.body = rest.subspan(kHeaderBytes, header.body_size);
  rest = rest.subspan(kHeaderBytes + header.body_size);
  return frame;
}

bool takes_credit(FrameType type) {
  return type == FrameType::kRequest || type == FrameType::kReply || type == FrameType::kFailure ||
         type == FrameType::kChunk;
}

std::string encode_hello(std::string_view name, std::string_view offer) {
  std::string out(name);
  if (!offer.empty()) out.append(1, '\0').append(offer);
  return out;
}

Hello decode_hello(std::string_view body) {
  const std::size_t end = body.find('\0');
  if (end == std::string_view::npos) return {body, {}};
  return {body.substr(0, end), body.substr(end + 1)};
}

std::string encode_error(const Error& error) {
  std::string out;
  constexpr std::size_t kLongestText = 64 * 1024;
  for (const std::string_view text :
       {code_name(error.code), std::string_view(error.task), std::string_view(error.message)}) {
    const std::string_view kept = text.substr(0, kLongestText);
    put<std::uint32_t>(out, static_cast<std::uint32_t>(kept.size()));
    out.append(kept);
  }
  return out;
}

Error decode_error(std::span<const std::byte> body) {
  std::string texts[3];
  for (std::string& text : texts) {
    if (body.size() < 4) break;
    const std::size_t size = std::min<std::size_t>(get<std::uint32_t>(body, 0), body.size() - 4);
    text = printable(as_text(body.subspan(4, size)));
    body = body.subspan(4 + size);
  }
  return Error{parse_code(texts[0]), std::move(texts[2]), std::move(texts[1])};
}

}  // namespace tfd::transport
