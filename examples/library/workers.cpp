// SPDX-License-Identifier: Apache-2.0
//
// A MultiWorkerMirroredStrategy: every process of a cluster runs this. They share the rows of each batch, add up what
// they have got in a variable, and the chief prints it. The cluster is TF_CONFIG's.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tfd/cluster/cluster_config.hpp"
#include "tfd/data/plan.hpp"
#include "tfd/strategy/strategy.hpp"

using namespace tfd;
using tensor::Tensor;

namespace {

Result<void> run(std::int64_t rows) {
  const char* const stated = std::getenv("TF_CONFIG");
  strategy::StrategyOptions options{.kind = &strategy::kMultiWorkerMirroredKind};
  options.cluster_resolver = TFD_TRY(cluster::cluster_config_from_json(stated == nullptr ? "{}" : stated, "TF_CONFIG"));
  const auto strategy = TFD_TRY(strategy::Strategy::make(std::move(options)));  // waits for the others
  const auto scope = TFD_TRY(strategy->scope());
  auto* const total = TFD_TRY(strategy->create_variable("total", Tensor::scalar(tensor::DType::kF32, 0.0F),
                                                        {.aggregation = variable::Aggregation::kSum}));

  const data::Plan batches{{data::RangeSource{.stop = rows}, data::Batch{.size = 4}}};
  const auto dataset = TFD_TRY(strategy->experimental_distribute_dataset(batches, {}));
  const auto add_rows = [&](strategy::ReplicaContext&, const std::vector<Tensor>& args) -> Result<std::vector<Tensor>> {
    float sum = 0;
    for (const std::int64_t row : args[0].as<std::int64_t>()) sum += static_cast<float>(row);
    TFD_TRY(total->assign_add(Tensor::scalar(tensor::DType::kF32, sum)));  // of all workers, the sum
    return std::vector<Tensor>{Tensor::scalar(tensor::DType::kF32, sum)};
  };
  auto iterator = TFD_TRY(dataset.iterate());
  while (const auto batch = TFD_TRY(iterator.next())) {
    const auto sums = TFD_TRY(strategy->run(add_rows, {*batch}));
    const Tensor sum = TFD_TRY(strategy->reduce(program::Reduce::kSum, sums[0]));  // the same in all
    if (strategy->should_checkpoint()) std::printf("rows of the batch %g\n", sum.as<float>()[0]);
  }
  const Tensor all = TFD_TRY(total->read());
  if (strategy->should_checkpoint())
    std::printf("rows of %d workers %g\n", strategy->num_replicas_in_sync(), all.as<float>()[0]);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto done = run(argc > 1 ? std::atoll(argv[1]) : 10);
  if (!done) std::fprintf(stderr, "workers: %s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
