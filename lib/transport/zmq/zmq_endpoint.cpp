// SPDX-License-Identifier: Apache-2.0
#include "core.hpp"
#include "zmq/zmq_wire.hpp"

namespace tfd::transport {

Result<std::unique_ptr<Endpoint>> make_zmq_endpoint(EndpointOptions options) {
  auto waker = std::make_shared<Waker>();
  auto wire = TFD_TRY(ZmqWire::make({options.bind, options.listen_fd, options.key, options.log}, waker));
  return std::make_unique<Core>(std::move(options), std::move(wire), std::move(waker));
}

}  // namespace tfd::transport
