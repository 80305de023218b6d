// SPDX-License-Identifier: Apache-2.0
#include "replica_group.hpp"

namespace tfd::strategy {
namespace {

using tensor::Tensor;
using variable::ReplicatedVariable;
using variable::WriteOp;

class LocalReplicas final : public ReplicaGroup {
 public:
  explicit LocalReplicas(int replicas) : ReplicaGroup({step::ReplicaRange::whole(replicas)}, 0) {}

  Result<Tensor> reduce(program::Reduce how, const DistributedValue& value, const Axes& axes,
                        std::string_view) override {
    return strategy::reduce(how, value, axes, static_cast<std::size_t>(range().all));
  }
  Result<Tensor> gather(const DistributedValue& value, std::int64_t axis, std::string_view) override {
    return strategy::gather(value, axis);
  }

  Result<Tensor> initial(std::string_view, const Tensor& own) override { return own; }
  Result<void> write(std::string_view, ReplicatedVariable& now, WriteOp op, const DistributedValue& value) override {
    return value.is_plain() ? now.write_same(op, value.components().front()) : now.write(op, value.components());
  }
  Result<void> write_across(std::string_view, ReplicatedVariable& now, WriteOp op, const Tensor& value) override {
    return now.write_across(op, value);
  }
  Result<Tensor> read_across(std::string_view, const ReplicatedVariable& now) override { return now.read_across(); }

  Result<data::Order> agree_on_order(std::string_view, const data::Order& own) override { return own; }
  Result<std::vector<StepOffer>> agree_on_step(std::string_view, const StepOffer& own) override {
    if (own.error) return fail(Error(*own.error));
    return std::vector<StepOffer>{own};
  }
  Result<step::ReplicaOutputs> gather_outputs(std::string_view, const step::ReplicaOutputs& own) override {
    return own;
  }
  Result<std::vector<std::string>> gather_texts(std::string_view, std::string_view own) override {
    return std::vector<std::string>{std::string(own)};
  }
  Result<tensor::NamedTensors> send_all(std::string_view, tensor::NamedTensors own, std::string&, int) override {
    return own;
  }
  std::string name_of(int) const override { return "this process"; }
  void tell(const Error&) override {}
};

}  // namespace

std::unique_ptr<ReplicaGroup> make_local_replicas(int replicas) { return std::make_unique<LocalReplicas>(replicas); }

}  // namespace tfd::strategy
