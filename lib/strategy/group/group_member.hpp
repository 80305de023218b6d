#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Common work of the chief and its followers: join, get the state, make a step, and, where members may be lost,
// continue with those that are left. Private to the room. Thread rule: one thread.
#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device_trainer.hpp"
#include "group_devices.hpp"
#include "group_exchange.hpp"
#include "group_standing.hpp"
#include "group_status.hpp"
#include "group_training.hpp"
#include "launch_watch.hpp"
#include "tfd/base/thread_annotations.hpp"

namespace tfd::strategy {

/// Members that a generation lacks, and has beside those of the one before.
struct MemberChanges {
  struct Gone {
    std::string name;
    std::string loss;  // why it is lost, as a sentence; empty: it has left
  };
  std::vector<Gone> gone;
  std::vector<std::string> come;
};

/// The fate of a member when interrupted members are to leave.
enum class Parting : std::uint8_t {
  kNone,    // too few would be left: nobody leaves
  kLeaves,  // it leaves
  kGoesOn   // it is one of the others, who form the next generation
};

class GroupMember {
 public:
  /// `program` and `options` are borrowed.
  GroupMember(const program::Program& program, const GroupTrainingOptions& options)
      : program_(program), options_(options), trainer_(program, options.device), status_(options.compiling) {}

  /// Joins the group.
  Result<void> join();
  /// True if this member decides what all do: the first of its generation.
  bool is_chief() const { return rank() == 0; }
  /// Begins the training with the chief's state, which followers get, or enters one that others are making. False: this
  /// member has become the chief meanwhile, so it is to find where to begin, and call this again with it.
  Result<bool> begin(const train::TrainStart& from);
  /// Goes on with those that are left, and those that came: each member calls it once it finds that one is lost, or
  /// since the chief said so (GroupAct::kRegroup). Inputs of a step that wasn't made are taken again. `why`: its task,
  /// if it names one, is lost. `leavers`: members that leave in order. Errors: too few are left.
  Result<MemberChanges> regroup(const Error& why, const std::vector<std::string>& leavers = {});
  /// True once regroup() has failed because no member came, or this one was to end: it has the state of all
  /// steps that were made, and may save it where the program has a place for that. Nothing else is left to do with
  /// others.
  bool is_left_alone() const { return last_generation_.has_value(); }
  /// True if regroup() is the answer to this error: a member was lost, and others may go on without it.
  bool survives(const Error& error) const { return options_.group.min_members > 0 && error.code == Code::kUnavailable; }
  /// The meaning of GroupAct::kRegroup for this member.
  Parting parting(const Notices& notices) const;
  /// Members that leave then.
  std::vector<std::string> leavers(const Notices& notices) const;
  /// True if this member may leave, and the others go on.
  bool may_leave() const {
    return options_.group.min_members > 0 && static_cast<int>(names_.size()) > options_.group.min_members;
  }
  bool has_newcomers() const { return group_->has_newcomers(); }
  DeviceTrainer& trainer() { return trainer_; }
  const DeviceTrainer& trainer() const { return trainer_; }
  const step::ReplicaRange& replicas() const { return exchange_->range(); }
  const std::vector<std::string>& names() const { return names_; }
  /// The error that ends the training, complete in itself: where a lost member was, and after which step.
  Error located(Error error) const;
  /// Step that this member is at, for other threads.
  std::int64_t step_now() const { return step_now_; }

  /// Announces what the chief does next, and for a step what this member has for it: it takes the inputs first, and
  /// announces their error if it can't.
  Result<void> announce(Notice notice);
  /// Waits for what all announced. Errors of the members, the first one in all. The step that this member announced is
  /// computed meanwhile, since it is nearly always the one that all make.
  Result<Notices> notices();
  /// Makes the step that notices() agreed on. False: no member has data; nothing is made.
  Result<bool> make_step(const Notices& notices);
  /// Restarts the data for the next epoch, where epochs are counted by the data's ends. False: there is none.
  bool begin_epoch();
  /// Keeps inputs that were announced for the next step, since it isn't made now.
  void keep_inputs();

  /// Metrics of this member's replicas since the last time, and of all members; those of the chief come first.
  Result<std::vector<step::Metric>> gather_metrics();
  Result<std::vector<step::Metric>> evaluate();
  /// The chief's state for all; followers get it.
  Result<void> load(tensor::NamedTensors state);
  /// Compares the members' variables and slots, which are equal by construction. kInternal, the same in all, names what
  /// differs and whose it is: memory or a processor is at fault.
  Result<void> verify();
  Result<void> use_averages() { return trainer_.use_averages(); }
  /// True if hosts other than the chief's write checkpoints of their own.
  bool are_saved_elsewhere() const;
  /// On the first member of each host but the chief's: begins to write a checkpoint of the chief's run, while training
  /// goes on. One that can't be written is reported here alone, as the chief does.
  Result<void> save_on_hosts(std::string run);

