// SPDX-License-Identifier: Apache-2.0
#include "core.hpp"
#include "ring/ring_wire.hpp"
#include "stream/stream_wire.hpp"
#include "zmq/zmq_wire.hpp"

namespace tfd::transport {

Result<std::unique_ptr<Endpoint>> make_zmq_endpoint(EndpointOptions options) {
  auto waker = std::make_shared<Waker>();
  auto poller = TFD_TRY(Poller::make(waker));
  auto wire = TFD_TRY(
      ZmqWire::make({options.bind, options.listen_fd, options.key, options.on_turned_away, options.log}, poller));
  auto with_streams = std::make_unique<StreamWire>(std::move(wire), poller, options.key.has_value());
  if (options.transport == Transport::kTcp)
    return std::make_unique<Core>(std::move(options), std::move(with_streams), std::move(waker));
  const bool only = options.transport == Transport::kRing;
  auto with_rings = std::make_unique<RingWire>(std::move(with_streams), std::move(poller), only);
  return std::make_unique<Core>(std::move(options), std::move(with_rings), std::move(waker));
}

}  // namespace tfd::transport
