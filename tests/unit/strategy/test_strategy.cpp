// SPDX-License-Identifier: Apache-2.0
//
// Strategy: replicas, what they may call where, and variables; beyond the vector sets reduce, gather, all_reduce,
// local_results, variables and tpu_strategy.
#include <algorithm>
#include <atomic>

#include "fake_engine.hpp"
#include "strategy_kit.hpp"
#include "tfd/variable/reduction.hpp"

namespace tfd::strategy::test {
namespace {

using program::Reduce;
using tensor::Tensor;
using variable::Aggregation;
using variable::Synchronization;

const ReplicaFunction kNothing = [](ReplicaContext&, const Tensors&) -> Result<Tensors> { return Tensors{}; };

TEST_CASE("strategy: kinds, their replicas and devices") {
  CHECK(make(kOneDeviceKind, 1)->num_replicas_in_sync() == 1);
  const auto mirrored = make(kMirroredKind, 2);
  CHECK(mirrored->num_replicas_in_sync() == 2);
  CHECK(mirrored->worker_devices().value() == std::vector<std::string>{"/job:localhost/replica:0/task:0/device:CPU:0",
                                                                       "/job:localhost/replica:0/task:0/device:CPU:1"});
  CHECK(mirrored->parameter_devices().value() == mirrored->worker_devices().value());
  CHECK(make(kCentralStorageKind, 2)->parameter_devices().value() ==
        std::vector<std::string>{"/job:localhost/replica:0/task:0/device:CPU:0"});
  auto gpus = function::parse_device_choice("gpu:1,gpu:3").value();
  const auto on_gpus = Strategy::make({.kind = &kMirroredKind, .devices = gpus}).value();
  CHECK(on_gpus->worker_devices().value().back() == "/job:localhost/replica:0/task:0/device:GPU:3");

  const auto refused = [](const Kind& kind, function::DeviceChoice devices) {
    return error_of(Strategy::make({.kind = &kind, .devices = std::move(devices)}));
  };
  CHECK(refused(kOneDeviceKind, function::first_devices(2)) == "one-device has one replica, not 2");
  CHECK(refused(kMirroredKind, {.positions = {1, 1}}) == "mirrored: a device is there twice: 1, 1");
  CHECK(refused(kMirroredKind, {}) == "mirrored: no device to run a replica on");
  CHECK(refused(kParameterServerKind, function::first_devices(1)) ==
        "parameter-server is no strategy of this process's devices");
  CHECK(refused(kTpuKind, function::first_devices(1)) == "tpu: needs the plan of a TPU system");
}

TEST_CASE("strategy: a TPU system's plan says the devices, of which a replica may have several") {
  const auto mesh = Topology::full({2, 1, 1, 2}).value();
  std::vector<std::string> names;
  for (const auto& at : mesh.device_coordinates().front()) names.push_back(mesh.tpu_device(at, "worker").value());
  const auto pairs = DeviceAssignment::build(mesh, {.shape = {1, 1, 1, 2}, .num_replicas = 2}).value();
  const auto plan = plan_tpu(names, pairs).value();
  CHECK(plan.positions == std::vector<int>{0, 1, 2, 3});
  function::DeviceChoice cores{.positions = plan.positions, .logical_devices = 2};
  const auto strategy = Strategy::make({.kind = &kTpuKind, .devices = cores, .tpu = plan}).value();
  CHECK(strategy->num_replicas_in_sync() == 2);
  CHECK(strategy->worker_devices().value() == std::vector<std::string>{"/job:worker/replica:0/task:0/device:TPU:0",
                                                                       "/job:worker/replica:0/task:0/device:TPU:2"});
  cores.positions = {0, 1, 3, 2};
  CHECK(error_of(Strategy::make({.kind = &kTpuKind, .devices = cores, .tpu = plan})) ==
        "tpu: the plan is about the devices 0, 1, 2, 3, not 0, 1, 3, 2");
}

TEST_CASE("strategy: run gives each replica its component, and what is the same for all as it is") {
  const auto strategy = make(kMirroredKind, 3);
  const Tensor same = floats(7);
  const auto results = strategy
                           ->run(
                               [&](ReplicaContext& replica, const Tensors& args) -> Result<Tensors> {
                                 CHECK(current_replica() == &replica);
                                 CHECK(current_strategy() == strategy.get());
                                 CHECK(replica.num_replicas_in_sync() == 3);
                                 return Tensors{args[0], args[1], floats(id_of(replica)), same};
                               },
                               {per_replica({1, 2, 3}), DistributedValue(floats({5, 6}))})
                           .value();
  CHECK(current_strategy() == nullptr);
  CHECK(shown(results[0]) == nlohmann::json{1, 2, 3});
  CHECK(results[1].is_plain());  // the caller's
  CHECK(shown(results[2]) == nlohmann::json{0, 1, 2});
  CHECK(results[3].is_plain());
  CHECK(error_of(strategy->run(kNothing, {per_replica({1, 2})})) ==
        "argument 0: a value with 2 components for 3 replicas");
  const auto uneven = [](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
    return Tensors(replica.replica_id_in_sync_group() == 1 ? 2 : 1, floats(0));
  };
  CHECK(error_of(strategy->run(uneven)) == "replica 0 returns 1 value, replica 1 returns 2");
}

TEST_CASE("strategy: merge_call runs once, outside of replicas, with the values of all") {
  const auto strategy = make(kMirroredKind, 4);
  std::atomic<int> calls{0};
  const auto results =
      strategy
          ->run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
            const MergeFunction add =
                [&](Strategy& on, const std::vector<DistributedValue>& all) -> Result<std::vector<DistributedValue>> {
              ++calls;
              CHECK(current_replica() == nullptr);
              CHECK(current_strategy() == &on);
              CHECK(error_of(on.run(kNothing)) == "run: the strategy is running a function already");
              const Tensor sum = TFD_TRY(on.reduce(Reduce::kSum, all[0]));
              return std::vector<DistributedValue>{all[0], sum};
            };
            return replica.merge_call(add, {floats(id_of(replica) + 1)});
          })
          .value();
  CHECK(calls == 1);
  CHECK(shown(results[0]) == nlohmann::json{1, 2, 3, 4});
  CHECK(shown(results[1]) == nlohmann::json{10});  // the same for all
}

