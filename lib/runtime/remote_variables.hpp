#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The variables of the parameter servers as a worker sees them: each as one tensor, whatever shards it is in. One
// message per parameter server for all that a closure reads, one for the rows that it looks up, and one for all that it
// updates. Thread rule: one caller's thread; replies arrive on the I/O thread.
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "activity.hpp"
#include "tfd/base/deadline.hpp"
#include "tfd/runtime/row_lookup.hpp"
#include "tfd/runtime/task_client.hpp"

namespace tfd::runtime {

class RemoteVariables {
 public:
  /// `activity`, where given, is told whom it waits for. A parameter server that is silent is waited for as long as
  /// `patience`; its requests go on while bytes move, whatever their deadline.
  RemoteVariables(transport::Endpoint& endpoint, const Placement& placement, Duration patience,
                  Activity* activity = nullptr);
  ~RemoteVariables();  // disconnects from the parameter servers
  /// Of the run whose variables they are: other ones are refused.
  void set_epoch(std::uint64_t epoch);

  /// kUnavailable where a parameter server can't be reached by then, its task set to the first one: says why.
  Result<void> reach(Deadline deadline) const;

  /// A read that is under way: do something else, then wait().
  class Pending {
   public:
    /// In the order of the names. kCancelled when `stop` is asked for; kUnavailable with Error::task = "ps:1" when that
    /// parameter server is gone; kDeadlineExceeded names the ones that haven't answered.
    Result<std::vector<tensor::Tensor>> wait(const std::stop_token& stop = {});

   private:
    friend class RemoteVariables;
    struct State;
    std::shared_ptr<State> state_;  // shared with the callbacks, which may come after wait() gave up
  };
  Pending start_read(const std::vector<std::string>& names, Deadline deadline);

  using Lookup = RowLookup;
  /// Only these rows move, each once for a lookup however often it is named. wait() gives them in the order of the
  /// lookups; kInvalidArgument names an index that is no row. Pendings end before this object does.
  Pending start_lookup(const std::vector<Lookup>& lookups, Deadline deadline);

  /// All updates of one closure, of rows too; those of partitioned variables are cut up. A gradient of rows goes to
  /// every shard, so that all of them count the same updates; no updates at all are one without parts for every
  /// parameter server, so that none waits for its number. kInvalidArgument names an index that is no row. Done when
  /// every parameter server has applied (or had applied) its part.
  Result<void> update(std::uint64_t epoch, std::uint64_t sequence, const std::vector<variable::Update>& updates,
                      Deadline deadline, const std::stop_token& stop = {}, std::uint64_t client = 0);

 private:
  using Parts = std::vector<std::vector<variable::Update>>;  // by parameter server

  Result<const variable::PlacedVariable*> find(const std::string& variable) const;
  Pending make_pending() const;
  Result<void> cut(const variable::Update& update, Parts& parts) const;

  transport::Endpoint& endpoint_;
  Activity* activity_;
  std::vector<TaskClient> ps_;
  std::map<std::string, variable::PlacedVariable> placed_;
};

}  // namespace tfd::runtime
