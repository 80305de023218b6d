// SPDX-License-Identifier: Apache-2.0
#include "core.hpp"
#include "inproc/inproc_wire.hpp"

namespace tfd::transport {
namespace {

class Network final : public InprocNetwork {
 public:
  Result<std::unique_ptr<Endpoint>> make_endpoint(EndpointOptions options) override {
    auto waker = std::make_shared<Waker>();
    auto poller = TFD_TRY(Poller::make(waker));
    const InprocNet::NodeId node = TFD_TRY(net_->add(options.bind, options.name, waker));
    auto wire = std::make_unique<InprocWire>(net_, node, std::move(poller));
    return std::make_unique<Core>(std::move(options), std::move(wire), std::move(waker));
  }
  void cut(const std::string& address, bool is_cut) override { net_->cut(address, is_cut); }
  void kill(const std::string& address) override { net_->kill(address); }

 private:
  std::shared_ptr<InprocNet> net_ = std::make_shared<InprocNet>();  // with the endpoints, which may live longer
};

}  // namespace

std::unique_ptr<InprocNetwork> make_inproc_network() { return std::make_unique<Network>(); }

}  // namespace tfd::transport
