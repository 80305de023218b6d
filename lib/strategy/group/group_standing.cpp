// SPDX-License-Identifier: Apache-2.0
#include "group_standing.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tfd/base/text.hpp"
#include "tfd/function/isa.hpp"
#include "tfd/function/kernels.hpp"
#include "value_bytes.hpp"

namespace tfd::strategy {

template <class Io>
void fields(Io& io, Standing& standing) {
  io(standing.step, standing.replicas, standing.position, standing.threads, standing.keeps_threads, standing.isa);
  io(standing.keeps_isa, standing.kernels, standing.saved, standing.run, standing.starts_over, standing.generation);
}

namespace {

std::size_t keeper_of_newest(const std::vector<Standing>& all) {
  const Standing& chief = all.front();
  std::size_t out = 0;
  for (std::size_t rank = 1; rank < all.size() && !chief.starts_over; ++rank)
    if (all[rank].saved > all[out].saved && (chief.saved < 0 || all[rank].run == chief.run)) out = rank;
  return out;
}

}  // namespace

Result<std::vector<Standing>> gather_standings(collective::Communicator& communicator, std::int64_t round,
                                               const Standing& own, Deadline deadline) {
  std::vector<Standing> out;
  for (const std::string& text :
       TFD_TRY(communicator.all_gather("what the members have", round, format_value(own), deadline)))
    out.push_back(TFD_TRY(parse_value<Standing>(text, "message"), communicator.members().all[out.size()].name));
  return out;
}

int find_root(const std::vector<Standing>& all) {
  const auto most = std::ranges::max_element(all, {}, &Standing::step);
  return static_cast<int>(most->step < 0 ? keeper_of_newest(all) : static_cast<std::size_t>(most - all.begin()));
}

std::vector<int> threads_of(const std::vector<Standing>& all, int agreed) {
  std::vector<int> out;
  for (const Standing& one : all) out.push_back(one.keeps_threads ? one.threads : agreed);
  return out;
}

std::optional<std::string> describe_unlike_threads(const std::vector<int>& threads,
                                                   const std::vector<std::string>& names) {
  std::vector<std::string> others;
  for (std::size_t rank = 1; rank < threads.size(); ++rank)
    if (threads[rank] != threads.front()) others.push_back(fmt::format("{} has {}", names[rank], threads[rank]));
  if (others.empty() || threads.front() == 0) return std::nullopt;
  return fmt::format(
      "{} has {} of XLA's threads, {}: the last bits of large products and convolutions depend on it; set the "
      "same PJRT_NPROC for all workers",
      names.front(), threads.front(), fmt::join(others, ", "));
}

std::optional<std::string> common_isa_of(const std::vector<Standing>& all) {
  std::optional<std::string> out = all.front().isa;
  for (const Standing& one : all) {
    if (one.isa.empty()) return "";
    if (out) out = function::common_isa(*out, one.isa);
  }
  return out;
}

std::optional<UnlikeIsa> describe_unlike_isa(const std::vector<Standing>& all, const std::vector<std::string>& names) {
  const auto common = common_isa_of(all);
  if (common && (common->empty() || std::ranges::all_of(all, [&](const auto& one) { return one.isa == *common; })))
    return std::nullopt;
  std::vector<std::string> of_each;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (rank == 0 || all[rank].isa != all.front().isa)
      of_each.push_back(fmt::format("{} {}", names[rank], printable(all[rank].isa)));
  const std::string each = fmt::format("{}", fmt::join(of_each, ", "));
  const bool keeps =
      common && std::ranges::any_of(all, [&](const Standing& one) { return one.keeps_isa && one.isa != *common; });
  if (!common)
    return UnlikeIsa{fmt::format("processors of different architectures ({}): the members' bits may differ", each),
                     true};
  if (keeps)
    return UnlikeIsa{
        fmt::format("{} is the newest instruction set that all processors have, but the training was compiled "
                    "for a newer one ({}): the members' bits may differ; starting all members again "
                    "makes them equal",
                    *common, each),
        true};
  return UnlikeIsa{
      fmt::format("XLA compiles for {} in each process, the newest instruction set that all have ({}), since "
                  "the last bits depend on it",
                  *common, each)};
}

std::string common_kernels_of(const std::vector<Standing>& all) {
  if (std::ranges::any_of(all, [](const Standing& one) { return one.kernels.empty(); })) return "";
  const auto keeper = std::ranges::find(all, true, &Standing::keeps_isa);
  if (keeper != all.end()) return keeper->kernels;
  std::string out = all.front().kernels;
  for (const Standing& one : all) out = function::common_kernels(out, one.kernels);
  return out;
}

std::optional<UnlikeIsa> describe_unlike_kernels(const std::vector<Standing>& all,
                                                 const std::vector<std::string>& names) {
  const std::string common = common_kernels_of(all);
  std::vector<std::string> of_each;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (rank == 0 || all[rank].kernels != all.front().kernels)
      of_each.push_back(fmt::format("{} {}", names[rank], printable(all[rank].kernels)));
  if (common.empty() || of_each.size() == 1) return std::nullopt;
  const std::string each = fmt::format("{}", fmt::join(of_each, ", "));
  if (std::ranges::any_of(all, [&](const Standing& one) { return one.keeps_isa && one.kernels != common; }))
    return UnlikeIsa{
        fmt::format("members compute by different kernels ({}): their bits may differ; starting all members "
                    "again makes them equal",
                    each),
        true};
  return UnlikeIsa{
      fmt::format("programs compute by the kernels '{}' in each process, since the last bits depend on them "
                  "({}; TFD_KERNELS)",
                  common, each)};
}

}  // namespace tfd::strategy
