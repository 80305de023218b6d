// SPDX-License-Identifier: Apache-2.0
//
// Messages that carry a descriptor, and bells that bring one.
#include <doctest/doctest.h>

#include <sys/socket.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <vector>

#include "tfd/process/local_socket.hpp"

using namespace tfd;

namespace {

struct Line {
  process::LocalPair ends = process::make_local_pair().value();
  process::Fd& own = ends.one;
  process::Fd& other = ends.other;
  /// Rings with `count` descriptors, which send_with_descriptor() wouldn't.
  void ring_with(std::size_t count) const {
    const std::vector<int> sent(count, other.get());
    char bell = 1;
    iovec piece{&bell, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
    REQUIRE(count <= 4);
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const first = CMSG_FIRSTHDR(&header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(first), sent.data(), count * sizeof(int));
    REQUIRE(::sendmsg(other.get(), &header, 0) == 1);
  }
};

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

}  // namespace

TEST_CASE("local socket: all bells are answered at once, and the last descriptor that came is kept") {
  const Line line;
  process::Fd brought;
  CHECK(process::answer_bell(line.own.get(), brought));  // nothing rang
  for (int i = 0; i < 150; ++i) process::ring_bell(line.other.get());
  line.ring_with(1);
  for (int i = 0; i < 10; ++i) process::ring_bell(line.other.get());
  CHECK(process::answer_bell(line.own.get(), brought));
  CHECK(brought.get() >= 0);
  char left = 0;
  CHECK(::recv(line.own.get(), &left, 1, 0) < 0);
}

TEST_CASE("local socket: who sends several descriptors takes none of ours away") {
  const Line line;
  const std::ptrdiff_t before = open_descriptors();
  for (const std::size_t count : {2, 3, 4}) {
    line.ring_with(count);
    process::Fd brought;
    CHECK(process::answer_bell(line.own.get(), brought));
    CHECK(!brought);
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("local socket: bells are answered until the other end is closed") {
  Line line;
  process::ring_bell(line.other.get());
  line.other.reset();
  CHECK(process::answer_bell(line.own.get()));
  CHECK(!process::answer_bell(line.own.get()));
}
