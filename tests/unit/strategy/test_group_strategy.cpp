// SPDX-License-Identifier: Apache-2.0
//
// Strategy over several processes, each a thread with a task of its own; what TensorFlow's does is in the golden sets
// multi_worker_*.
#include <cmath>

#include "strategy_group.hpp"
#include "strategy_kit.hpp"

namespace tfd::strategy {
namespace {

using json = nlohmann::json;
using kit::run_workers;
using test::error_of;
using test::floats;
using test::per_replica;
using test::shown;
using test::Tensors;

/// Each worker's results, by rank.
using Got = std::vector<json>;
Got on_workers(const kit::Workers& workers, const std::function<json(Strategy&, std::size_t)>& work) {
  Got out(workers.replicas.size());
  run_workers(workers, [&](Strategy& on, std::size_t rank) { out[rank] = work(on, rank); });
  return out;
}
Got all(std::size_t workers, const json& value) { return Got(workers, value); }

/// A value of replica `replica`, with the numbers that it has whoever makes it.
tensor::Tensor noise(int replica, std::int64_t size = 5000) {
  tensor::Tensor out = tensor::Tensor::uninitialized(tensor::DType::kF32, {size});
  std::uint32_t state = 12345U + 977U * static_cast<std::uint32_t>(replica);
  for (std::int64_t i = 0; i < size; ++i) {
    state = state * 1664525U + 1013904223U;
    out.mutable_as<float>()[i] = std::ldexp(static_cast<float>(state >> 8U) - 8e6F, -static_cast<int>(state % 24U));
  }
  return out;
}

std::string text_of(const tensor::Tensor& value) {
  return {reinterpret_cast<const char*>(value.data()), value.byte_size()};
}

/// Numbers; none are of one dimension.
tensor::Tensor some(const json& values) {
  return values.is_array() && values.empty() ? tensor::Tensor::zeros(tensor::DType::kF32, {0}) : floats(values);
}

DistributedValue own_values(const Strategy& on, const json& of_all, std::size_t rank,
                            const std::vector<int>& replicas) {
  std::size_t first = 0;
  for (std::size_t i = 0; i < rank; ++i) first += static_cast<std::size_t>(replicas[i]);
  Tensors own;
  for (std::size_t i = 0; i < on.local_replicas(); ++i) own.push_back(some(of_all.at(first + i)));
  return DistributedValue::per_replica(std::move(own));
}

}  // namespace

TEST_CASE("group strategy: replicas, devices and contexts are counted through, and the chief writes checkpoints") {
  const auto got = on_workers({.replicas = {1, 2}, .has_chief = true}, [](Strategy& on, std::size_t) -> json {
    const auto values = on.experimental_distribute_values_from_function([](const ValueContext& one) {
      return Result<tensor::Tensor>(floats(10 * one.replica_id_in_sync_group + one.num_replicas_in_sync));
    });
    json ids = json::array();
    const auto ran = on.run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
      return Tensors{floats(json(10 * replica.replica_id_in_sync_group() + replica.num_replicas_in_sync()))};
    });
    return {on.worker_devices().value(), on.num_replicas_in_sync(), on.should_checkpoint(),
            on.should_save_summary(),    shown(values.value()),     shown(ran.value().front())};
  });
  CHECK(got[0] == json::parse(R"([["/job:chief/replica:0/task:0/device:CPU:0"], 3, true, true, [3.0], [3.0]])"));
  CHECK(got[1] == json::parse(R"([["/job:worker/replica:0/task:0/device:CPU:0",
                                   "/job:worker/replica:0/task:0/device:CPU:1"], 3, false, false,
                                  [13.0, 23.0], [13.0, 23.0]])"));
}

TEST_CASE("group strategy: without a cluster, and as its only worker, a process is alone") {
  const auto strategy = test::make(kMultiWorkerMirroredKind, 2);
  CHECK(strategy->num_replicas_in_sync() == 2);
  CHECK(strategy->worker_devices().value()[1] == "/job:localhost/replica:0/task:0/device:CPU:1");
  CHECK(shown(strategy->reduce(program::Reduce::kMean, per_replica({1, 4}))) == 2.5);
  const auto got = on_workers({.replicas = {1}}, [](Strategy& on, std::size_t) -> json {
    return {on.worker_devices().value()[0], on.should_checkpoint(), shown(on.gather(per_replica({{1, 2}}), 0))};
  });
  CHECK(got[0] == json::parse(R"(["/job:worker/replica:0/task:0/device:CPU:0", true, [1.0, 2.0]])"));
}

