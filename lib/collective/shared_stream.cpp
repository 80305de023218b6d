// SPDX-License-Identifier: Apache-2.0
//
// A ring of bytes in each direction, in memory that two processes share. Each side keeps its own positions to itself
// and checks the other's whenever it reads them; bytes are copied out before anybody looks at them. Who sleeps says so,
// and is woken by a byte on the socket: so that a process that ends wakes its peers, too, without a clock.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "stream.hpp"

namespace tfd::collective {
namespace {

constexpr std::size_t kRingBytes = 256 << 10;  // both rings of a pair fit into an L2 cache
constexpr std::size_t kPieceBytes = 32 << 10;  // the reader begins while the next one is written
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

struct Way {
  alignas(64) std::atomic<std::uint64_t> written;  // by its writer
  alignas(64) std::atomic<std::uint64_t> read;     // by its reader
};
struct Shared {
  Way way[2];  // 0: from the side that made it
  alignas(64) std::atomic<std::uint32_t> sleeps[2];
  alignas(64) std::byte ring[2][kRingBytes];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

class SharedStream : public Stream {
 public:
  SharedStream(process::Fd socket, Shared* shared, int side)
      : socket_(std::move(socket)), shared_(shared), side_(side) {}
  SharedStream(const SharedStream&) = delete;
  SharedStream& operator=(const SharedStream&) = delete;
  ~SharedStream() override { ::munmap(shared_, sizeof *shared_); }

  Result<std::size_t> send(std::span<const std::byte> first, std::span<const std::byte> second) override {
    if (has_ended_) return fail(Code::kUnavailable, "the other process has ended");
    std::size_t sent = 0;
    for (const std::span<const std::byte> bytes : {first, second}) {
      for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t used = written_ - out().read.load();
        if (used > kRingBytes) return fail(Code::kInvalidArgument, "positions of shared memory that can't be");
        const std::size_t place = written_ % kRingBytes;
        const std::size_t size = std::min({bytes.size() - at, kRingBytes - used, kRingBytes - place, kPieceBytes});
        if (size == 0) return sent;
        std::memcpy(shared_->ring[side_] + place, bytes.data() + at, size);
        written_ += size;
        out().written.store(written_);
        ring_bell();
        at += size;
        sent += size;
      }
    }
    return sent;
  }
  bool has_unsent() const override { return false; }

  Result<std::size_t> receive(std::span<std::byte> to) override {
    std::size_t got = 0;
    while (got < to.size()) {
      const std::size_t there = in().written.load() - read_;
      if (there > kRingBytes) return fail(Code::kInvalidArgument, "positions of shared memory that can't be");
      const std::size_t place = read_ % kRingBytes;
      const std::size_t size = std::min({to.size() - got, there, kRingBytes - place, kPieceBytes});
      if (size == 0) break;
      std::memcpy(to.data() + got, shared_->ring[1 - side_] + place, size);
      read_ += size;
      in().read.store(read_);
      ring_bell();
      got += size;
    }
    if (got == 0 && has_ended_) return fail(Code::kUnavailable, "the other process has ended");
    return got;
  }

  int fd() const override { return socket_.get(); }
  short events(bool, bool) const override { return POLLIN; }
  bool prepare_to_sleep(bool reads, bool writes) override {
    shared_->sleeps[side_].store(1);
    return !(reads && in().written.load() != read_) && !(writes && written_ - out().read.load() < kRingBytes);
  }
  void wake_up() override {
    shared_->sleeps[side_].store(0);
    std::array<char, 64> bells;
    const ssize_t got = ::recv(socket_.get(), bells.data(), bells.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) has_ended_ = true;
  }

 private:
  Way& out() { return shared_->way[side_]; }
  Way& in() { return shared_->way[1 - side_]; }
  void ring_bell() {
    if (shared_->sleeps[1 - side_].load() == 0 || shared_->sleeps[1 - side_].exchange(0) == 0) return;
    const char bell = 1;
    (void)!::send(socket_.get(), &bell, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  process::Fd socket_;
  Shared* const shared_;  // mapped, and unmapped by this
  const int side_;        // 0: it has made the memory
  std::uint64_t written_ = 0, read_ = 0;
  bool has_ended_ = false;
};

Result<Shared*> map_shared(int memory) {
  void* const at = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (at == MAP_FAILED) return fail_errno(errno, "cannot map memory to share");
  return static_cast<Shared*>(at);
}

/// A message of one byte that carries a descriptor, or has room for one.
struct DescriptorMessage {
  DescriptorMessage() {
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  char byte = 0;
  iovec piece{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
};

}  // namespace

Result<std::unique_ptr<Stream>> make_shared_stream(process::Fd socket) {
  const process::Fd memory(::memfd_create("tfd-collective", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory || ::ftruncate(memory.get(), sizeof(Shared)) != 0 || ::fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0)
    return fail_errno(errno, "cannot make memory to share");
  Shared* const shared = TFD_TRY(map_shared(memory.get()));
  const int descriptor = memory.get();
  DescriptorMessage message;
  cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
  auto out = std::make_unique<SharedStream>(std::move(socket), shared, 0);
  if (::sendmsg(out->fd(), &message.header, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
    return fail_errno(errno, "cannot hand over memory to share");
  return out;
}

Result<std::unique_ptr<Stream>> take_shared_stream(process::Fd socket, Deadline deadline) {
  pollfd item{socket.get(), POLLIN, 0};
  if (::poll(&item, 1, deadline.poll_ms()) == 0)
    return fail(Code::kDeadlineExceeded, "a member has handed over no memory to share");
  DescriptorMessage message;
  const ssize_t got = ::recvmsg(socket.get(), &message.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* const control = got == 1 ? CMSG_FIRSTHDR(&message.header) : nullptr;
  int descriptor = -1;
  if (control != nullptr && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
      control->cmsg_len == CMSG_LEN(sizeof descriptor))
    std::memcpy(&descriptor, CMSG_DATA(control), sizeof descriptor);
  const process::Fd memory(descriptor);
  if (!memory) return fail(Code::kUnavailable, "a member has ended before it handed over memory to share");
  // Sealed, so that the other side can't make it smaller under our feet.
  struct stat about {};
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(memory.get(), &about) != 0 ||
      about.st_size != static_cast<off_t>(sizeof(Shared)))
    return fail(Code::kInvalidArgument, "a member has handed over something else than sealed memory");
  return std::make_unique<SharedStream>(std::move(socket), TFD_TRY(map_shared(memory.get())), 1);
}

}  // namespace tfd::collective
