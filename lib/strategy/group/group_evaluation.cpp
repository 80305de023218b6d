// SPDX-License-Identifier: Apache-2.0
#include "group_evaluation.hpp"

#include "api/evaluation.hpp"
#include "group_call.hpp"
#include "group_messages.hpp"
#include "value_bytes.hpp"

namespace tfd::strategy {
namespace {

/// The chief's weights, in all members, and the seed of what all evaluate.
struct Shared {
  EvaluatedWeights weights;  // of members other than the chief: the values alone
  std::uint64_t seed = 0;
};

Result<Shared> share(GroupCall& call, const program::Program& program, const EvaluationRequest& request,
                     const GroupTrainingOptions& options) {
  Shared out;
  std::string text;
  tensor::NamedTensors own;
  if (call.is_chief()) {
    out.weights = TFD_TRY(find_evaluated_weights(program, request, options.device.make_engine, options.device.train));
    own.assign(out.weights.variables.begin(), out.weights.variables.end());
    text = format_value(std::uint64_t{data::draw_seed()});
  }
  auto state = TFD_TRY(call.exchange().send_all("the chief's variables", call.next_round(), std::move(own), text));
  out.seed = TFD_TRY(parse_value<std::uint64_t>(text, "variables"), options.group.members.front().first);
  if (!call.is_chief())
    for (auto& [name, value] : state) out.weights.variables.emplace(name, std::move(value));
  return out;
}

Result<train::TrainSummary> evaluate(GroupCall& call, const program::Program& program, const EvaluationRequest& request,
                                     const GroupTrainingOptions& options) {
  TFD_TRY(call.join());
  const Shared shared = TFD_TRY(share(call, program, request, options));
  step::ReplicaOptions with;
  with.replicas = options.device.replicas;
  with.data_root = options.device.data_root;
  with.make_engine = options.device.make_engine;
  with.command_environment = options.device.command_environment;
  with.stop_data = call.stop_data();
  with.log = options.device.train.log;
  const auto runner = TFD_TRY(step::ReplicaRunner::make(program, with));
  if (options.device.on_begin) options.device.on_begin();
  const auto begun = Clock::now();
  const auto own = runner->evaluate(
      request.function, shared.weights.variables, request.steps, [&] { return call.has_to_stop(); },
      part_of_evaluation(call.communicator(), shared.seed));
  // One that stopped since another member is lost learns here which, as all do.
  if (!own && (own.error().code != Code::kCancelled || call.is_stopping())) return fail(own.error());
  step::MetricAccumulator sum;
  const std::string text = format_metrics(own ? *own : std::vector<step::Metric>());
  for (const std::string& one : TFD_TRY(call.exchange().gather("metrics", call.next_round(), text)))
    sum.add(TFD_TRY(parse_metrics(one)));
  if (!own) return fail(own.error());
  train::TrainSummary summary{.reason = "done"};
  summary.evaluation = sum.values();
  if (call.is_chief()) TFD_TRY(write_evaluation(shared.weights, summary.evaluation, begun, options.device.train));
  TFD_TRY(call.end());
  return summary;
}

}  // namespace

step::EvaluationPart part_of_evaluation(const collective::Communicator& communicator, std::uint64_t seed) {
  return {.count = communicator.size(),
          .index = communicator.rank(),
          .order = {.seeds = data::ShuffleSeeds{.iteration = seed, .dataset = 0}}};
}

Result<train::TrainSummary> evaluate_in_group(const program::Program& program, const EvaluationRequest& request,
                                              GroupTrainingOptions options) {
  auto& train = options.device.train;
  if (!train.interrupts) train.interrupts = std::make_shared<train::Interrupts>();
  GroupCall call(program, request.function, options);
  return call.run([&] { return evaluate(call, program, request, options); });
}

}  // namespace tfd::strategy
