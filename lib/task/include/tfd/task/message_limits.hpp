#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How large the messages of tasks may be. States move in parts and closures ask for what they need, but a tensor is
// never cut: who has one of 20 GB must be able to send it. Thread rule: a function without state.
#include "tfd/transport/endpoint.hpp"

namespace tfd::task {

/// Half of this machine's memory, where that is more than the transport takes by itself: a value that is replaced is
/// there twice for a moment.
void allow_large_messages(transport::EndpointOptions& options);

}  // namespace tfd::task