TEST_CASE("strategy: replicas meet again and again, in one order") {
  const auto strategy = make(kMirroredKind, 3);
  const auto results = strategy
                           ->run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
                             Tensor value = floats(id_of(replica));
                             for (int i = 0; i < 200; ++i) value = TFD_TRY(replica.all_reduce(Reduce::kMean, value));
                             const Tensor all = TFD_TRY(replica.all_gather(floats({id_of(replica)}), 0));
                             return Tensors{value, all};
                           })
                           .value();
  CHECK(shown(results[0].on(2)) == 1);
  CHECK(shown(results[1].on(0)) == nlohmann::json{0, 1, 2});
  const auto other_order = strategy->run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
    if (replica.replica_id_in_sync_group() == 0) return Tensors{TFD_TRY(replica.all_reduce(Reduce::kSum, floats(1)))};
    return Tensors{TFD_TRY(replica.all_gather(floats({1}), 0))};
  });
  CHECK(other_order.error().code == Code::kFailedPrecondition);
  CHECK(error_of(other_order) ==
        "replica 0 calls all_reduce while replica 1 calls all_gather: the order must be the same");
}

TEST_CASE("strategy: a replica that fails, or that returns, ends the waiting of the others") {
  const auto strategy = make(kMirroredKind, 3);
  const auto failed = strategy->run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
    if (replica.replica_id_in_sync_group() == 2) return fail(Code::kDataLoss, "the third one broke");
    return Tensors{TFD_TRY(replica.all_reduce(Reduce::kSum, floats(1)))};
  });
  CHECK(failed.error().code == Code::kDataLoss);
  CHECK(error_of(failed) == "the third one broke");
  const auto returned = strategy->run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
    if (replica.replica_id_in_sync_group() == 1) return Tensors{floats(1)};
    return Tensors{TFD_TRY(replica.all_reduce(Reduce::kSum, floats(1)))};
  });
  CHECK(returned.error().code == Code::kFailedPrecondition);
  CHECK(error_of(returned) ==
        "all_reduce: replica 1 has returned without it: every replica must make the same calls of merge_call, "
        "all_reduce and all_gather");
  const auto shapes = strategy->run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
    const bool is_first = replica.replica_id_in_sync_group() == 0;
    return Tensors{TFD_TRY(replica.all_reduce(Reduce::kSum, is_first ? floats({1, 2}) : floats(1)))};
  });
  CHECK(shapes.error().code == Code::kInvalidArgument);
  CHECK(strategy->run(kNothing));  // and is as before
}

