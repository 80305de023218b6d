// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include "call.hpp"
#include "frame.hpp"
#include "handshake.hpp"

namespace tfd::collective {
namespace {

Members three() {
  Members members;
  members.generation = 5;
  members.secret.fill(std::byte{1});
  members.all = {{"worker:0", "a", ""}, {"worker:1", "a", ""}, {"worker:2", "a", ""}};
  return members;
}

std::string difference(Call a, Call b) {
  const std::string first = encode_call(a).value(), other = encode_call(b).value();
  return find_difference(three(), {first, first, other}).value().message;
}

Call a_sum() {
  return {.kind = CallKind::kAllReduce,
          .name = "dense/kernel",
          .step = 7,
          .spec = {tensor::DType::kF32, {64, 10}},
          .replicas = 3};
}

Nonce nonce_of(int value) {
  Nonce out;
  out.fill(static_cast<std::byte>(value));
  return out;
}

}  // namespace

TEST_CASE("calls that differ name the first member against the first that differs, and in what") {
  Call other = a_sum();
  other.spec.shape = {64, 12};
  CHECK(difference(a_sum(), other) ==
        "all_reduce \"dense/kernel\", step 7: worker:0 has f32[64, 10], worker:2 f32[64, 12]");
  other = a_sum();
  other.step = 8;
  CHECK(difference(a_sum(), other) ==
        "worker:0 makes all_reduce \"dense/kernel\", step 7, worker:2 makes all_reduce \"dense/kernel\", step 8");
  other = a_sum();
  other.replicas = 4;
  CHECK(difference(a_sum(), other) ==
        "all_reduce \"dense/kernel\", step 7: worker:0 has 3 replicas in all, worker:2 4");
  other = a_sum();
  other.layout = 1;
  CHECK(difference(a_sum(), other) ==
        "all_reduce \"dense/kernel\", step 7: worker:0 and worker:2 differ in the owners of the replicas, or in which "
        "replicas have a value");
  const Call sent{.kind = CallKind::kBroadcast, .name = "state", .step = 1, .root = 0, .size = 4};
  Call longer = sent;
  longer.size = 5;
  CHECK(difference(sent, longer) ==
        "broadcast \"state\", step 1: worker:0 has 4 bytes of worker:0, worker:2 5 bytes of worker:0");
}

TEST_CASE("which calls differ is open until the first member's, and all before the one that differs, are known") {
  Call other = a_sum();
  other.name = "bias";
  const std::string a = encode_call(a_sum()).value(), b = encode_call(other).value();
  CHECK_FALSE(find_difference(three(), {std::nullopt, a, b}));
  CHECK_FALSE(find_difference(three(), {a, std::nullopt, b}));
  CHECK(find_difference(three(), {a, b, std::nullopt}));
  CHECK_FALSE(find_difference(three(), {a, a, a}));
}

TEST_CASE("a call is read as it was written, and nothing else is one") {
  const std::string encoded = encode_call(a_sum()).value();
  CHECK(decode_call(encoded).value() == a_sum());
  for (std::size_t size = 0; size < encoded.size(); ++size) CHECK_FALSE(decode_call(encoded.substr(0, size)));
  CHECK_FALSE(decode_call(encoded + "x"));
  Call large = a_sum();
  large.name = std::string(5000, 'x');
  CHECK(encode_call(large).error().code == Code::kInvalidArgument);
}

TEST_CASE("a sum's layout has to be the replicas in order, with at least one value") {
  const Reduction what{"w", 1, {tensor::DType::kF32, {2}}};
  const auto message = [&](const SumLayout& layout) { return make_call(what, layout, 2).error().message; };
  CHECK(message({3, {{0, 1}, {2, 1}}, {}}) ==
        "all_reduce \"w\", step 1: the members' shares aren't the replicas in their order");
  CHECK(message({3, {{0, 1}, {1, 1}}, {}}) == "all_reduce \"w\", step 1: the members have 2 of 3 replicas");
  CHECK(message({2, {{0, 2}}, {}}) == "all_reduce \"w\", step 1: 1 shares for 2 members");
  CHECK(message({2, {{0, 1}, {1, 1}}, {true}}) == "all_reduce \"w\", step 1: 1 marks of values for 2 replicas");
  CHECK(message({2, {{0, 1}, {1, 1}}, {false, false}}) == "all_reduce \"w\", step 1: there are no values to add up");
  CHECK(make_call(what, {2, {{0, 2}, {0, 0}}, {}}, 2));
  CHECK(make_call(what, {2, {{0, 2}, {2, 0}}, {true, true}}, 2).value().layout ==
        make_call(what, {2, {{0, 2}, {2, 0}}, {}}, 2).value().layout);
}

TEST_CASE("frames: only headers that a member can have written are read") {
  std::string bytes;
  put_header(bytes, {FrameType::kData, 100, 9});
  REQUIRE(bytes.size() == kFrameHeaderBytes);
  CHECK(parse_header(bytes).value().number == 9);
  for (std::size_t i = 0; i < 4; ++i) {
    std::string other = bytes;
    other[i] = '\x77';
    CHECK_FALSE(parse_header(other));
  }
  std::string large;
  put_header(large, {FrameType::kData, kMostFrameBytes + 1, 9});
  CHECK_FALSE(parse_header(large));
  const std::string abort = encode_abort({Code::kUnavailable, std::string(10000, 'x'), "worker:1"});
  CHECK(parse_header(abort.substr(0, kFrameHeaderBytes)));
  const Error error = decode_abort(abort.substr(kFrameHeaderBytes));
  CHECK(error.code == Code::kUnavailable);
  CHECK(error.task == "worker:1");
  CHECK(error.message == std::string(kMostAbortBytes / 2, 'x'));
  CHECK(decode_abort("xx").message == "a member failed without saying why");
}

TEST_CASE("proofs are HMAC-SHA256 (RFC 4231, case 1)") {
  Secret key{};
  std::fill_n(key.begin(), 20, std::byte{0x0b});
  std::string hex;
  for (const std::byte one : hmac_sha256(key, "Hi There")) hex += fmt::format("{:02x}", static_cast<int>(one));
  CHECK(hex == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
}

TEST_CASE("a handshake proves the secret on both sides, and gives both the same keys") {
  Members low = three(), high = three();
  high.rank = 2;
  Handshake asks = Handshake::ask(high, 0), answers = Handshake::answer(low);
  REQUIRE(answers.feed(asks.take_output()));
  CHECK(answers.peer() == 2);
  REQUIRE(asks.feed(answers.take_output()));
  CHECK(asks.wants() == 0);
  REQUIRE(answers.feed(asks.take_output()));
  CHECK(answers.wants() == 0);
  CHECK(asks.keys().of_asker == answers.keys().of_asker);
  CHECK(asks.keys().of_answerer == answers.keys().of_answerer);
  CHECK(asks.keys().of_asker != asks.keys().of_answerer);
}

TEST_CASE("a handshake refuses another secret, another generation, other members, and one that is played again") {
  Members low = three(), high = three();
  high.rank = 2;
  SUBCASE("another secret is found out by both sides") {
    high.secret.fill(std::byte{2});
    Handshake asks = Handshake::ask(high, 0), answers = Handshake::answer(low);
    REQUIRE(answers.feed(asks.take_output()));
    CHECK(asks.feed(answers.take_output()).error().code == Code::kPermissionDenied);
    CHECK(answers.feed(std::string(32, 'x')).error().code == Code::kPermissionDenied);
  }
  SUBCASE("another generation may be tried again") {
    high.generation = 4;
    Handshake asks = Handshake::ask(high, 0), answers = Handshake::answer(low);
    CHECK(answers.feed(asks.take_output()).error().code == Code::kAborted);
    const auto refused = asks.feed(answers.take_output());
    CHECK(refused.error().code == Code::kAborted);
    CHECK(refused.error().message == "it is in generation 5");
  }
  SUBCASE("members of another number, or who ask another one") {
    high.all.resize(3 + 1);
    Handshake asks = Handshake::ask(high, 0), answers = Handshake::answer(low);
    CHECK(answers.feed(asks.take_output()).error().code == Code::kAborted);
    CHECK(asks.feed(answers.take_output()).error().message == "it expects other members");
  }
  SUBCASE("what was recorded proves nothing, since the answer's nonce is another one") {
    Handshake asks = Handshake::ask(high, 0, nonce_of(1)), answers = Handshake::answer(low, nonce_of(2));
    const std::string greeting = asks.take_output();
    REQUIRE(answers.feed(greeting));
    REQUIRE(asks.feed(answers.take_output()));
    const std::string proof = asks.take_output();
    Handshake again = Handshake::answer(low, nonce_of(3));
    REQUIRE(again.feed(greeting));
    CHECK(again.feed(proof).error().code == Code::kPermissionDenied);
  }
  SUBCASE("who isn't a member") {
    Handshake answers = Handshake::answer(low);
    CHECK(answers.feed(std::string(64, 'G')).error().code == Code::kInvalidArgument);
  }
}

}  // namespace tfd::collective
