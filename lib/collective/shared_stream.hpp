#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A process::Stream through memory that two processes of a host share. Thread rule: lives on one thread.
#include <memory>

#include "tfd/base/deadline.hpp"
#include "tfd/process/stream.hpp"

namespace tfd::collective {

using process::Stream;

/// A stream through memory of this host. The sockets are connected Unix sockets, on which both have proven themselves:
/// one makes the memory and hands it over, the other takes it. Then the socket wakes the other side, and tells
/// when it ends. kSystem: no memory. kInvalidArgument: the received descriptor isn't such memory. kDeadlineExceeded.
Result<std::unique_ptr<Stream>> make_shared_stream(process::Fd socket);
Result<std::unique_ptr<Stream>> take_shared_stream(process::Fd socket, Deadline deadline);

}  // namespace tfd::collective
