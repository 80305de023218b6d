// SPDX-License-Identifier: Apache-2.0
//
// Changes of a group, as members leave and come: GroupMember's part of them.
#include <algorithm>

#include "group_member.hpp"
#include "tfd/base/text.hpp"
#include "tfd/cluster/address.hpp"
#include "tfd/function/kernels.hpp"

namespace tfd::strategy {
namespace {

constexpr Duration kLastStepAsked = std::chrono::milliseconds(500);

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// ", on 10.0.0.3", for lines about a member; empty if its host isn't known, or there is only one.
std::string where(const std::map<std::string, std::string>& hosts, const std::string& name) {
  const auto host = hosts.find(name);
  return host == hosts.end() ? "" : ", on " + host->second;
}

}  // namespace

std::map<std::string, std::string> GroupMember::hosts() const {
  std::map<std::string, std::string> out;
  const auto& all = group_->communicator().members().all;
  if (std::ranges::all_of(all, [&](const auto& one) { return one.host == all.front().host; })) return out;
  for (const collective::Member& one : all)
    if (const auto address = cluster::parse_address(one.address)) out.emplace(one.name, address->host);
  return out;
}

std::string GroupMember::loss_of(const std::string& name, const Error& why) const {
  if (name == why.task) return why.message;
  const auto loss = group_->loss_of(name);  // several may have been lost at once
  return loss ? loss->message : fmt::format("{} is lost (it hasn't come again)", name);
}

// Makes the members compile for the same instructions, or says that they can't.
void GroupMember::use_isa(const std::vector<Standing>& all) {
  const auto common = common_isa_of(all);
  const Standing& own = all[static_cast<std::size_t>(rank())];
  if (common && !own.keeps_isa && own.isa != *common) trainer_.use_isa(*common);
  tell_unlike(describe_unlike_isa(all, names_), told_isa_);
}

void GroupMember::use_kernels(const std::vector<Standing>& all) {
  const std::string common = common_kernels_of(all);
  const Standing& own = all[static_cast<std::size_t>(rank())];
  const bool has_them = function::has_kernels(common);
  if (has_them && !own.keeps_isa && own.kernels != common) trainer_.use_kernels(common);
  if (common.empty() || has_them) return tell_unlike(describe_unlike_kernels(all, names_), told_kernels_);
  if (std::exchange(told_kernels_, common) == common) return;
  const auto library = function::find_onednn();
  options_.group.log.warning(
      "the others compute by the kernels '{}', which this process doesn't have (its oneDNN: {}): the bits may differ",
      printable(common), library ? *library : "none");
}

void GroupMember::tell_unlike(const std::optional<UnlikeIsa>& unlike, std::string& told) {
  if (!is_chief() || !unlike || std::exchange(told, unlike->text) == unlike->text) return;
  if (unlike->is_warning) options_.group.log.warning("{}", unlike->text);
  if (!unlike->is_warning && options_.group.say) options_.group.say(unlike->text);
}

Error GroupMember::located(Error error) const {
  if (error.code != Code::kUnavailable || error.task.empty() || !group_ || !trainer_.is_open()) return error;
  // Some may have made a step more than others: all name the one that nobody has made.
  const std::int64_t others = group_->ask_last_step(Deadline::after(kLastStepAsked)).value_or(0);
  error.message +=
      fmt::format("{}; step {} was not made", where(hosts(), error.task), std::max(trainer_.step(), others) + 1);
  return error;
}

Result<MemberChanges> GroupMember::regroup(const Error& why, const std::vector<std::string>& leavers) {
  keep_inputs();
  const std::vector<std::string> before = names_;
  const auto hosts = this->hosts();
  for (;;) {
    const std::uint64_t last = group_->communicator().generation();
    if (auto met = group_->regroup(Deadline::after(options_.join)); !met) {
      const Code code = met.error().code;
      if ((code == Code::kCancelled || code == Code::kDeadlineExceeded) && program_.train->checkpoint)
        last_generation_ = last;
      return fail(std::move(met).error());
    }
    const auto entered = enter({});
    if (entered) break;
    if (!survives(entered.error())) return fail(entered.error());
  }
  MemberChanges changes;
  std::ranges::copy_if(names_, std::back_inserter(changes.come),
                       [&](const std::string& name) { return !contains(before, name); });
  std::string line = fmt::format("generation {} goes on at step {}: {}", group_->communicator().generation(),
                                 trainer_.step(), fmt::join(names_, ", "));
  for (const std::string& name : before) {
    if (contains(names_, name)) continue;
    const std::string loss = contains(leavers, name) ? "" : loss_of(name, why);
    line += fmt::format("; {}{}", loss.empty() ? name + " has left" : loss, where(hosts, name));
    changes.gone.push_back({name, loss});
  }
  if (!changes.come.empty()) line += fmt::format("; with {} anew", fmt::join(changes.come, ", "));
  if (options_.group.say) options_.group.say(line);
  return changes;
}

std::vector<std::string> GroupMember::leavers(const Notices& notices) const {
  std::vector<std::string> out;
  for (std::size_t rank = 0; rank < names_.size(); ++rank)
    if (notices.all[rank].wants_stop) out.push_back(names_[rank]);
  return out;
}

Parting GroupMember::parting(const Notices& notices) const {
  const auto leavers = std::ranges::count_if(notices.all, &Notice::wants_stop);
  if (leavers > 0 && static_cast<int>(names_.size() - leavers) < options_.group.min_members) return Parting::kNone;
  return notices.wants_stop(rank()) ? Parting::kLeaves : Parting::kGoesOn;
}

}  // namespace tfd::strategy
