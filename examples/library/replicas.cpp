// SPDX-License-Identifier: Apache-2.0
//
// The example of Strategy.experimental_distribute_dataset's documentation, in C++: two replicas share the rows of each
// batch, double them, and add up what they have got.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "tfd/data/plan.hpp"
#include "tfd/strategy/strategy.hpp"

using namespace tfd;
using tensor::Tensor;

namespace {

Tensor number(std::int64_t value) { return Tensor::scalar(tensor::DType::kS64, value); }

Result<void> run() {
  const auto strategy =
      TFD_TRY(strategy::Strategy::make({.kind = &strategy::kMirroredKind, .devices = function::first_devices(2)}));
  const auto scope = TFD_TRY(strategy->scope());
  auto* const total =
      TFD_TRY(strategy->create_variable("total", number(0), {.aggregation = variable::Aggregation::kSum}));

  const data::Plan batches{{data::RangeSource{.stop = 4}, data::Batch{.size = 2}}};
  const auto dataset = TFD_TRY(strategy->experimental_distribute_dataset(batches, {}));
  const auto replica_fn = [&](strategy::ReplicaContext&,
                              const std::vector<Tensor>& args) -> Result<std::vector<Tensor>> {
    const Tensor doubled = number(args[0].as<std::int64_t>()[0] * 2);
    TFD_TRY(total->assign_add(doubled));
    return std::vector<Tensor>{doubled};
  };
  auto iterator = TFD_TRY(dataset.iterate());
  while (const auto batch = TFD_TRY(iterator.next())) {
    const auto results = TFD_TRY(strategy->run(replica_fn, {*batch}));
    std::printf("PerReplica");
    for (const Tensor& one : strategy::local_results(results[0]))
      std::printf(" %lld", static_cast<long long>(one.as<std::int64_t>()[0]));
    const Tensor mean = TFD_TRY(strategy->reduce(program::Reduce::kMean, results[0]));
    std::printf(", mean %g\n", mean.as<double>()[0]);
  }
  const Tensor all = TFD_TRY(total->read());
  std::printf("total %lld\n", static_cast<long long>(all.as<std::int64_t>()[0]));
  return {};
}

}  // namespace

int main() {
  const auto done = run();
  if (!done) std::fprintf(stderr, "replicas: %s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
