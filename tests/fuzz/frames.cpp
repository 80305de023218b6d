// SPDX-License-Identifier: Apache-2.0
//
// Bytes from a connection: frames, errors in them, and messages that arrive in pieces.
#include "frame.hpp"

#include <memory>
#include <string>

#include "checks.hpp"
#include "message.hpp"
#include "targets.hpp"

namespace tfd::fuzz {
namespace {

using transport::Assembly;
using transport::FrameView;

constexpr std::size_t kMostIdle = 1 << 16;

void check_error(std::span<const std::byte> body) {
  const Error error = transport::decode_error(body);
  const std::string encoded = transport::encode_error(error);
  const Error again = transport::decode_error(transport::as_bytes(encoded));
  expect(again.code == error.code && again.task == error.task && again.message == error.message,
         "an error is the same on the other side");
}

/// Reads numbers and bytes off a fuzzer's input until it is used up.
class Script {
 public:
  explicit Script(std::string_view bytes) : rest_(bytes) {}
  bool has_ended() const { return rest_.empty(); }
  std::size_t number() {  // of two bytes
    const std::string_view bytes = take(2);
    std::size_t value = 0;
    for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }
  std::string_view take(std::size_t size) {
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(out.size());
    return out;
  }

 private:
  std::string_view rest_;
};

void expect_same_again(const transport::Message& message, transport::BufferPool& pool) {
  const auto encoded = transport::encode_message({.type = transport::FrameType::kRequest}, message);
  expect(encoded.has_value(), "what has come can be sent on");
  std::span<const std::byte> rest = transport::as_bytes(encoded->head);
  const auto head = transport::take_frame(rest);
  expect(head && rest.empty(), "it begins with one frame");
  auto assembly = Assembly::begin(*head, encoded->bytes(), pool);
  expect(assembly.has_value(), "its head is right");
  for (const transport::Block& block : encoded->blocks)
    expect(assembly->add(block.index, 0, block.bytes).has_value(), "and so is every block");
  expect(assembly->is_complete(), "then it is there");
  const transport::Message again = assembly->take();
  expect(again.meta == message.meta && again.tensors.size() == message.tensors.size(), "with the same metadata");
  for (std::size_t i = 0; i < message.tensors.size(); ++i)
    expect(same_bytes(again.tensors[i], message.tensors[i]), "and the same tensors");
}

}  // namespace

/// Frames, one after the other.
void frames(std::string_view bytes) {
  check_error(transport::as_bytes(bytes));
  std::span<const std::byte> rest = transport::as_bytes(bytes);
  while (!rest.empty()) {
    const std::size_t before = rest.size();
    const auto frame = transport::take_frame(rest);
    if (!frame) return expect_readable(frame.error());
    expect(rest.size() < before, "a frame takes bytes");
    const bool is_chunk = frame->header.type == transport::FrameType::kChunk;
    expect(is_chunk || frame->body.size() == frame->header.body_size, "its body is whole");
    check_error(frame->body);
    std::string encoded;
    transport::append_header(encoded, frame->header);
    encoded += transport::as_text(frame->body);
    std::span<const std::byte> once_more = transport::as_bytes(encoded);
    const auto again = transport::take_frame(once_more);
    expect(again && again->header == frame->header && once_more.empty(), "it is read alike twice");
  }
}

/// A script: flags and limit of a message, its head, then chunks of it.
void assemblies(std::string_view bytes) {
  Script script(bytes);
  const auto pool = std::make_shared<transport::BufferPool>(kMostIdle);
  const std::size_t options = script.number();
  const std::uint64_t most_bytes = std::uint64_t{1} << (options & 31);
  FrameView head;
  head.header.type = transport::FrameType::kRequest;
  if ((options & 0x100) != 0) head.header.flags = transport::kEnvelopeChunked;
  head.body = transport::as_bytes(script.take(script.number()));
  auto assembly = Assembly::begin(head, most_bytes, *pool);
  if (!assembly) return expect_readable(assembly.error());
  for (;;) {
    expect(assembly->bytes() <= most_bytes, "it takes no more memory than it may");
    if (assembly->is_complete()) return expect_same_again(assembly->take(), *pool);
    if (script.has_ended()) return;
    const auto block = static_cast<std::uint16_t>(script.number());
    const std::size_t position = script.number();
    const auto added = assembly->add(block, position, transport::as_bytes(script.take(script.number())));
    if (!added) return expect_readable(added.error());
  }
}

}  // namespace tfd::fuzz
