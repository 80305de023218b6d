// SPDX-License-Identifier: Apache-2.0
//
// Variables, on the caller's thread, which is blocked: on parameter servers, and workers' own.
#include "coordinator.hpp"

namespace tfd::coordinator {

Result<tensor::Tensor> Coordinator::read(const std::string& variable, Deadline deadline) {
  return server_links_.variables().read(variable, deadline);
}

Result<tensor::Tensor> Coordinator::read_rows(const std::string& variable, const tensor::Tensor& rows,
                                              Deadline deadline) {
  return server_links_.variables().read_rows(variable, rows, deadline);
}

Result<void> Coordinator::assign(const std::string& variable, const tensor::Tensor& value, Deadline deadline) {
  if (is_per_worker(state_.program, variable)) return worker_links_.assign_on_all(variable, value, deadline);
  return server_links_.variables().assign(variable, value, deadline);
}

Result<void> Coordinator::assign_rows(const std::string& variable, const tensor::Tensor& rows,
                                      const tensor::Tensor& values, Deadline deadline) {
  return server_links_.variables().assign_rows(variable, rows, values, deadline);
}

Result<tensor::NamedTensors> Coordinator::export_state(Deadline deadline) {
  return server_links_.between_commits(deadline, [&] { return server_links_.variables().export_state(deadline); });
}

Result<variable::WriteParts> Coordinator::begin_writing(const std::string& directory, const std::string& run,
                                                        Deadline deadline) {
  if (state_.servers.empty()) return fail(Code::kUnimplemented, "there is no parameter server");
  return server_links_.between_commits(
      deadline, [&] { return server_links_.variables().begin_writing(directory, run, deadline); });
}

Result<void> Coordinator::import_state(const tensor::NamedTensors& state, Deadline deadline) {
  return server_links_.between_commits(deadline,
                                       [&] { return server_links_.variables().import_state(state, deadline); });
}

Result<void> Coordinator::use_averages(Deadline deadline) {
  return server_links_.between_commits(deadline, [&] { return server_links_.variables().use_averages(deadline); });
}

Result<std::vector<RemoteValue>> Coordinator::values_on_workers(const std::string& name) {
  const MutexLock lock(state_.mutex);
  if (state_.fatal) return fail(*state_.fatal);
  return state_.resources.values(name);
}

}  // namespace tfd::coordinator