TEST_CASE("group strategy: sums have the same bits on one, two, three and four processes") {
  std::vector<std::string> sums;
  for (const std::vector<int>& replicas :
       std::vector<std::vector<int>>{{4}, {2, 2}, {1, 3}, {3, 1}, {1, 1, 2}, {1, 1, 1, 1}}) {
    std::vector<std::string> own(replicas.size());
    run_workers({.replicas = replicas}, [&](Strategy& on, std::size_t rank) {
      const auto ran = on.run([](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
        return Tensors{TFD_TRY(replica.all_reduce(program::Reduce::kSum, noise(replica.replica_id_in_sync_group())))};
      });
      own[rank] = text_of(ran.value().front().on(0));
    });
    sums.insert(sums.end(), own.begin(), own.end());
  }
  for (const std::string& sum : sums) CHECK(sum == sums.front());
}

TEST_CASE("group strategy: half types are added in f32, integers have no mean, and constants no sum") {
  const auto got = on_workers({.replicas = {2, 2}}, [](Strategy& on, std::size_t) -> json {
    const auto half = [&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
      // 2048 + 1 + 1 + 1 in f16 alone stays 2048.
      const float value = replica.replica_id_in_sync_group() == 0 ? 2048.F : 1.F;
      auto one = tensor::Tensor::uninitialized(tensor::DType::kF16, {});
      *one.mutable_as<std::uint16_t>() = tensor::float_to_half(value);
      return Tensors{TFD_TRY(replica.all_reduce(program::Reduce::kSum, one))};
    };
    const tensor::Tensor whole = tensor::Tensor::scalar(tensor::DType::kS32, 3);
    const auto sum = on.run(half).value().front().on(0);
    return {tensor::half_to_float(sum.as<std::uint16_t>()[0]),
            error_of(on.reduce(program::Reduce::kMean, DistributedValue::per_replica({whole, whole}))),
            error_of(on.reduce(program::Reduce::kSum, floats(4))), shown(on.reduce(program::Reduce::kMean, floats(4))),
            shown(on.reduce(program::Reduce::kSum, DistributedValue::per_replica({whole, whole})))};
  });
  CHECK(got == all(2, {2052.0, "the mean of s32 would be a fraction: cast the values to f32 or f64 first",
                       "f32[] 4.0 is the same on every replica: it can't be reduced by 'sum'", 4.0, 12}));
}

TEST_CASE("group strategy: reduces over axes by numbers of elements, and gathers what differs along one axis") {
  const std::vector<int> replicas{2, 1};
  const auto work = [&](const json& values, const auto& what) {
    return on_workers({.replicas = replicas}, [&](Strategy& on, std::size_t rank) -> json {
      return shown(what(on, own_values(on, values, rank, replicas)));
    });
  };
  const auto mean = [](Strategy& on, const DistributedValue& value) {
    return on.reduce(program::Reduce::kMean, value, {{0}});
  };
  const auto gather = [](Strategy& on, const DistributedValue& value) { return on.gather(value, 0); };
  CHECK(work(json::parse("[[1,2,3],[5],[9]]"), mean) == all(2, 4.0));
  CHECK(work(json::parse("[[1,2],[],[3]]"), gather) == all(2, {1.0, 2.0, 3.0}));
  CHECK(work(json::parse("[[],[],[]]"), gather) == all(2, json::array()));
  CHECK(
      work(json::parse("[[[1,2]],[[3,4]],[[5]]]"), gather) ==
      all(2, "replica 0 has f32[1, 2], replica 2 has f32[1, 1]: dimension 1 must be the same to gather along axis 0"));
  const auto none = [](Strategy& on, const DistributedValue& value) -> Result<tensor::Tensor> {
    return floats(std::isnan(TFD_TRY(on.reduce(program::Reduce::kMean, value, {{0}})).template as<float>()[0]) ? 1 : 0);
  };
  CHECK(work(json::parse("[[],[],[]]"), none) == all(2, 1.0));
  // A value that goes in two messages, since it is large.
  const auto large = on_workers({.replicas = replicas}, [](Strategy& on, std::size_t rank) -> json {
    Tensors own;
    for (std::size_t i = 0; i < on.local_replicas(); ++i)
      own.push_back(noise(static_cast<int>(2 * rank + i), rank == 0 ? 20000 : 10));
    const auto sum = on.gather(DistributedValue::per_replica(own), 0).value();
    return {sum.shape(), text_of(sum) == text_of(noise(0, 20000)) + text_of(noise(1, 20000)) + text_of(noise(2, 10))};
  });
  CHECK(large == all(2, json::parse("[[40010], true]")));
}

