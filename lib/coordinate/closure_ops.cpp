// SPDX-License-Identifier: Apache-2.0
#include "closure_ops.hpp"

#include "tfd/base/json_line.hpp"
#include "tfd/strategy/checkpoints.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::coordinate {
namespace {

using nlohmann::json;

constexpr std::string_view kIterations = ".iterations";

}  // namespace

Result<std::string> ClosureOps::answer(const ClosureLine& parsed, const std::string& name) {
  const auto text = [&](const char* key) -> const std::string& {
    return parsed.fields[key].get_ref<const std::string&>();
  };
  switch (parsed.op) {
    case Op::kCreatePerWorkerDataset:
      arguments_.add_dataset(text("dataset"),
                             TFD_TRY(coordinator_.create_per_worker_dataset(text("dataset"), deadline())));
      return ",\"status\":\"ready\"}\n";
    case Op::kRead: {
      const program::VariableDef* variable = arguments_.program().find_variable(text("variable"));
      if (variable != nullptr && variable->per_worker && !parsed.fields.contains("rows"))
        return read_on_workers(text("variable"), name);
      std::string rest = ",\"status\":\"ready\",\"value\":";
      const auto value = TFD_TRY(read(text("variable"), parsed.fields));
      TFD_TRY(values_.append(value, name, rest));
      return rest + "}\n";
    }
    case Op::kAssign: {
      TFD_TRY(assign(text("variable"), parsed.fields));
      return ",\"status\":\"ready\"}\n";
    }
    case Op::kSave:
      return save(text("path"));
    case Op::kRestore:
      return restore(text("path"));
    case Op::kCluster:
      return change_cluster(parsed.fields);
    case Op::kSchedule:
    case Op::kFetch:
    case Op::kRelease:
    case Op::kJoin:
    case Op::kDone:
    case Op::kEvaluate:
      break;
  }
  return fail(Code::kInternal, "an op without an answer");
}

// A list, by worker.
Result<std::string> ClosureOps::read_on_workers(const std::string& variable, const std::string& name) {
  const auto values = TFD_TRY(coordinator_.values_on_workers(variable));
  std::string rest = ",\"status\":\"ready\",\"value\":[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto outcome = TFD_TRY(values[i].fetch(deadline()));
    if (i > 0) rest += ',';
    TFD_TRY(values_.append(outcome.results.front(), fmt::format("{}-{}", name, i), rest));
  }
  return rest + "]}\n";
}

Result<tensor::Tensor> ClosureOps::read(const std::string& variable, const json& fields) {
  const auto rows = fields.find("rows");
  if (rows == fields.end()) return coordinator_.read(variable, deadline());
  const tensor::Tensor numbers = TFD_TRY(arguments_.read_rows("read", variable, *rows));
  return coordinator_.read_rows(variable, numbers, deadline());
}

Result<void> ClosureOps::assign(const std::string& variable, const json& fields) {
  const auto rows = fields.find("rows");
  if (rows == fields.end()) {
    const auto value = TFD_TRY(arguments_.read_value(variable, fields["value"]));
    return coordinator_.assign(variable, value, deadline());
  }
  const tensor::Tensor numbers = TFD_TRY(arguments_.read_rows("assign", variable, *rows));
  const auto values = TFD_TRY(arguments_.read_value_of_rows(variable, numbers.size(), fields["value"]));
  return coordinator_.assign_rows(variable, numbers, values, deadline());
}

Result<std::string> ClosureOps::change_cluster(const json& fields) {
  const auto config = TFD_TRY(cluster::cluster_config_from_json(fields.dump(), "the line"));
  const MembershipChange change = TFD_TRY(coordinator_.change_cluster(config));
  const json value{{"joined", change.joined}, {"left", change.left}, {"moved", change.moved}};
  return ",\"status\":\"ready\",\"value\":" + value.dump() + "}\n";
}

Result<std::string> ClosureOps::save(const std::string& path) {
  variable::Checkpoint checkpoint;
  checkpoint.state = TFD_TRY(coordinator_.export_state(deadline()));
  for (const auto& [name, value] : checkpoint.state)
    if (name == kIterations) checkpoint.step = value.as<std::int64_t>()[0];
  TFD_TRY(variable::save_checkpoint(path, checkpoint, 0));
  return fmt::format(",\"status\":\"ready\",\"step\":{}}}\n", checkpoint.step);
}

Result<std::string> ClosureOps::restore(const std::string& path) {
  std::vector<std::string> skipped;
  const auto checkpoint = TFD_TRY(variable::load_named_checkpoint(path, &skipped));
  TFD_TRY(strategy::check_state(arguments_.program(), checkpoint));
  TFD_TRY(coordinator_.import_state(checkpoint.state, deadline()));
  std::string rest = fmt::format(",\"status\":\"ready\",\"step\":{},\"path\":", checkpoint.step);
  append_json_string(checkpoint.path, rest);
  return rest + "}\n";
}

}  // namespace tfd::coordinate
