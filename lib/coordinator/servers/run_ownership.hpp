#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Ownership of the training that parameter servers hold: finds an unfinished one, adopts it, and keeps the record that
// allows the next coordinator to do so. Records are in a coordination service; what moves the servers is handed in, so
// no socket is seen here. Private to the room. Thread rule: blocks its caller; of one thread at a time.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "servers/adoption.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"
#include "tfd/task/coordination.hpp"

namespace tfd::coordinator {

class RunOwnership {
 public:
  using Epochs = std::vector<std::uint64_t>;  // of the parameter servers, in their order
  /// `asked` is the run to adopt or record, if any; `program` its digest.
  RunOwnership(task::CoordinationClient records, std::optional<Adoption> asked, std::string program)
      : records_(std::move(records)), asked_(std::move(asked)), program_(std::move(program)) {}

  struct Found {
    Epochs epochs;
    RunOwner record;
    bool is_own;  // of the same run and program
  };
  /// Finds the unfinished run that all parameter servers have. Some may already have its next epoch, if a coordinator
  /// died while adopting it.
  std::optional<Found> find(const Epochs& epochs, Deadline deadline);

  /// Moves the parameter servers from these epochs to the new one, and returns their histories.
  using Move = std::function<Result<std::vector<variable::SequenceHistory>>(const Epochs& from)>;
  struct Adopted {
    AdoptedRun run;
    Continuation continuation;
  };
  /// Adopts a run under a new epoch. nullopt: it can't be continued, or hasn't reached the step that is asked for; the
  /// parameter servers may have the new epoch then. kPermissionDenied: another coordinator has it by now.
  Result<std::optional<Adopted>> adopt(const Found& found, std::uint64_t epoch, const Move& move);

  /// Records the run, if one may be, so that the next coordinator can adopt it. kPermissionDenied as adopt().
  Result<void> record(std::int64_t first_step, std::uint64_t epoch);
  /// Removes the record, if there is one.
  Result<void> forget();

 private:
  Result<void> keep(const std::optional<RunOwner>& record);

  const task::CoordinationClient records_;
  const std::optional<Adoption> asked_;
  const std::string program_;
  bool has_record_ = false;
  std::optional<std::uint64_t> version_;  // version of the record, as far as known
};

}  // namespace tfd::coordinator