TEST_CASE("group strategy: what all do wrong alike is an error of each, and they go on") {
  const auto got = on_workers({.replicas = {1, 1}}, [](Strategy& on, std::size_t rank) -> json {
    const auto bad = on.run(
        [](ReplicaContext&, const Tensors&) -> Result<Tensors> { return fail(Code::kInvalidArgument, "no good"); });
    return {error_of(bad), error_of(on.gather(per_replica(json::array({1})), 0)),
            shown(on.reduce(program::Reduce::kSum, per_replica({rank + 1})))};
  });
  CHECK(got ==
        all(2, {"no good", "cannot gather along axis 0: the replicas returned f32[], not of rank 1 or more", 3.0}));
}

TEST_CASE("group strategy: calls that differ are one error, the same in all, which names both") {
  const auto both = [](const std::function<std::string(Strategy&, std::size_t)>& work) {
    const auto got =
        on_workers({.replicas = {1, 1}}, [&](Strategy& on, std::size_t rank) -> json { return work(on, rank); });
    CHECK(got[0] == got[1]);
    return got[0].get<std::string>();
  };
  const auto one = [](std::size_t rank, const json& first, const json& second) {
    return per_replica(json::array({rank == 0 ? first : second}));
  };
  CHECK(both([&](Strategy& on, std::size_t rank) {
          return error_of(on.reduce(program::Reduce::kSum, one(rank, {1, 2, 3}, {5})));
        }) == "all_reduce \"reduce, sum\": worker:0 has f32[3], worker:1 f32[1]");
  CHECK(both([&](Strategy& on, std::size_t rank) {
          return error_of(on.reduce(rank == 0 ? program::Reduce::kSum : program::Reduce::kMean, one(rank, 1, 2)));
        }) == "worker:0 makes all_reduce \"reduce, sum\", worker:1 makes all_reduce \"reduce, mean\"");
  CHECK(both([&](Strategy& on, std::size_t rank) {
          return error_of(on.create_variable(rank == 0 ? "a" : "b", floats(1)));
        }) ==
        "worker:0 makes broadcast \"variable 'a': initial value, f32[]\", worker:1 makes broadcast \"variable 'b': "
        "initial value, f32[]\"");
  CHECK(both([&](Strategy& on, std::size_t rank) {
          return error_of(on.create_variable("a", rank == 0 ? floats({1, 2}) : floats({1, 2, 3})));
        }) ==
        "worker:0 makes broadcast \"variable 'a': initial value, f32[2]\", worker:1 makes broadcast \"variable 'a': "
        "initial value, f32[3]\"");
  // Two that are alike, in another order, are told apart by their names.
  CHECK(both([&](Strategy& on, std::size_t rank) {
          const auto ran = on.run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
            const char* const first = rank == 0 ? "loss" : "accuracy";
            return Tensors{TFD_TRY(replica.all_reduce(program::Reduce::kSum, floats(1), first))};
          });
          return error_of(ran);
        }) == "worker:0 makes all_reduce \"reduce 'loss', sum\", worker:1 makes all_reduce \"reduce 'accuracy', sum\"");
  // One fails alone, while the other waits for it; it learns that at its next call.
  CHECK(both([&](Strategy& on, std::size_t rank) {
          const auto ran = on.run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
            if (rank == 1) return fail(Code::kInvalidArgument, "bad row 7");
            return Tensors{TFD_TRY(replica.all_reduce(program::Reduce::kSum, floats(1)))};
          });
          if (rank == 0) return error_of(ran);
          CHECK(error_of(ran) == "bad row 7");
          return error_of(on.reduce(program::Reduce::kSum, per_replica({1})));
        }) == "worker:0 makes all_reduce \"reduce, sum\", worker:1 makes all_gather \"the error: bad row 7\"");
}

