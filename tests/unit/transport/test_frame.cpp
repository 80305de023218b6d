// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

#include "frame.hpp"

namespace tfd::transport {
namespace {

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return out;
}

FrameHeader some_header() {
  return {.type = FrameType::kRequest,
          .flags = kEnvelopeChunked,
          .kind = 0x1234,
          .block = 0x5678,
          .body_size = 0,
          .id = 0x0102030405060708,
          .incarnation = 0x1112131415161718,
          .time_left_us = 5000000,
          .position = 0x2122232425262728,
          .epoch = 0x3132333435363738};
}

}  // namespace

TEST_CASE("frame: the bytes of version 6 stay as they are") {
  std::string out;
  append_frame(out, some_header(), "body");
  CHECK(hex(out) ==
        "f7544644"
        "06"
        "03"
        "0200"
        "3412"
        "7856"
        "04000000"
        "0807060504030201"
        "1817161514131211"
        "404b4c0000000000"
        "2827262524232221"
        "3837363534333231"
        "626f6479");
  std::string error = encode_error({Code::kUnavailable, "ps:1 is lost", "ps:1"});
  CHECK(hex(error) ==
        "0b000000"
        "554e415641494c41424c45"
        "04000000"
        "70733a31"
        "0c000000"
        "70733a31206973206c6f7374");
}

TEST_CASE("frame: what is encoded is decoded, several in one message too") {
  std::string out;
  append_frame(out, some_header(), "body");
  append_frame(out, {.type = FrameType::kPing}, "");
  append_header(
      out, {.type = FrameType::kChunk, .flags = kDetached, .block = 3, .body_size = 100, .id = 9, .position = 1024});
  std::span<const std::byte> rest = as_bytes(out);
  Result<FrameView> first = take_frame(rest);
  REQUIRE(first.has_value());
  FrameHeader expected = some_header();
  expected.body_size = 4;
  CHECK(first->header == expected);
  CHECK(as_text(first->body) == "body");
  CHECK(take_frame(rest)->header.type == FrameType::kPing);
  const Result<FrameView> chunk = take_frame(rest);
  REQUIRE(chunk.has_value());
  CHECK(chunk->header.body_size == 100);
  CHECK(chunk->body.empty());
  CHECK(rest.empty());
}

TEST_CASE("frame: the time left can be set afterwards") {
  std::string out;
  append_frame(out, some_header(), "body");
  set_time_left(out, 77);
  std::span<const std::byte> rest = as_bytes(out);
  CHECK(take_frame(rest)->header.time_left_us == 77);
}

TEST_CASE("frame: cut off at any byte it is an error, and another version is told from garbage") {
  std::string out;
  append_frame(out, some_header(), "a body");
  for (std::size_t size = 0; size < out.size(); ++size) {
    std::span<const std::byte> rest = as_bytes(std::string_view(out).substr(0, size));
    const Result<FrameView> cut = take_frame(rest);
    REQUIRE(!cut);
    CHECK(cut.error().code == Code::kInvalidArgument);
  }
  out[4] = 7;
  std::span<const std::byte> rest = as_bytes(out);
  CHECK(take_frame(rest).error().code == Code::kProtocolMismatch);
  CHECK(take_frame(rest).error().message == "speaks protocol version 7; this is version 6");
  out[4] = 1;
  out[0] = 'x';
  CHECK(take_frame(rest).error().code == Code::kInvalidArgument);
}

TEST_CASE("frame: rejects unknown types, oversized chunks, and chunks that aren't last") {
  const auto rejects = [](const FrameHeader& header, std::string_view behind) {
    std::string out;
    append_header(out, header);
    out += behind;
    std::span<const std::byte> rest = as_bytes(out);
    return !take_frame(rest).has_value();
  };
  CHECK(rejects({.type = static_cast<FrameType>(0)}, ""));
  CHECK(rejects({.type = static_cast<FrameType>(12)}, ""));
  CHECK(rejects({.type = FrameType::kChunk, .body_size = 1}, "x"));
  CHECK(rejects({.type = FrameType::kPing, .flags = kDetached, .body_size = 1}, ""));
  CHECK(rejects({.type = FrameType::kChunk, .flags = kDetached, .body_size = 0}, ""));
  CHECK(rejects({.type = FrameType::kChunk, .flags = kDetached, .body_size = kChunkBytes + 1}, ""));
  CHECK(rejects({.type = FrameType::kChunk, .flags = kDetached, .body_size = 1}, "x"));
  CHECK(rejects({.type = FrameType::kRequest, .body_size = 0xFFFFFFFF}, "x"));
  CHECK(!rejects({.type = FrameType::kChunk, .flags = kDetached, .body_size = kChunkBytes}, ""));
}

TEST_CASE("frame: random bytes are never more than an error") {
  std::mt19937 random(20261121);
  std::string good;
  append_frame(good, some_header(), "a body");
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    std::span<const std::byte> rest = as_bytes(bytes);
    if (const Result<FrameView> frame = take_frame(rest)) CHECK(frame->body.size() <= bytes.size());
  }
}

TEST_CASE("frame: an error travels whole, and what can't be read is unknown") {
  const Error error = decode_error(as_bytes(encode_error({Code::kOutOfRange, "end of 'train'", "worker:2"})));
  CHECK(error.code == Code::kOutOfRange);
  CHECK(error.message == "end of 'train'");
  CHECK(error.task == "worker:2");
  CHECK(decode_error({}).code == Code::kUnknown);
  CHECK(decode_error(as_bytes("\xFF\xFF\xFF\xFFxyz")).code == Code::kUnknown);
  CHECK(decode_error(as_bytes(encode_error({Code::kInternal, "red \x1b[31m", ""}))).message == "red ?[31m");
}

}  // namespace tfd::transport
