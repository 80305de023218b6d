#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// All parameter servers as one client of its own sees them: a worker that trains by itself, between-graph. Its updates
// are exactly once: they are numbered per client, and one that was cut off is sent again under its number while the
// parameter server is the same process. Beside ClusterCoordinator, which numbers the updates of all its workers.
// Thread rule: one thread; every call blocks until its deadline.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tfd/runtime/row_lookup.hpp"
#include "tfd/runtime/task_client.hpp"
#include "tfd/runtime/task_server.hpp"

namespace tfd::runtime {

using NamedState = std::vector<std::pair<std::string, tensor::Tensor>>;

struct ParameterServersOptions {
  std::string name;  // of this client, "worker:1"
  EndpointFactory make_endpoint = transport::make_zmq_endpoint;
  /// How long one may be silent, or its connection broken, while nothing says that its process has ended.
  Duration rejoin = std::chrono::seconds(30);
  Log log = {};
};

class ParameterServers {
 public:
  virtual ~ParameterServers() = default;

  /// Connects to every one of the placement; kDeadlineExceeded names those that aren't there.
  static Result<std::unique_ptr<ParameterServers>> connect(const Placement& placement, ParameterServersOptions options,
                                                           Deadline deadline);

  // Every error of one parameter server names it in Error::task; kUnavailable: it is gone, or another process by now.

  /// An epoch, of the first one. kPermissionDenied says who has the cluster, and answers.
  virtual Result<std::uint64_t> claim(const Claim& claim, Deadline deadline) = 0;
  /// Makes the variables of the program, as a new epoch; older ones are fenced off.
  virtual Result<void> load(const program::Program& program, std::uint64_t epoch, Deadline deadline) = 0;
  /// Of the run that is theirs: load() sets it, too. All but status() is refused while it is another one.
  virtual void set_epoch(std::uint64_t epoch) = 0;
  /// In the order of the placement.
  virtual Result<std::vector<TaskStatus>> status(Deadline deadline) = 0;
  /// One message per parameter server.
  virtual Result<std::vector<tensor::Tensor>> read(const std::vector<std::string>& variables, Deadline deadline) = 0;
  /// The same of rows: only those move, each once for a lookup however often it is named.
  virtual Result<std::vector<tensor::Tensor>> look_up(const std::vector<RowLookup>& lookups, Deadline deadline) = 0;
  /// One message per parameter server, all or nothing on each. kPermissionDenied: it has another epoch by now.
  virtual Result<void> update(std::uint64_t epoch, const std::vector<variable::Update>& updates, Deadline deadline) = 0;
  virtual Result<void> assign(const std::string& variable, const tensor::Tensor& value, Deadline deadline) = 0;
  /// `rows` of a variable in one piece are `values` from now on. As assign(), this counts as no update.
  virtual Result<void> assign_rows(const std::string& variable, const tensor::Tensor& rows,
                                   const tensor::Tensor& values, Deadline deadline) = 0;
  /// Of several ".iterations" the largest.
  virtual Result<NamedState> export_state(Deadline deadline) = 0;
  virtual Result<void> import_state(const NamedState& state, Deadline deadline) = 0;
  /// At the end of training: every value becomes its average, where the optimizer keeps one.
  virtual Result<void> use_averages(Deadline deadline) = 0;
  /// Tells them to stop, unless they belong to a newer epoch.
  virtual Result<void> shutdown(std::uint64_t epoch, Deadline deadline) = 0;
};

}  // namespace tfd::runtime
