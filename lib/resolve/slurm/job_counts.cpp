// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/resolve/hostlist.hpp"
#include "tfd/resolve/resolver.hpp"

namespace tfd::resolve {
namespace {

template <class Jobs>
bool has_job(const Jobs& jobs, const std::string& name) {
  return std::any_of(jobs.begin(), jobs.end(), [&](const auto& job) { return job.first == name; });
}

}  // namespace

Result<JobCounts> parse_job_counts(std::string_view text) {
  JobCounts jobs;
  if (text.empty()) return fail(Code::kInvalidArgument, "no jobs (expected NAME=COUNT,…)");
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Code::kInvalidArgument, "'{}' is not NAME=COUNT", printable(part));
    const std::string name = part.substr(0, equals);
    const auto count = parse_integer(part.substr(equals + 1), 0, kMostTasks);
    if (!count)
      return fail(Code::kInvalidArgument, "job '{}': '{}' is not a number of tasks from 0 to {}", printable(name),
                  printable(part.substr(equals + 1)), kMostTasks);
    if (has_job(jobs, name)) return fail(Code::kInvalidArgument, "job '{}' is given twice", printable(name));
    jobs.emplace_back(name, static_cast<int>(*count));
  }
  return jobs;
}

std::vector<std::string> nearly_known_jobs(std::string_view counts) {
  const std::vector<std::string> known{"chief", "worker", "ps", "evaluator"};
  std::vector<std::string> warnings;
  for (const std::string& part : split(counts, ',')) {
    const std::string name = part.substr(0, part.find('='));
    if (std::ranges::find(known, name) != known.end()) continue;
    const auto plural =
        std::ranges::find_if(known, [&](const std::string& one) { return one.size() > 2 && name == one + "s"; });
    const auto near = name.size() > 4 ? find_nearest(name, known) : std::nullopt;
    const bool is_near = near && near->size() + 1 >= name.size() && name.size() + 1 >= near->size();
    if (plural != known.end() || is_near)
      warnings.push_back(fmt::format("--jobs: '{}' is no job that tfd knows, did you mean '{}'?", printable(name),
                                     plural != known.end() ? *plural : *near));
  }
  return warnings;
}

namespace {

/// "1+2", after "het:".
Result<std::vector<int>> parse_components(std::string_view name, std::string_view text) {
  constexpr int kMostComponents = 1024;
  std::vector<int> components;
  for (const std::string& part : split(text, '+')) {
    const auto number = parse_integer(part, 0, kMostComponents - 1);
    if (!number)
      return fail(Code::kInvalidArgument, "job '{}': '{}' is not a component of a heterogeneous job, het:N or het:N+M",
                  printable(name), printable(part));
    components.push_back(static_cast<int>(*number));
  }
  return components;
}

}  // namespace

Result<void> parse_slurm_jobs(std::string_view text, SlurmOptions& options) {
  std::optional<std::string> counts;
  JobComponents jobs;
  std::vector<int> taken;
  for (const std::string& part : split(text, ',')) {
    const std::size_t at = part.find("=het:");
    if (at == std::string::npos || at == 0) {
      counts = counts ? *counts + ',' + part : part;
      continue;
    }
    const std::string name = part.substr(0, at);
    if (has_job(jobs, name)) return fail(Code::kInvalidArgument, "job '{}' is given twice", printable(name));
    const auto components = TFD_TRY(parse_components(name, std::string_view(part).substr(at + 5)));
    for (const int component : components) {
      if (std::find(taken.begin(), taken.end(), component) != taken.end())
        return fail(Code::kInvalidArgument, "component {} is given twice", component);
      taken.push_back(component);
    }
    jobs.emplace_back(name, components);
  }
  JobCounts plain;
  if (counts == "" && !jobs.empty()) return fail(Code::kInvalidArgument, "'' is not NAME=COUNT");
  if (counts) plain = TFD_TRY(parse_job_counts(*counts));
  for (const auto& [name, components] : jobs)
    if (has_job(plain, name)) return fail(Code::kInvalidArgument, "job '{}' is given twice", printable(name));
  options.jobs = std::move(plain);
  options.job_components = std::move(jobs);
  return {};
}

}  // namespace tfd::resolve