TEST_CASE("strategy: what is called in the wrong place is an error") {
  const auto strategy = make(kMirroredKind, 2), other = make(kMirroredKind, 2);
  {
    const Scope scope = strategy->scope().value();
    const Scope again = strategy->scope().value();
    CHECK(current_strategy() == strategy.get());
    CHECK(other->scope().error().code == Code::kFailedPrecondition);
    CHECK(error_of(other->run(kNothing)) ==
          "run: this thread is in the scope of another strategy (mirrored, not mirrored)");
    CHECK_FALSE(other->reduce(Reduce::kSum, per_replica({1, 2})));
  }
  CHECK(current_strategy() == nullptr);
  DistributedVariable* const theirs = other->create_variable("v", floats(1)).value();
  ReplicaContext* outlived = nullptr;
  std::atomic<int> checked{0};
  REQUIRE(strategy->run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
    CHECK(strategy->scope().error().code == Code::kFailedPrecondition);
    CHECK(strategy->run(kNothing).error().code == Code::kFailedPrecondition);
    CHECK(strategy->reduce(Reduce::kMean, floats(1)).error().code == Code::kFailedPrecondition);
    CHECK(strategy->gather(floats(1), 0).error().code == Code::kFailedPrecondition);
    CHECK(strategy->create_variable("w", floats(1)).error().code == Code::kFailedPrecondition);
    CHECK(theirs->read().error().code == Code::kFailedPrecondition);
    CHECK(theirs->assign(floats(2)).error().code == Code::kFailedPrecondition);
    if (replica.replica_id_in_sync_group() == 0) outlived = &replica;
    // The other replica's context is none for this thread.
    const auto misused = replica.merge_call(
        [&](Strategy&, const std::vector<DistributedValue>&) -> Result<std::vector<DistributedValue>> {
          CHECK(
              outlived
                  ->merge_call([](Strategy&, const auto& all) -> Result<std::vector<DistributedValue>> { return all; })
                  .error()
                  .message ==
              "merge_call of replica 0 is only called by that replica, while it runs: not outside of "
              "replicas");
          return std::vector<DistributedValue>{};
        });
    ++checked;
    return misused;
  }));
  CHECK(checked == 2);
  const auto before = strategy->reduce(Reduce::kSum, floats(3));
  CHECK(before.error().code == Code::kInvalidArgument);  // it is the same for both
  CHECK(error_of(strategy->reduce(Reduce::kSum, per_replica({1, 2, 3}))) == "a value with 3 components for 2 replicas");
}

