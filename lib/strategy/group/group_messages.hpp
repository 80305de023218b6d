#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Data that the members of a group gather from each other, as bytes: metrics, and the outputs of replicas. Private to
// the room. Thread rule: pure functions.
#include <string>
#include <string_view>
#include <vector>

#include "group_exchange.hpp"
#include "tfd/step/call.hpp"
#include "tfd/step/replica_step.hpp"

namespace tfd::strategy {

/// A member's error as all are told: with its name, unless it is about another one.
Error named(Error error, const std::string& member);

std::string format_metrics(const std::vector<step::Metric>& metrics);
/// kProtocolMismatch.
Result<std::vector<step::Metric>> parse_metrics(std::string_view text);

/// Results, metrics and updates of replicas, with the tensors' bytes.
std::string format_outputs(const step::ReplicaOutputs& outputs);
/// kProtocolMismatch.
Result<step::ReplicaOutputs> parse_outputs(std::string_view text);
/// Outputs of all members' replicas, in their order, which is that of the ranks. `name`, `number`: the same in all
/// members. Errors of GroupExchange::gather(); kProtocolMismatch.
Result<step::ReplicaOutputs> gather_outputs(GroupExchange& exchange, std::string_view name, std::int64_t number,
                                            const step::ReplicaOutputs& own);

}  // namespace tfd::strategy
