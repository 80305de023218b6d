#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The two sides of a rendezvous. Thread rule: as Rendezvous.
#include <memory>

#include "inbox.hpp"
#include "messages.hpp"
#include "tfd/rendezvous/rendezvous.hpp"

namespace tfd::rendezvous {

Result<std::unique_ptr<Rendezvous>> hold(process::EventLoop& loop, RendezvousOptions options);
Result<std::unique_ptr<Rendezvous>> visit(process::EventLoop& loop, RendezvousOptions options);
/// Options of both sides' endpoints.
transport::EndpointOptions endpoint_options(const RendezvousOptions& options);

}  // namespace tfd::rendezvous
