// SPDX-License-Identifier: Apache-2.0
#include "core.hpp"
#include "ring/ring_wire.hpp"
#include "stream/stream_wire.hpp"
#include "zmq/zmq_wire.hpp"

namespace tfd::transport {

Result<std::unique_ptr<Endpoint>> make_zmq_endpoint(EndpointOptions options) {
  auto waker = std::make_shared<Waker>();
  auto wire = TFD_TRY(
      ZmqWire::make({options.bind, options.listen_fd, options.key, options.on_turned_away, options.log}, waker));
  auto with_streams = TFD_TRY(StreamWire::make(std::move(wire), options.key.has_value()));
  if (options.transport == Transport::kTcp)
    return std::make_unique<Core>(std::move(options), std::move(with_streams), std::move(waker));
  auto with_rings = TFD_TRY(RingWire::make(std::move(with_streams), options.transport == Transport::kRing));
  return std::make_unique<Core>(std::move(options), std::move(with_rings), std::move(waker));
}

}  // namespace tfd::transport
