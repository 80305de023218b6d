// SPDX-License-Identifier: Apache-2.0
#include "frame.hpp"

#include "call.hpp"
#include "tfd/base/bytes.hpp"
#include "tfd/base/text.hpp"

namespace tfd::collective {
namespace {

constexpr std::uint8_t kMagic = 0xC7;
constexpr std::size_t kMostOwnBytes = 48 << 10;  // what a call says of its sender alone: a number per part

std::size_t most_bytes_of(FrameType type) {
  switch (type) {
    case FrameType::kCall:
      return kMostCallBytes + kMostOwnBytes;
    case FrameType::kData:
      return kMostFrameBytes;
    case FrameType::kAbort:
      return kMostAbortBytes;
  }
  return 0;
}

}  // namespace

void put_header(std::string& out, const FrameHeader& header) {
  ByteWriter bytes(std::move(out));
  bytes(kMagic, header.type, std::uint16_t{0}, header.size, header.number);
  out = bytes.take_bytes();
}

Result<FrameHeader> parse_header(std::string_view bytes) {
  ByteReader in(bytes);
  std::uint8_t magic = 0, type = 0;
  std::uint16_t zero = 0;
  FrameHeader header;
  in(magic, type, zero, header.size, header.number);
  header.type = static_cast<FrameType>(type);
  if (!in.is_at_end() || magic != kMagic || zero != 0 || header.size == 0 || header.size > most_bytes_of(header.type))
    return fail(Code::kInvalidArgument, "bytes that are not a frame");
  return header;
}

std::string encode_abort(const Error& error) {
  ByteWriter body;
  body(code_name(error.code), std::string_view(error.task).substr(0, kMostAbortBytes / 4),
       std::string_view(error.message).substr(0, kMostAbortBytes / 2));
  std::string out;
  put_header(out, {FrameType::kAbort, static_cast<std::uint32_t>(body.bytes().size()), 0});
  return out + body.bytes();
}

Error decode_abort(std::string_view body) {
  ByteReader in(body);
  std::string_view code, task, message;
  in(code, task, message);
  Error error{parse_code(code), printable(message), printable(task)};
  if (!in.is_at_end() || error.message.empty()) error.message = "a member failed without saying why";
  return error;
}

}  // namespace tfd::collective
