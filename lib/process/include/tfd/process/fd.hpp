#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// An owned descriptor, pipes, and questions about descriptors. Everything is close-on-exec. Thread rule: plain values.
#include <string>
#include <utility>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"

namespace tfd::process {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset();
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read;
  Fd write;
};
Result<Pipe> make_pipe();

/// True for a FIFO, a socket or a regular file, which a spec may come from. False for a terminal, /dev/null, a closed
/// fd.
bool is_data_source(int fd);
/// True if the reader of `fd` is gone: POLLERR on a pipe, POLLHUP on a socket. False for files and terminals. Never
/// blocks.
bool reader_is_gone(int fd);
/// "DEVICE:INODE", by which a process knows that a descriptor is the same stream; empty for a closed one.
std::string name_of_stream(int fd);
/// A pipe or a socket: something whose reader can go.
bool has_reader(int fd);

/// Everything up to the end of file. kDeadlineExceeded, kSystem, kResourceExhausted above `most` bytes.
Result<std::string> read_all(int fd, Deadline deadline, std::size_t most = std::size_t{1} << 30);

}  // namespace tfd::process
