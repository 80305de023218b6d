// SPDX-License-Identifier: Apache-2.0
#include "ps_program.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "reparse.hpp"

namespace tfd::strategy {
namespace {

using Json = nlohmann::ordered_json;
using tensor::DType;
using tensor::Tensor;

constexpr std::array kOwn{kGlobalStep, kWorkerUpdates, kWorkerBeats, kWorkersEnded, kStopped, kFirstStep};

Json counter(const Json& shape, std::int64_t value) {
  return {{"shape", shape},
          {"dtype", "s64"},
          {"init", {{"constant", {{"value", value}}}}},
          {"aggregation", "only_first_replica"}};
}

/// "w" of "w/.optimizer/updates".
std::string_view owner_of(std::string_view name) { return name.substr(0, name.find("/.optimizer/")); }
bool is_own(std::string_view name) { return std::ranges::find(kOwn, owner_of(name)) != kOwn.end(); }

Result<program::Program> with_counters(const program::Program& program, std::size_t clients) {
  Json document = Json::parse(program.document);
  Json variables = Json::object();
  variables[std::string(kGlobalStep)] = counter(Json::array(), kNotInitialised);
  for (const std::string_view name : {kWorkerUpdates, kWorkerBeats, kWorkersEnded})
    variables[std::string(name)] = counter(Json::array({clients}), 0);
  variables[std::string(kStopped)] = counter(Json::array(), 0);
  variables[std::string(kFirstStep)] = counter(Json::array(), 0);
  for (const std::string_view name : {kWorkerUpdates, kWorkerBeats, kWorkersEnded, kStopped, kFirstStep})
    variables[std::string(name)]["colocate_with"] = kGlobalStep;
  if (document.contains("variables"))
    for (const auto& [name, definition] : document["variables"].items()) variables[name] = definition;
  document["variables"] = std::move(variables);
  return reparse(program, document.dump(), {.look_at_files = false});
}

}  // namespace

Result<PsProgram> make_ps_program(const program::Program& program, const ParameterServerStrategy& strategy) {
  for (const std::string_view name : kOwn)
    if (program.find_variable(name) != nullptr)
      return fail(Code::kInvalidArgument, "{}: variables.{}: the name is reserved for a variable of the strategy",
                  program.path, name);
  const auto& spec = strategy.cluster_resolver().cluster;
  std::vector<std::pair<std::string, std::string>> servers;
  if (!strategy.is_local())
    for (const int index : TFD_TRY(spec.task_indices("ps")))
      servers.emplace_back(fmt::format("ps:{}", index), TFD_TRY(spec.task_address("ps", index)));
  for (const auto& [name, address] : servers)
    if (TFD_TRY(cluster::parse_address(address), "cluster." + name).port == 0)
      return fail(Code::kInvalidArgument,
                  "cluster.{}: cannot connect to port 0\nhint: nothing serves this spec yet: tfd-serve prints one with "
                  "the ports it has",
                  name);
  PsProgram out;
  out.program = TFD_TRY(with_counters(program, strategy.clients().size()));
  out.copies = TFD_TRY(runtime::ReplicaCopies::make(out.program, strategy.num_replicas_in_sync()));
  out.placement = runtime::place_variables(out.program, std::move(servers), out.copies);
  return out;
}

runtime::NamedState checkpoint_state(runtime::NamedState state) {
  std::erase_if(state, [](const auto& one) { return is_own(one.first) && one.first != kGlobalStep; });
  return state;
}

runtime::NamedState import_state_of(runtime::NamedState checkpoint, std::int64_t step, std::size_t clients) {
  std::erase_if(checkpoint, [](const auto& one) { return is_own(one.first); });
  checkpoint.emplace_back(kGlobalStep, Tensor::scalar(DType::kS64, kNotInitialised));
  checkpoint.emplace_back(kStopped, Tensor::scalar(DType::kS64, std::int64_t{0}));
  checkpoint.emplace_back(kFirstStep, Tensor::scalar(DType::kS64, step));
  for (const std::string_view name : {kWorkerUpdates, kWorkerBeats, kWorkersEnded})
    checkpoint.emplace_back(name, Tensor::zeros(DType::kS64, {static_cast<std::int64_t>(clients)}));
  return checkpoint;
}

runtime::NamedState with_counters_of(const runtime::NamedState& now, runtime::NamedState values) {
  std::erase_if(values, [](const auto& one) { return is_own(one.first); });
  for (const auto& one : now)
    if (is_own(one.first)) values.push_back(one);
  return values;
}

Result<std::int64_t> global_step_of(const runtime::NamedState& state) {
  for (const auto& [name, value] : state)
    if (name == kGlobalStep) return value.as<std::int64_t>()[0];
  return fail(Code::kNotFound, "no variable '{}'", kGlobalStep);
}

}  // namespace tfd::strategy
