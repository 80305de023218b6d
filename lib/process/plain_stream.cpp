// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "tfd/process/stream.hpp"

namespace tfd::process {
namespace {

constexpr std::size_t kAhead = 8 << 10;  // so that a small collective comes with one system call

class PlainStream : public Stream {
 public:
  explicit PlainStream(Fd socket) : socket_(std::move(socket)) {}

  Result<std::size_t> send(std::span<const std::byte> first, std::span<const std::byte> second) override {
    std::array<iovec, 2> pieces{
        {{const_cast<std::byte*>(first.data()), first.size()}, {const_cast<std::byte*>(second.data()), second.size()}}};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = second.empty() ? 1 : 2;
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EAGAIN || errno == EINTR) return 0;
    return fail(Code::kUnavailable, "cannot send: {}", std::strerror(errno));
  }
  bool has_unsent() const override { return false; }

  Result<std::size_t> receive(std::span<std::byte> to) override {
    if (at_ < end_) return take_ahead(to);
    const bool is_small = to.size() < kAhead;
    std::array<iovec, 2> pieces{{{to.data(), to.size()}, {ahead_.data(), ahead_.size()}}};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = is_small ? 2 : 1;
    const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (got < 0) return fail(Code::kUnavailable, "cannot receive: {}", std::strerror(errno));
    if (got == 0) return fail(Code::kUnavailable, "the connection has ended");
    const auto size = static_cast<std::size_t>(got);
    at_ = 0;
    end_ = size - std::min(size, to.size());
    return size - end_;
  }
  int fd() const override { return socket_.get(); }

 private:
  std::size_t take_ahead(std::span<std::byte> to) {
    const std::size_t size = std::min(to.size(), end_ - at_);
    std::memcpy(to.data(), ahead_.data() + at_, size);
    at_ += size;
    return size;
  }

  Fd socket_;
  std::array<std::byte, kAhead> ahead_;
  std::size_t at_ = 0, end_ = 0;  // range of the bytes read ahead
};

}  // namespace

std::unique_ptr<Stream> make_plain_stream(Fd socket) { return std::make_unique<PlainStream>(std::move(socket)); }

}  // namespace tfd::process
