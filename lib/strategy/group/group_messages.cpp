// SPDX-License-Identifier: Apache-2.0
#include "group_messages.hpp"

#include "value_bytes.hpp"

namespace tfd::step {

template <class Io>
void fields(Io& io, BoundOutputs& outputs) {
  io(outputs.outcome.results, outputs.outcome.metrics, outputs.updates);
}
template <class Io>
void fields(Io& io, ReplicaOutputs& outputs) {
  io(outputs.examples, outputs.outputs);
  io.require(outputs.examples.size() == outputs.outputs.size());
}

}  // namespace tfd::step

namespace tfd::strategy {

Error named(Error error, const std::string& member) {
  if (!error.task.empty()) return error;
  error.message = fmt::format("{}: {}", member, error.message);
  error.task = member;
  return error;
}

std::string format_metrics(const std::vector<step::Metric>& metrics) { return format_value(metrics); }

Result<std::vector<step::Metric>> parse_metrics(std::string_view text) {
  return parse_value<std::vector<step::Metric>>(text, "metrics");
}

std::string format_outputs(const step::ReplicaOutputs& outputs) { return format_value(outputs); }

Result<step::ReplicaOutputs> parse_outputs(std::string_view text) {
  return parse_value<step::ReplicaOutputs>(text, "outputs of replicas");
}

Result<step::ReplicaOutputs> gather_outputs(GroupExchange& exchange, std::string_view name, std::int64_t number,
                                            const step::ReplicaOutputs& own) {
  if (exchange.range().is_whole()) return own;
  step::ReplicaOutputs all;
  for (const std::string& text : TFD_TRY(exchange.gather(name, number, format_outputs(own)))) {
    step::ReplicaOutputs one = TFD_TRY(parse_outputs(text));
    std::ranges::move(one.outputs, std::back_inserter(all.outputs));
    std::ranges::move(one.examples, std::back_inserter(all.examples));
  }
  return all;
}

}  // namespace tfd::strategy