TEST_CASE("strategy: a variable that is aggregated on write is the same everywhere, one without may differ") {
  const auto strategy = make(kMirroredKind, 2);
  const Tensor zero = floats(0), own = floats(5);
  DistributedVariable* const sum = strategy->create_variable("sum", zero, {.aggregation = Aggregation::kSum}).value();
  DistributedVariable* const none = strategy->create_variable("none", zero).value();
  const auto seen = strategy
                        ->run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
                          TFD_TRY(sum->assign_add(floats(id_of(replica) + 1)));
                          TFD_TRY(none->assign(floats(id_of(replica) + 1)));
                          const Tensor total = TFD_TRY(sum->read()), own_copy = TFD_TRY(none->read());
                          return Tensors{total, own_copy};
                        })
                        .value();
  CHECK(shown(seen[0]) == nlohmann::json{3, 3});
  CHECK(shown(seen[1]) == nlohmann::json{1, 2});
  CHECK(shown(sum->read()) == 3);
  CHECK(shown(none->read()) == 1);
  CHECK(shown(none->copies().value()) == nlohmann::json{1, 2});
  CHECK(sum->copies().value().is_mirrored());
  CHECK(shown(strategy->reduce(Reduce::kMean, sum->copies().value())) == 3);
  REQUIRE(none->assign(floats(9)));
  CHECK(shown(none->copies().value()) == nlohmann::json{9, 9});

  // A number of the caller's is the same on both: there is no sum of it. Values read by replicas are theirs.
  const auto same = strategy->run([&](ReplicaContext&, const Tensors&) -> Result<Tensors> {
    TFD_TRY(sum->assign_add(own));
    return Tensors{};
  });
  CHECK(error_of(same) == "variable 'sum': 5.0 is the same on every replica: it can't be reduced by 'sum'");
  const auto doubled = strategy->run([&](ReplicaContext&, const Tensors&) -> Result<Tensors> {
    TFD_TRY(sum->assign(TFD_TRY(sum->read())));
    return Tensors{};
  });
  CHECK(error_of(doubled) == "");
  CHECK(shown(sum->read()) == 6);
  const auto other_shape = strategy->run([&](ReplicaContext&, const Tensors&) -> Result<Tensors> {
    TFD_TRY(none->assign(floats({1, 2})));
    return Tensors{};
  });
  CHECK(other_shape.error().code == Code::kInvalidArgument);
}

TEST_CASE("strategy: a variable that one replica doesn't write is an error of all") {
  const auto strategy = make(kMirroredKind, 2);
  DistributedVariable* const v = strategy->create_variable("v", floats(0), {.aggregation = Aggregation::kMean}).value();
  const auto result = strategy->run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
    if (replica.replica_id_in_sync_group() == 0) TFD_TRY(v->assign(floats(1)));
    return Tensors{};
  });
  CHECK(result.error().code == Code::kFailedPrecondition);
  CHECK(shown(v->read()) == 0);
}

TEST_CASE("strategy: creating variables, and where they are") {
  const auto strategy = make(kMirroredKind, 2), other = make(kOneDeviceKind, 1);
  DistributedVariable* const v = strategy->create_variable("v", floats(1)).value();
  CHECK(v->copy_names() == std::vector<std::string>{"v", "v/replica_1"});
  CHECK(v->kind().trainable);
  CHECK(strategy->value_container("v/replica_1") == v);
  CHECK(strategy->value_container("w") == nullptr);
  CHECK(strategy->create_variable("v", floats(1)).error().code == Code::kAlreadyExists);
  CHECK(strategy->create_variable("v/replica_1", floats(1)).error().code == Code::kAlreadyExists);
  CHECK(strategy->create_variable("w", floats(1), {.synchronization = Synchronization::kNone}).error().code ==
        Code::kInvalidArgument);
  const Tensor integer = Tensor::scalar(tensor::DType::kS64, std::int64_t{1});
  CHECK(strategy->create_variable("w", integer, {.aggregation = Aggregation::kMean}).error().code ==
        Code::kInvalidArgument);
  CHECK(strategy->create_variable("w", floats(1), {.colocate_with = v}));
  DistributedVariable* const theirs = other->create_variable("v", floats(1)).value();
  CHECK(theirs->copy_names() == std::vector<std::string>{"v"});
  CHECK(error_of(strategy->create_variable("x", floats(1), {.colocate_with = theirs})) ==
        "variable 'x': can't be colocated with 'v', a variable of another strategy");
}

