// SPDX-License-Identifier: Apache-2.0
#include "remote_host.hpp"

namespace tfd::strategy {
namespace {

// Time that a step waits for its parameter servers. A dead or suspended one is noticed much earlier, by its heartbeats.
constexpr Duration kStepTimeout = std::chrono::seconds(60);
constexpr Duration kStateTimeout = std::chrono::minutes(5);  // to transfer all variables

class RemoteHost final : public VariableHost {
 public:
  RemoteHost(task::ParameterServers& servers, step::ReplicaCopies copies)
      : servers_(servers), copies_(std::move(copies)) {}

  Result<std::vector<tensor::Tensor>> read(const std::vector<std::string>& names) override {
    return servers_.read(names, Deadline::after(kStepTimeout));
  }
  Result<std::vector<tensor::Tensor>> look_up(const std::vector<step::RowLookup>& lookups) override {
    return servers_.look_up(lookups, Deadline::after(kStepTimeout));
  }
  Result<void> update(const std::vector<variable::Update>& updates, std::optional<std::uint64_t> sequence) override {
    const Deadline deadline = Deadline::after(kStepTimeout);
    return sequence ? servers_.update(*sequence, updates, deadline) : servers_.update_next(updates, deadline);
  }
  Result<void> assign(const std::string& variable, const tensor::Tensor& value) override {
    return servers_.assign({{variable, value}}, Deadline::after(kStepTimeout));
  }
  Result<tensor::NamedTensors> export_state() override {
    return copies_.gather(TFD_TRY(servers_.export_state(Deadline::after(kStateTimeout))));
  }
  Result<void> import_state(const tensor::NamedTensors& state) override {
    return servers_.import_state(TFD_TRY(copies_.spread(state)), Deadline::after(kStateTimeout));
  }
  Result<void> use_averages() override { return servers_.use_averages(Deadline::after(kStateTimeout)); }

 private:
  task::ParameterServers& servers_;
  const step::ReplicaCopies copies_;
};

}  // namespace

std::unique_ptr<VariableHost> make_remote_host(task::ParameterServers& servers, step::ReplicaCopies copies) {
  return std::make_unique<RemoteHost>(servers, std::move(copies));
}

}  // namespace tfd::strategy
