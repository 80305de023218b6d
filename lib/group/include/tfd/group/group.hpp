#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The group of processes that make the steps of one training together: they meet at the chief's address, agree on what
// they train, and get a Communicator. While it exists each member watches the others: one that ends, or stays silent,
// ends what the communicator does, with its name. Thread rule: one thread calls; the watching is the endpoint's I/O
// thread's.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/log.hpp"
#include "tfd/collective/communicator.hpp"
#include "tfd/function/hosts.hpp"
#include "tfd/task/status.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::group {

using AgreementParts = std::vector<std::pair<std::string, std::string>>;  // names and values
/// A value of GroupOptions::agreement that has parts, of which an error names the first that differs. `whole`: a digest
/// of all, which is the value where the parts are too many.
std::string format_parts(const AgreementParts& parts, const std::string& whole);

struct GroupOptions {
  /// Names and addresses of all members, by rank; the first is the chief. With `max_members`, of the known ones: others
  /// come at addresses that they state, and so does a member that returns elsewhere.
  std::vector<std::pair<std::string, std::string>> members;
  int rank = 0;
  int devices = 1;  // of this process
  /// How many members suffice: others are lost, and come, while the group goes on. 0: all, and it ends with the first.
  int min_members = 0;
  int max_members = 0;  // with `min_members`: members that there may be at a time; 0: those of `members`
  Duration settle = std::chrono::seconds(10);  // without a further one before a group begins with fewer than all
  /// Values that must be the same in all members: a description ("the program"), and the value, by format_parts() if it
  /// has parts.
  std::vector<std::pair<std::string, std::string>> agreement = {};
  collective::Engine engine = {};
  transport::EndpointFactory make_endpoint = transport::make_zmq_endpoint;
  bool has_key = false;
  bool is_insecure = false;                          // other hosts may join without a key
  int listen_fd = -1;                                // a listening socket at this member's address, bound elsewhere
  Duration silence = std::chrono::seconds(10);       // after which a member that doesn't answer is lost
  Duration stall_report = std::chrono::seconds(10);  // of a wait, and again after three times as long
  Log log = {};
  std::function<void(const std::string& line)> say = {};  // lines about awaited members
  std::function<void(task::TaskStatus&)> describe = {};   // adds to this member's status; thread-safe
  /// A collective has waited so long for these members, a second or more; called on its thread, again each second.
  std::function<void(const std::string& whom, Duration waited)> on_wait = {};
  std::stop_token interruption = {};  // ends waits
  /// Another member of this generation says ask_stop(); called on the endpoint's I/O thread.
  std::function<void(std::uint64_t generation)> on_stop_asked = {};
};

/// A generation is the members of a group from one meeting to the next. With GroupOptions::min_members, members that
/// are left meet again after one was lost, at the first one that is left, and take along newcomers. In a network
/// partition at most one side continues (has_quorum() in meeting.hpp).
class Group {
 public:
  virtual ~Group() = default;
  /// Binds this member's address, joins, and connects. kDeadlineExceeded names those that didn't come;
  /// kInvalidArgument: the members disagree; kPermissionDenied: the key, or none between hosts; kFailedPrecondition:
  /// the group is complete without this process; kCancelled: interrupted.
  static Result<std::unique_ptr<Group>> form(GroupOptions options, Deadline deadline);

  /// This generation's, of which there is one unless regroup() has failed; its members are in the order of their ranks,
  /// which need not be GroupOptions::members'.
  virtual collective::Communicator& communicator() = 0;
  /// Ends what the members do together, in all of them, with this error, if there is a generation.
  virtual void cancel(Error error) = 0;
  /// Numbers of devices, by rank.
  virtual const std::vector<int>& devices() const = 0;
  /// Says that this member leaves in order, as the others do: their losses of it are no failures from now on, nor are
  /// theirs for it.
  virtual void leave() = 0;
  /// Meets again: after a collective has failed since a member was lost, or when all have agreed to, since others want
  /// to come. Ends the communicator, and makes that of the next generation. Errors of form(), kDeadlineExceeded among
  /// them: too few are left.
  virtual Result<void> regroup(Deadline deadline) = 0;
  /// Tells the other members that this one was interrupted, so that they don't keep it waiting with what takes long,
  /// and meet it in a collective soon. Doesn't wait. For any thread.
  virtual void ask_stop() = 0;
  /// The same, and waits until they all know, or don't answer. Not for the I/O thread.
  virtual void tell_stop(Deadline deadline) = 0;
  /// True if a member of this generation has said ask_stop(). Cheap; for any thread.
  virtual bool is_stop_asked() const = 0;
  /// True on the first member if others want to come. Cheap.
  virtual bool has_newcomers() const = 0;
  /// Keys and values that the members share, for the clients of their devices: the first member has them, for as long
  /// as its group exists. Blocks until this member watches all others, so that none is waited for that is lost. Not
  /// with GroupOptions::min_members. The exchange is for any thread, also after the group: kUnavailable.
  virtual std::shared_ptr<function::HostExchange> host_exchange() = 0;
  /// A member of this generation whose process has ended, or that is lost; before a collective says so. For any thread.
  virtual std::optional<Error> find_lost() const = 0;
  /// The largest of the steps that the other members have made, as those say that still answer; nullopt: none does.
  virtual std::optional<std::int64_t> ask_last_step(Deadline deadline) = 0;
  /// Why a task that was a member is lost, and hasn't come again, as far as this one has seen. For any thread.
  virtual std::optional<Error> loss_of(const std::string& name) const = 0;
};

}  // namespace tfd::group
