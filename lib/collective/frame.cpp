// SPDX-License-Identifier: Apache-2.0
#include "frame.hpp"

#include "bytes.hpp"
#include "call.hpp"
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
  put(out, kMagic);
  put(out, static_cast<std::uint8_t>(header.type));
  put(out, std::uint16_t{0});
  put(out, header.size);
  put(out, header.number);
}

Result<FrameHeader> parse_header(std::string_view bytes) {
  ByteReader in(bytes);
  const auto magic = in.number<std::uint8_t>();
  const auto type = in.number<std::uint8_t>();
  const auto zero = in.number<std::uint16_t>();
  FrameHeader header{static_cast<FrameType>(type), in.number<std::uint32_t>(), in.number<std::uint64_t>()};
  if (!in.is_at_end() || magic != kMagic || zero != 0 || header.size == 0 || header.size > most_bytes_of(header.type))
    return fail(Code::kInvalidArgument, "bytes that are not a frame");
  return header;
}

std::string encode_abort(const Error& error) {
  std::string body;
  put(body, std::string_view(code_name(error.code)));
  put(body, std::string_view(error.task).substr(0, kMostAbortBytes / 4));
  put(body, std::string_view(error.message).substr(0, kMostAbortBytes / 2));
  std::string out;
  put_header(out, {FrameType::kAbort, static_cast<std::uint32_t>(body.size()), 0});
  return out + body;
}

Error decode_abort(std::string_view body) {
  ByteReader in(body);
  Error error{parse_code(in.text()), {}, {}};
  error.task = printable(in.text());
  error.message = printable(in.text());
  if (!in.is_at_end() || error.message.empty()) error.message = "a member failed without saying why";
  return error;
}

}  // namespace tfd::collective
