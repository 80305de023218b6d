// SPDX-License-Identifier: Apache-2.0
//
// Streams with bytes that aren't the peer's.
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "group.hpp"
#include "shared_stream.hpp"
#include "tfd/base/bytes.hpp"
#include "tfd/process/local_socket.hpp"

namespace tfd::collective {
namespace {

using Key = std::array<std::byte, 32>;

std::array<process::Fd, 2> socket_pair() {
  process::LocalPair ends = process::make_local_pair().value();
  return {std::move(ends.one), std::move(ends.other)};
}

std::string raw(int socket) {
  std::string out(100'000, '\0');
  const ssize_t got = ::recv(socket, out.data(), out.size(), MSG_DONTWAIT);
  out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return out;
}

Result<std::string> take(Stream& stream) {
  std::string out(1000, '\0');
  const std::size_t got = TFD_TRY(stream.receive(std::as_writable_bytes(std::span(out))));
  out.resize(got);
  return out;
}

}  // namespace

TEST_CASE("streams: a sealed one shows nothing, and takes no record that was changed, repeated or left out") {
  const Key key{std::byte{1}}, back{std::byte{2}};
  auto [near, wire] = socket_pair();
  auto [inlet, far] = socket_pair();
  const auto sender = process::make_sealed_stream(std::move(near), key, back).value();
  const auto receiver = process::make_sealed_stream(std::move(far), back, key).value();
  const std::string text = "a secret that is sent twice";
  const auto record = [&] {
    CHECK(sender->send(as_bytes(text.substr(0, 3)), as_bytes(text.substr(3))).value() == text.size());
    return raw(wire.get());
  };
  const auto deliver = [&](const std::string& bytes) {
    REQUIRE(::send(inlet.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    return take(*receiver);
  };
  const std::string first = record(), second = record();
  CHECK(first.size() == 4 + text.size() + 16);
  CHECK(first.find("secret") == std::string::npos);
  CHECK(first != second);
  CHECK(deliver(first.substr(0, 9)).value().empty());
  CHECK(deliver(first.substr(9)).value() == text);
  SUBCASE("changed") {
    std::string other = second;
    other[7] ^= 1;
    CHECK(deliver(other).error().message == "a false record");
    CHECK(deliver(second).error().message == "a false record");  // nothing comes after one
  }
  SUBCASE("repeated") { CHECK(deliver(first).error().message == "a false record"); }
  SUBCASE("left out") { CHECK(deliver(record()).error().code == Code::kInvalidArgument); }
  SUBCASE("of a size that no record has") { CHECK(deliver("\xff\xff\xff\x7f").error().message == "a false record"); }
  SUBCASE("as it was") { CHECK(deliver(second).value() == text); }
}

TEST_CASE("streams: a sealed one brings heads and bodies of any size in order, into room of any size") {
  const Key key{std::byte{1}}, back{std::byte{2}};
  auto [near, far] = socket_pair();
  const auto sender = process::make_sealed_stream(std::move(near), key, back).value();
  const auto receiver = process::make_sealed_stream(std::move(far), back, key).value();
  std::string sent, got;
  // Head, body: in one record, in two, in more than are encrypted at a time, and with a head that is.
  for (const auto& [head_size, body_size] : std::initializer_list<std::pair<std::size_t, std::size_t>>{
           {16, 4096}, {0, 1}, {16, 256 << 10}, {300'000, 5}, {100, 70'001}, {8 << 10, 1}, {0, 1'000'000}}) {
    std::string head(head_size, '\0'), body(body_size, '\0');
    for (char& one : head) one = static_cast<char>((sent.size() + static_cast<std::size_t>(&one - head.data())) % 251);
    for (char& one : body) one = static_cast<char>(static_cast<std::size_t>(&one - body.data()) % 241);
    sent += head + body;
    for (std::size_t at = 0; at < head_size + body_size || sender->has_unsent();) {
      const std::size_t of_head = std::min(at, head_size);
      at += sender->send(as_bytes(head).subspan(of_head), as_bytes(body).subspan(at - of_head)).value();
      for (std::size_t size = 1; size > 0;) {
        std::string room(1 + got.size() * 7919 % 60'000, '\0');
        size = receiver->receive(std::as_writable_bytes(std::span(room))).value();
        got.append(room, 0, size);
      }
    }
  }
  CHECK(got == sent);
}

TEST_CASE("streams: shared memory carries more than its rings hold, and wakes who sleeps") {
  auto [near, far] = socket_pair();
  const auto maker = make_shared_stream(std::move(near)).value();
  const auto taker = take_shared_stream(std::move(far), soon()).value();
  CHECK(taker->prepare_to_sleep(true, true) == false);  // it could write
  taker->wake_up();
  CHECK(taker->prepare_to_sleep(true, false));
  const std::string text(1'000'000, 'x');
  std::string got;
  for (std::size_t sent = 0; got.size() < text.size();) {
    sent += maker->send(as_bytes(text).subspan(sent), {}).value();
    if (got.empty()) CHECK(sent == (256 << 10));
    if (got.empty()) CHECK(raw(taker->fd()) == std::string(1, '\1'));
    got += take(*taker).value();
  }
  CHECK(got == text);
}

TEST_CASE("streams: what was handed over has to be sealed memory of the right size") {
  SUBCASE("nothing") {
    auto [near, far] = socket_pair();
    REQUIRE(::send(near.get(), "x", 1, 0) == 1);
    CHECK(take_shared_stream(std::move(far), soon()).error().code == Code::kUnavailable);
  }
  SUBCASE("nobody") {
    auto [near, far] = socket_pair();
    CHECK(take_shared_stream(std::move(far), Deadline::after(std::chrono::milliseconds(1))).error().code ==
          Code::kDeadlineExceeded);
  }
  SUBCASE("a descriptor of something else") {
    auto [near, far] = socket_pair();
    const int descriptor = near.get();
    char byte = 0;
    iovec piece{&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    REQUIRE(::sendmsg(near.get(), &message, 0) == 1);
    CHECK(take_shared_stream(std::move(far), soon())
              .error()
              .message.starts_with("the received descriptor isn't sealed memory of "));
  }
}

}  // namespace tfd::collective