TEST_CASE("strategy: central storage has one value for all replicas, which they only write with an aggregation") {
  const auto strategy = make(kCentralStorageKind, 2);
  DistributedVariable* const mean =
      strategy->create_variable("m", floats(0), {.aggregation = Aggregation::kMean}).value();
  DistributedVariable* const none = strategy->create_variable("n", floats(0)).value();
  CHECK(mean->copy_names() == std::vector<std::string>{"m"});
  const auto write = [&](DistributedVariable& v) {
    return strategy->run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
      TFD_TRY(v.assign(floats(id_of(replica) + 1)));
      return Tensors{TFD_TRY(v.read())};
    });
  };
  CHECK(shown(write(*mean).value()[0]) == nlohmann::json{1.5, 1.5});
  CHECK(write(*none).error().code == Code::kInvalidArgument);
  REQUIRE(none->assign_sub(floats(3)));
  CHECK(shown(none->copies().value()) == nlohmann::json{-3, -3});
}

TEST_CASE("strategy: update changes each copy by itself") {
  const auto strategy = make(kMirroredKind, 2), central = make(kCentralStorageKind, 2);
  DistributedVariable* const v = strategy->create_variable("v", floats({1, 2})).value();
  const auto add = [](const Tensor& copy, const Tensors& args) -> Result<Tensor> {
    return variable::aggregate(Aggregation::kSum, std::vector<Tensor>{copy, args[0]});
  };
  REQUIRE(strategy->update(*v, add, {per_replica({{10, 10}, {20, 20}})}));
  CHECK(shown(v->copies().value()) == nlohmann::json{{11, 12}, {21, 22}});
  REQUIRE(strategy->update(*v, add, {DistributedValue(floats({1, 1}))}));
  CHECK(shown(v->copies().value()) == nlohmann::json{{12, 13}, {22, 23}});
  const auto shrink = [](const Tensor&, const Tensors&) -> Result<Tensor> { return floats(1); };
  CHECK(error_of(strategy->update(*v, shrink)) == "variable 'v' is f32[2], and its update makes it f32[]");
  CHECK(error_of(central->update(*v, shrink)) == "variable 'v' is another strategy's");
  DistributedVariable* const one = central->create_variable("v", floats({1, 2})).value();
  REQUIRE(central->update(*one, add, {DistributedValue(floats({1, 1}))}));
  CHECK(shown(one->read()) == nlohmann::json{2, 3});
}

TEST_CASE("strategy: a module runs on every replica with its component, a plain value and a variable's copy") {
  const kit::Body add = [](const Tensors& in) -> Result<Tensors> {
    return Tensors{TFD_TRY(variable::aggregate(Aggregation::kSum, in))};
  };
  const auto engine = std::make_shared<kit::FakeEngine>(std::map<std::string, kit::Body>{{"add.mlir", add}}, 2);
  const auto strategy =
      Strategy::make({.kind = &kMirroredKind,
                      .devices = function::first_devices(2),
                      .make_engine = [&]() -> Result<std::shared_ptr<function::Engine>> { return engine; }})
          .value();
  const auto module = hlo::make_module(
      "add.mlir",
      "module { func.func public @main(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>) -> tensor<f32> { } }",
      std::nullopt);
  const auto function = strategy->compile(module.value()).value();
  DistributedVariable* const v = strategy->create_variable("v", floats(100)).value();
  const auto sums = strategy->run(function, {per_replica({1, 2}), DistributedValue(floats(10)), std::cref(*v)}).value();
  CHECK(shown(sums[0]) == nlohmann::json{111, 112});
  CHECK(error_of(strategy->run(function, {per_replica({1, 2})})) != "");
  // Replicas get a value of a variable each, not one that was made outside of them.
  DistributedVariable* const sum =
      strategy->create_variable("sum", floats(0), {.aggregation = Aggregation::kSum}).value();
  REQUIRE(strategy->run(
      [&](ReplicaContext&, const Tensors& args) -> Result<Tensors> {
        TFD_TRY(sum->assign_add(args[0]));
        return Tensors{};
      },
      {std::cref(*v)}));
  CHECK(shown(sum->read()) == 200);
  CHECK(make(kMirroredKind, 2)->compile(module.value()).error().code == Code::kFailedPrecondition);
}

}  // namespace
}  // namespace tfd::strategy::test
