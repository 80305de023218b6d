// SPDX-License-Identifier: Apache-2.0
#include "group_evaluation.hpp"

#include <nlohmann/json.hpp>

#include "api/evaluation.hpp"
#include "group_call.hpp"
#include "group_messages.hpp"

namespace tfd::strategy {
namespace {

using Json = nlohmann::ordered_json;

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
    text = Json{{"seed", data::draw_seed()}}.dump();
  }
  auto state = TFD_TRY(call.exchange().send_all("the chief's variables", call.next_round(), std::move(own), text));
  const Json told = Json::parse(text, nullptr, false);
  if (!told.is_object() || !told.contains("seed") || !told["seed"].is_number_unsigned())
    return fail(Code::kProtocolMismatch, "malformed variables from {}", options.group.members.front().first);
  out.seed = told["seed"].get<std::uint64_t>();
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
  const std::string text = own ? format_metrics(*own) : "";
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