  /// Has this member's status say what it does.
  void does(Doing what) { status_.begin(what); }
  /// Has this member's status say where the training is.
  void show(const std::string& standing) { status_.show(standing); }
  /// Tells the others why this member ends.
  void fail_all(const Error& error);
  /// Leaves in order, after the last act of all.
  void leave();
  /// The group has made its last step.
  void say_done() const {
    if (options_.on_done) options_.on_done();
  }
  /// The writer of checkpoints: this generation, counted on from the one that the group's first state is of.
  variable::CheckpointWriter writer() const {
    const std::uint64_t own = is_left_alone() ? *last_generation_ : group_->communicator().generation();
    return variable::this_writer(origin_.group, origin_.generation + own);
  }
  /// Ends waits, if the training is to stop, and the process while it compiles before its first step. For any thread
  /// but the endpoint's.
  void interrupted();
  bool is_interrupted() const { return options_.device.train.interrupts->stopping(); }

 private:
  Standing standing(const train::TrainStart& from) const;
  /// Hosts of the members by their names, as their addresses have them; empty if all are of one.
  std::map<std::string, std::string> hosts() const;
  std::string loss_of(const std::string& name, const Error& why) const;
  /// The part of a checkpoint's data that members need when a new training continues it.
  struct Newest {
    int replicas = 0;  // of its training; 0: there is none
    int threads = 0;   // of XLA, with which it goes on; 0: not known
  };
  /// Loads the checkpoint of the member that isn't the chief and has the newest.
  Result<Newest> load_newest(int keeper);
  /// Gives XLA the same number of threads in every process, unless it has started already: bits depend on it.
  void use_threads(const std::vector<Standing>& all, int threads, int replicas);
  void use_isa(const std::vector<Standing>& all);
  void use_kernels(const std::vector<Standing>& all);
  /// The chief says such a line once.
  void tell_unlike(const std::optional<UnlikeIsa>& unlike, std::string& told);
  /// Shares the training's replicas among the members.
  Result<void> share(int replicas, const std::string& whose);
  int most_members() const;
  int replicas_of_new_training(int known) const;
  int devices_of_all() const;
  Result<void> enter(const train::TrainStart& from);
  /// The training's state, with each replica's copies of variables, unless it is for other replicas.
  Result<tensor::NamedTensors> export_whole(bool has_copies);
  Result<void> take(bool is_behind, tensor::NamedTensors state, const std::string& text, const std::string& whose);
  /// Makes the engine, of all members' devices where they may be one system.
  Result<void> make_engine();
  /// Finds out whether they are.
  Result<void> find_system();
  /// Decides for a training of `replicas` replicas whether its steps can be programs for all devices, and keeps to it.
  void use_system(int replicas);
  std::vector<step::ReplicaRange> shares_of(int replicas) const;
  bool is_over_hosts() const {
    return options_.make_host_engine && options_.group.min_members == 0 && names_.size() > 1;
  }
  Result<DeviceTrainer::Made> make(const DeviceSteps::Inputs& inputs, const Notices& notices);
  /// Makes the step by one program for all devices, as all have agreed. nullopt: a gradient isn't finite.
  Result<std::optional<DeviceTrainer::Made>> launch(const DeviceSteps::Inputs& inputs, const Notices& notices);
  TrainerPlace place() const;
  int rank() const { return group_->communicator().rank(); }
  void finish_saving();
  void begin_data();
  void stop_data(std::uint64_t generation);
  /// `may_wait`: this isn't the endpoint's I/O thread.
  void end_if_compiling(bool may_wait);
  Result<std::vector<step::Metric>> gather(std::string_view what, const std::vector<step::Metric>& own);

  const program::Program& program_;
  const GroupTrainingOptions& options_;
  DeviceTrainer trainer_;  // before the exchange, which it borrows, is made; it uses none when it goes
  std::unique_ptr<group::Group> group_;
  std::atomic<group::Group*> formed_ = nullptr;  // the same, for interrupted()
  std::unique_ptr<GroupExchange> exchange_;
  std::vector<std::string> names_;
  std::optional<variable::Checkpoint> newest_;  // this member's, with which the training begins
  variable::CheckpointWriter origin_;           // of the group: its checkpoint's writer, and its own name
  std::vector<std::vector<int>> system_;  // devices by replica, where a step may be one program for all; else empty
  std::optional<LaunchWatch> watch_;      // of such steps
  std::stop_source interruption_;
  Mutex data_mutex_;                                               // of the trainer's stop_data() and renew_data()
  std::uint64_t data_generation_ TFD_GUARDED_BY(data_mutex_) = 0;  // the generation that may stop the data
  std::atomic<bool> has_made_steps_ = false;
  std::atomic<bool> leaves_others_ = false;                // may_leave(), for other threads
  std::atomic<bool> is_ending_ = false;                    // the process
  std::int64_t round_ = 0;                                 // of announcements, and of the messages after them
  std::optional<Result<DeviceSteps::Inputs>> inputs_;      // announced ones
  std::optional<Result<DeviceSteps::Computed>> computed_;  // of these inputs, with the current variables
  bool may_launch_ = false;                                // they suit one program for all members' devices
  step::MetricAccumulator metrics_;                        // since the last gathering
  std::atomic<std::int64_t> step_now_ = 0;
  Clock::time_point step_ended_ = Clock::now();  // the last one
  Duration waited_ = {}, waited_before_ = {};    // for others: in the last step, and in the generation until then
  bool has_told_threads_ = false;
  std::string told_isa_, told_kernels_;           // the last lines about the members' instruction sets and kernels
  std::optional<std::uint64_t> last_generation_;  // once it is left alone
  GroupStatus status_;
  std::future<Result<std::string>> written_;  // a checkpoint of this host
};

}  // namespace tfd::strategy
