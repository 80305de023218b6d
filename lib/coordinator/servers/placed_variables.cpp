// SPDX-License-Identifier: Apache-2.0
#include "servers/placed_variables.hpp"

#include "tfd/base/text.hpp"
#include "tfd/variable/rows.hpp"
#include "workers/worker_resources.hpp"

namespace tfd::coordinator {
namespace {

constexpr Duration kProbeAnswer = std::chrono::seconds(10);  // of a file system that may hang

}  // namespace

Result<void> check_value(const program::Program& program, const std::string& variable, const tensor::Tensor& value) {
  const tensor::TensorSpec& spec = program.find_variable(variable)->spec;
  if (value.spec() == spec) return {};
  return fail(Code::kInvalidArgument, "variable '{}' is {}, but the value is {}", variable, tensor::format_spec(spec),
              tensor::format_spec(value.spec()));
}

Result<void> PlacedVariables::check_placed(const std::string& variable) const {
  if (placement_.placed.contains(variable) || copies_.has(variable)) return {};
  std::vector<std::string> names;
  for (const auto& definition : program_.variables) names.push_back(definition.name);
  return fail(Code::kNotFound, "no variable '{}'{}", variable, did_you_mean(variable, names));
}

/// Checks a variable whose rows are read or assigned ("read").
Result<void> PlacedVariables::check_table(const std::string& variable, const char* how) const {
  if (is_per_worker(program_, variable))
    return fail(Code::kInvalidArgument, "'{}' is per worker: it can only be {} whole", variable, how);
  if (copies_.has(variable))
    return fail(Code::kUnimplemented,
                "variable '{}' is synchronized on read, with a value for each of {} replicas: it can only be read and "
                "assigned whole",
                variable, copies_.replicas());
  return check_placed(variable);
}

/// Returns the answer, after it has been told of a refusal.
template <class T>
Result<T> PlacedVariables::told(Result<T> answer) const {
  if (!answer && answer.error().code == Code::kPermissionDenied) on_refused_(answer.error());
  return answer;
}

Result<tensor::Tensor> PlacedVariables::read(const std::string& variable, Deadline deadline) {
  if (is_per_worker(program_, variable))
    return fail(Code::kInvalidArgument, "variable '{}' is per worker: every worker has a different value", variable);
  TFD_TRY(check_placed(variable));
  auto values = TFD_TRY(told(servers_.read(copies_.names_of(variable), deadline)));
  if (!copies_.has(variable)) return std::move(values.front());
  return copies_.read_across(variable, std::move(values));
}

Result<tensor::Tensor> PlacedVariables::read_rows(const std::string& variable, const tensor::Tensor& rows,
                                                  Deadline deadline) {
  TFD_TRY(check_table(variable, "read"));
  auto values = TFD_TRY(told(servers_.look_up({{variable, rows}}, deadline)));
  return std::move(values.front());
}

Result<void> PlacedVariables::assign(const std::string& variable, const tensor::Tensor& value, Deadline deadline) {
  TFD_TRY(check_placed(variable));
  TFD_TRY(check_value(program_, variable, value));
  return told(servers_.assign(TFD_TRY(copies_.assign_across(variable, value)), deadline));
}

Result<void> PlacedVariables::assign_rows(const std::string& variable, const tensor::Tensor& rows,
                                          const tensor::Tensor& values, Deadline deadline) {
  TFD_TRY(check_table(variable, "assigned"));
  tensor::TensorSpec wanted = program_.find_variable(variable)->spec;
  if (wanted.shape.empty()) return fail(Code::kInvalidArgument, "'{}': a scalar has no rows", variable);
  const auto checked = variable::read_indices(rows, wanted.shape[0]);
  if (!checked)  // kOutOfRange means the end of the data
    return fail(Error{Code::kInvalidArgument, fmt::format("'{}': {}", variable, checked.error().message), {}});
  wanted.shape[0] = static_cast<std::int64_t>(rows.size());
  if (values.spec() != wanted)
    return fail(Code::kInvalidArgument, "these rows of '{}' are {}, but the value is {}", variable,
                tensor::format_spec(wanted), tensor::format_spec(values.spec()));
  return told(servers_.assign_rows({{variable::UpdateKind::kAssignRows, variable, values, rows}}, deadline));
}

Result<tensor::NamedTensors> PlacedVariables::export_state(Deadline deadline) {
  return copies_.gather(TFD_TRY(told(servers_.export_state(deadline))));
}

Result<variable::WriteParts> PlacedVariables::begin_writing(const std::string& directory, const std::string& run,
                                                            Deadline deadline) {
  if (!copies_.empty())
    return fail(Code::kUnimplemented, "variables are synchronized on read, with a value for each of {} replicas",
                copies_.replicas());
  if (!probed_) {
    auto probed = servers_.probe_directory(directory, run, Deadline::after(kProbeAnswer).earlier_of(deadline));
    if (!probed && probed.error().code != Code::kFailedPrecondition) return fail(std::move(probed).error());
    probed_ = std::move(probed);
  }
  TFD_TRY(*probed_);
  auto writing = TFD_TRY(told(servers_.begin_writing(deadline)));
  return variable::WriteParts([this, writing = std::move(writing)](const std::string& in, const std::string& name) {
    return told(writing(in, name));
  });
}

Result<void> PlacedVariables::import_state(const tensor::NamedTensors& state, Deadline deadline) {
  return told(servers_.import_state(TFD_TRY(copies_.spread(state)), deadline));
}

Result<void> PlacedVariables::use_averages(Deadline deadline) { return told(servers_.use_averages(deadline)); }

}  // namespace tfd::coordinator