TEST_CASE("group strategy: variables begin with the chief's value and stay equal by default") {
  const auto trace = [](variable::Aggregation aggregation, variable::Synchronization synchronization,
                        Compat compat = Compat::kNone) {
    return on_workers({.replicas = {1, 2}, .compat = compat}, [&](Strategy& on, std::size_t rank) -> json {
      DistributedVariable& v = *on.create_variable("v", floats(rank == 0 ? 1 : 5),
                                                   {.synchronization = synchronization, .aggregation = aggregation})
                                    .value();
      json out{shown(v.copies().value())};
      const auto add = [&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
        TFD_TRY(v.assign_add(floats(1 << replica.replica_id_in_sync_group())));
        return Tensors{};
      };
      out.push_back(error_of(on.run(add)));
      out.push_back(shown(v.copies().value()));
      out.push_back(shown(v.read()));
      out.push_back(error_of(v.assign(floats(rank == 0 ? 30 : 40))));
      out.push_back(shown(v.copies().value()));
      return out;
    });
  };
  constexpr auto kSum = variable::Aggregation::kSum, kOnlyFirstReplica = variable::Aggregation::kOnlyFirstReplica;
  constexpr auto kOnWrite = variable::Synchronization::kOnWrite, kOnRead = variable::Synchronization::kOnRead;
  const auto is = [](const char* first, const char* second) { return Got{json::parse(first), json::parse(second)}; };
  CHECK(trace(kSum, kOnWrite) ==
        is(R"([[1.0], "", [8.0], 8.0, "", [30.0]])", R"([[1.0,1.0], "", [8.0,8.0], 8.0, "", [30.0,30.0]])"));
  CHECK(trace(kOnlyFirstReplica, kOnWrite) ==
        is(R"([[1.0], "", [2.0], 2.0, "", [30.0]])", R"([[1.0,1.0], "", [2.0,2.0], 2.0, "", [30.0,30.0]])"));
  CHECK(trace(kOnlyFirstReplica, kOnWrite, Compat::kTensorflow) ==
        is(R"([[1.0], "", [2.0], 2.0, "", [30.0]])", R"([[1.0,1.0], "", [3.0,3.0], 3.0, "", [40.0,40.0]])"));
  CHECK(trace(variable::Aggregation::kNone, kOnWrite) ==
        is(R"([[1.0], "", [2.0], 2.0, "", [30.0]])", R"([[1.0,1.0], "", [3.0,5.0], 3.0, "", [30.0,30.0]])"));
  CHECK(trace(kSum, kOnRead) ==
        is(R"([[1.0], "", [2.0], 10.0, "", [10.0]])", R"([[1.0,1.0], "", [3.0,5.0], 10.0, "", [10.0,10.0]])"));
  CHECK(trace(kOnlyFirstReplica, kOnRead) ==
        is(R"([[1.0], "", [2.0], 2.0, "", [30.0]])", R"([[1.0,1.0], "", [3.0,5.0], 2.0, "", [30.0,30.0]])"));
}

TEST_CASE("group strategy: a merge call is the worker's own") {
  const auto got = on_workers({.replicas = {1, 2}}, [](Strategy& on, std::size_t) -> json {
    std::size_t merged = 0;
    const auto ran = on.run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
      return replica.merge_call(
          [&](Strategy& in, const std::vector<DistributedValue>& values) -> Result<std::vector<DistributedValue>> {
            merged = values.front().components().size();
            return std::vector<DistributedValue>{TFD_TRY(in.reduce(program::Reduce::kSum, values.front()))};
          },
          {floats(1 + replica.replica_id_in_sync_group())});
    });
    return {merged, shown(ran.value().front().on(0))};
  });
  CHECK(got == Got{{1, 6.0}, {2, 6.0}});
}

}  // namespace tfd::strategy
