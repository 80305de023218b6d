// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <random>

#include "message.hpp"

namespace tfd::transport {
namespace {

constexpr std::uint64_t kMost = 64 << 20;

std::shared_ptr<BufferPool> pool() { return std::make_shared<BufferPool>(1 << 20); }

Result<FrameView> view(const std::string& head) {
  std::span<const std::byte> rest = as_bytes(head);
  return take_frame(rest);
}

tensor::Tensor numbers(std::int64_t count) {
  tensor::Tensor out = tensor::Tensor::uninitialized(tensor::DType::kS32, {count});
  for (std::int64_t i = 0; i < count; ++i) out.mutable_as<std::int32_t>()[i] = static_cast<std::int32_t>(i);
  return out;
}

Message some_message(std::size_t meta = 20) {
  return {3,
          std::string(meta, 'm'),
          {numbers(5), numbers(100000), tensor::Tensor::zeros(tensor::DType::kBool, {0, 4}), numbers(70000),
           tensor::Tensor::scalar(tensor::DType::kF64, 1.5)}};
}

// Encodes a message as frames and decodes them, in chunks of `step`.
Result<Message> carried(const EncodedMessage& encoded, BufferPool& buffers, std::size_t step = kChunkBytes,
                        std::uint64_t most = kMost) {
  const FrameView head = TFD_TRY(view(encoded.head));
  Assembly assembly = TFD_TRY(Assembly::begin(head, most, buffers));
  for (const Block& block : encoded.blocks)
    for (std::size_t at = 0; at < block.bytes.size(); at += step) {
      Assembly moved = std::move(assembly);
      assembly = std::move(moved);
      TFD_TRY(assembly.add(block.index, at, block.bytes.subspan(at, std::min(step, block.bytes.size() - at))));
    }
  if (!assembly.is_complete()) return fail(Code::kInvalidArgument, "not complete");
  return assembly.take();
}

}  // namespace

TEST_CASE("message: small and large, it arrives as it was sent") {
  const auto buffers = pool();
  for (const std::size_t meta : {std::size_t{0}, std::size_t{20}, std::size_t{65536}, kMostMetaBytes}) {
    const Message sent = some_message(meta);
    const Result<EncodedMessage> encoded =
        encode_message({.type = FrameType::kRequest, .kind = sent.kind, .id = 1}, sent);
    REQUIRE(encoded.has_value());
    CHECK(encoded->head.size() < kWireMessageBytes / 4);
    for (const std::size_t step : {kChunkBytes, std::size_t{1000}}) {
      Result<Message> got = carried(*encoded, *buffers, step);
      REQUIRE(got.has_value());
      CHECK(got->kind == 3);
      CHECK(got->meta == sent.meta);
      REQUIRE(got->tensors.size() == sent.tensors.size());
      for (std::size_t i = 0; i < sent.tensors.size(); ++i) CHECK(tensor::same_bytes(got->tensors[i], sent.tensors[i]));
    }
  }
}

TEST_CASE("message: large tensors are not copied when they are encoded") {
  const tensor::Tensor value = numbers(100000);
  const Result<EncodedMessage> encoded = encode_message({.type = FrameType::kRequest}, {1, "", {value}});
  REQUIRE(encoded.has_value());
  REQUIRE(encoded->blocks.size() == 1);
  CHECK(encoded->blocks[0].bytes.data() == value.data());
  CHECK(encoded->blocks[0].keep == value.storage());
}

TEST_CASE("message: what can't be sent is refused") {
  CHECK(encode_message({}, {1, std::string(kMostMetaBytes + 1, 'x'), {}}).error().code == Code::kInvalidArgument);
  CHECK(encode_message({}, {1, "", std::vector<tensor::Tensor>(1)}).error().code == Code::kInvalidArgument);
  CHECK(encode_message({}, {1, "", std::vector<tensor::Tensor>(kMostTensors + 1, numbers(0))}).error().code ==
        Code::kInvalidArgument);
}

TEST_CASE("message: a head cut off at any byte is an error") {
  const auto buffers = pool();
  const EncodedMessage encoded = *encode_message({.type = FrameType::kRequest}, {1, "meta", {numbers(3), numbers(2)}});
  for (std::size_t size = 0; size < encoded.head.size() - kHeaderBytes; ++size) {
    FrameView head = *view(encoded.head);
    head.body = head.body.first(size);
    const Result<Assembly> cut = Assembly::begin(head, kMost, *buffers);
    REQUIRE(!cut);
    CHECK(cut.error().code == Code::kInvalidArgument);
  }
  const std::string longer = encoded.head + "x";
  FrameView head = *view(encoded.head);
  head.body = as_bytes(longer).subspan(kHeaderBytes);
  CHECK(!Assembly::begin(head, kMost, *buffers));
}

TEST_CASE("message: sizes are checked before memory is taken") {
  const auto buffers = pool();
  const auto begin = [&](std::int64_t rows, std::int64_t columns, std::uint64_t most) {
    std::string body, table;
    put<std::uint8_t>(table, static_cast<std::uint8_t>(tensor::DType::kF64));
    put<std::uint8_t>(table, 2);
    put<std::uint64_t>(table, static_cast<std::uint64_t>(rows));
    put<std::uint64_t>(table, static_cast<std::uint64_t>(columns));
    put<std::uint32_t>(body, 0);
    put<std::uint32_t>(body, static_cast<std::uint32_t>(table.size()));
    put<std::uint32_t>(body, 1);
    body += table;
    return Assembly::begin({{.type = FrameType::kRequest}, as_bytes(body)}, most, *buffers);
  };
  CHECK(begin(1000, 1000, 8100000).has_value());
  CHECK(begin(1000, 1000, 8000000).error().code == Code::kResourceExhausted);
  CHECK(begin(std::int64_t{1} << 45, 16, ~std::uint64_t{0}).error().code == Code::kInvalidArgument);
  CHECK(begin(std::int64_t{1} << 44, 2, 1 << 30).error().code == Code::kResourceExhausted);
  CHECK(begin(std::int64_t{1} << 62, 4, ~std::uint64_t{0}).error().code == Code::kInvalidArgument);
  CHECK(begin(-1, -1, ~std::uint64_t{0}).error().code == Code::kInvalidArgument);
  CHECK(begin(0, 5, 1000).error().code == Code::kInvalidArgument);  // empty tensors are inline

  std::string body;
  for (const std::uint32_t value : {0xFFFFFFFFu, 0u, 0u}) put(body, value);
  CHECK(!Assembly::begin({{.type = FrameType::kRequest}, as_bytes(body)}, ~std::uint64_t{0}, *buffers));
  body.clear();
  for (const std::uint32_t value : {0u, 0u, 0xFFFFFFFFu}) put(body, value);
  CHECK(!Assembly::begin({{.type = FrameType::kRequest}, as_bytes(body)}, ~std::uint64_t{0}, *buffers));
}

TEST_CASE("message: chunks out of turn are errors") {
  const auto buffers = pool();
  const EncodedMessage encoded =
      *encode_message({.type = FrameType::kRequest}, {1, "", {numbers(100000), numbers(50000)}});
  const auto fresh = [&] { return *Assembly::begin(*view(encoded.head), kMost, *buffers); };
  const auto& first = encoded.blocks[0].bytes;
  Assembly assembly = fresh();
  CHECK(!assembly.add(2, 0, first.first(10)));
  CHECK(!assembly.add(0, 0, first.first(10)));
  CHECK(!assembly.add(7, 0, first.first(10)));
  CHECK(!assembly.add(1, 10, first.first(10)));
  CHECK(assembly.add(1, 0, first.first(10)).has_value());
  CHECK(!assembly.add(1, 0, first.first(10)));
  CHECK(!assembly.add(1, 10, std::vector<std::byte>(first.size())));
  CHECK(assembly.add(1, 10, first.subspan(10)).has_value());
  CHECK(!assembly.is_complete());
  CHECK(assembly.add(2, 0, encoded.blocks[1].bytes).has_value());
  CHECK(assembly.is_complete());
  CHECK(!assembly.add(2, 0, first.first(1)));
}

TEST_CASE("message: heads with random damage are never more than an error") {
  const auto buffers = pool();
  std::mt19937 random(20261121);
  const EncodedMessage small =
      *encode_message({.type = FrameType::kRequest}, {1, "meta", {numbers(3), numbers(20000), numbers(2)}});
  const EncodedMessage large =
      *encode_message({.type = FrameType::kRequest}, {1, std::string(70000, 'm'), {numbers(3)}});
  for (int i = 0; i < 20000; ++i) {
    const EncodedMessage& encoded = i % 2 ? small : large;
    std::string head = encoded.head;
    for (int k = 0; k < 2; ++k)
      head[kHeaderBytes + random() % (head.size() - kHeaderBytes)] = static_cast<char>(random());
    const FrameView frame = *view(head);
    Result<Assembly> assembly = Assembly::begin(frame, 1 << 20, *buffers);
    if (!assembly) continue;
    CHECK(assembly->bytes() <= 1 << 20);
    for (const Block& block : encoded.blocks) (void)assembly->add(block.index, 0, block.bytes);
  }
}

TEST_CASE("buffer pool: buffers are aligned, used again, and not hoarded") {
  const auto buffers = std::make_shared<BufferPool>(1 << 20);
  auto one = buffers->get(100000);
  CHECK(reinterpret_cast<std::uintptr_t>(one->data()) % tensor::kAlignment == 0);
  const std::byte* where = one->data();
  CHECK(buffers->idle_bytes() == 0);
  one.reset();
  CHECK(buffers->idle_bytes() >= 100000);
  auto again = buffers->get(100000);
  CHECK(again->data() == where);
  CHECK(buffers->idle_bytes() == 0);
  buffers->get(2 << 20).reset();
  CHECK(buffers->idle_bytes() == 0);
}

}  // namespace tfd::transport
