// SPDX-License-Identifier: Apache-2.0
//
// Steps over the devices of all members: GroupMember's part of them.
#include "group_member.hpp"
#include "tfd/base/text.hpp"

namespace tfd::strategy {
namespace {

constexpr Duration kDevicesFree = std::chrono::seconds(10);  // of members whose devices were one system

}  // namespace

Result<void> GroupMember::make_engine() {
  const function::Hosts hosts{.count = static_cast<int>(names_.size()),
                              .index = rank(),
                              .exchange = group_->host_exchange(),
                              .may_be_alone = true,
                              .on_failure = [this](const Error&) {
                                if (watch_) watch_->failed();
                              }};
  trainer_.use(TFD_TRY(options_.make_host_engine(hosts)));
  return {};
}

// The clients are made by all at once: they wait for each other.
Result<void> GroupMember::find_system() {
  if (!trainer_.has_engine()) TFD_TRY(make_engine());
  std::vector<MemberDevices> all;
  for (const std::string& text : TFD_TRY(group_->communicator().all_gather(
           "devices", round_++, format_devices(devices_of(trainer_.engine())), Deadline::after(options_.step_timeout))))
    all.push_back(TFD_TRY(parse_devices(text), names_[all.size()]));
  std::string why;
  system_ = join_devices(all, options_.device.logical_devices, why);
  if (!why.empty()) options_.group.log.info("the processes sum, not their devices, which aren't one system: {}", why);
  return {};
}

void GroupMember::use_system(int replicas) {
  if (system_.empty()) return;
  const int devices = static_cast<int>(system_.size());
  auto why_not = why_not_over_hosts(program_, options_.device.step, replicas, trainer_.engine().plugin().platform);
  if (options_.on_host) why_not = "the variables are on the host";
  if (options_.as_tensorflow) why_not = "--compat tensorflow adds up as TensorFlow's processes do";
  if (devices != replicas)
    why_not = fmt::format("{} share {}", counted(static_cast<std::uint64_t>(replicas), "replica"),
                          counted(static_cast<std::uint64_t>(devices), "device"));
  if (!why_not) return;
  options_.group.log.info("the processes sum, not their devices: {}", *why_not);
  system_.clear();
}

std::vector<step::ReplicaRange> GroupMember::shares_of(int replicas) const {
  std::vector<step::ReplicaRange> out;
  int first = 0;
  for (const int count : group_->devices()) {
    out.push_back({replicas, first, count});
    first += count;
  }
  if (system_.empty()) return share_replicas(replicas, static_cast<int>(names_.size()));
  return out;
}

Result<std::optional<DeviceTrainer::Made>> GroupMember::launch(const DeviceSteps::Inputs& inputs,
                                                               const Notices& notices) {
  const std::int64_t step = trainer_.step();
  if (auto differs = notices.launch_difference(group_->communicator().members(), step))
    return fail(*std::move(differs));
  if (!watch_)
    watch_.emplace(LaunchWatchOptions{.find_lost = [this] { return group_->find_lost(); },
                                      .say = options_.group.say,
                                      .stall_report = options_.group.stall_report,
                                      .timeout = options_.step_timeout,
                                      .end_process = options_.end_process});
  return watch_->during(step, [&] { return trainer_.launch(inputs); });
}

// A client of the devices may need the others', and the keys that the first member has, until all are gone.
void GroupMember::leave() {
  if (!group_) return;
  group_->leave();
  if (!system_.empty()) {
    watch_.reset();
    trainer_.close();
    (void)group_->communicator().barrier("the devices are free", round_++, Deadline::after(kDevicesFree));
  }
  finish_saving();
}

}  // namespace tfd::strategy
