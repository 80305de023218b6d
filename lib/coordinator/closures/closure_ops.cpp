// SPDX-License-Identifier: Apache-2.0
#include "closure_ops.hpp"

#include "tfd/train/training.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::coordinator {
namespace {

using nlohmann::json;

constexpr std::string_view kIterations = ".iterations";

}  // namespace

Result<void> ClosureOps::answer(const ClosureLine& parsed, const std::string& name, JsonLine& answer) {
  const auto text = [&](const char* key) -> const std::string& {
    return parsed.fields[key].get_ref<const std::string&>();
  };
  switch (parsed.op) {
    case Op::kCreatePerWorkerDataset: {
      auto dataset = TFD_TRY(coordinator_.create_per_worker_dataset(text("dataset"), deadline()));
      arguments_.add_dataset(text("dataset"), std::move(dataset));
      return {};
    }
    case Op::kRead:
      answer.add_raw("value", TFD_TRY(read(text("variable"), parsed.fields, name)));
      return {};
    case Op::kAssign:
      return assign(text("variable"), parsed.fields);
    case Op::kSave:
      return save(text("path"), answer);
    case Op::kRestore:
      return restore(text("path"), answer);
    case Op::kCluster:
      answer.add_raw("value", TFD_TRY(change_cluster(parsed.fields)));
      return {};
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

Result<std::string> ClosureOps::read(const std::string& variable, const json& fields, const std::string& name) {
  const auto rows = fields.find("rows");
  const program::VariableDef* definition = arguments_.program().find_variable(variable);
  if (definition != nullptr && definition->per_worker && rows == fields.end()) return read_on_workers(variable, name);
  tensor::Tensor value;
  if (rows == fields.end()) {
    value = TFD_TRY(coordinator_.read(variable, deadline()));
  } else {
    const tensor::Tensor numbers = TFD_TRY(arguments_.read_rows("read", variable, *rows));
    value = TFD_TRY(coordinator_.read_rows(variable, numbers, deadline()));
  }
  std::string out;
  TFD_TRY(values_.append(value, name, out));
  return out;
}

// Returns a list, by worker.
Result<std::string> ClosureOps::read_on_workers(const std::string& variable, const std::string& name) {
  const auto values = TFD_TRY(coordinator_.values_on_workers(variable));
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto outcome = TFD_TRY(values[i].fetch(deadline()));
    if (i > 0) out += ',';
    TFD_TRY(values_.append(outcome.results.front(), fmt::format("{}-{}", name, i), out));
  }
  return out + "]";
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
  return json{{"joined", change.joined}, {"left", change.left}, {"moved", change.moved}}.dump();
}

Result<void> ClosureOps::save(const std::string& path, JsonLine& answer) {
  variable::Checkpoint checkpoint;
  checkpoint.state = TFD_TRY(coordinator_.export_state(deadline()));
  for (const auto& [name, value] : checkpoint.state)
    if (name == kIterations) checkpoint.step = value.as<std::int64_t>()[0];
  TFD_TRY(variable::save_checkpoint(path, checkpoint, 0));
  answer.add("step", checkpoint.step);
  return {};
}

Result<void> ClosureOps::restore(const std::string& path, JsonLine& answer) {
  std::vector<std::string> skipped;
  const auto checkpoint = TFD_TRY(variable::load_named_checkpoint(path, &skipped));
  TFD_TRY(train::check_state(arguments_.program(), checkpoint));
  TFD_TRY(coordinator_.import_state(checkpoint.state, deadline()));
  answer.add("step", checkpoint.step).add("path", checkpoint.path);
  return {};
}

}  // namespace tfd::coordinator
