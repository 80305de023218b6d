#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Size limit of tasks' messages. States are transferred in parts and closures ask only for what they need, but a tensor
// is never split: one of 20 GB must fit into a message. Thread rule: a function without state.
#include "tfd/transport/endpoint.hpp"

namespace tfd::task {

/// Raises the limit to half of this machine's memory, if that is more than the transport's default: a value that is
/// being replaced exists twice for a moment.
void allow_large_messages(transport::EndpointOptions& options);

}  // namespace tfd::task
