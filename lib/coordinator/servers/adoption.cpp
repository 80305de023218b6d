// SPDX-License-Identifier: Apache-2.0
#include "servers/adoption.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tfd/base/json_line.hpp"
#include "tfd/base/sha256.hpp"

namespace tfd::coordinator {
namespace {

constexpr std::uint64_t kMostUnsettled = std::uint64_t{1} << 20;  // sequence numbers: more can't be a coordinator's

enum class Fate : std::uint8_t { kNone, kApplied, kFenced };

Fate fate_of(const variable::SequenceHistory& history, std::uint64_t sequence) {
  if (std::ranges::binary_search(history.fenced, sequence)) return Fate::kFenced;
  const bool is_over = sequence < history.low || std::ranges::binary_search(history.above, sequence);
  return is_over ? Fate::kApplied : Fate::kNone;
}

}  // namespace

std::string digest_of(const program::Program& program, const task::Placement& placement, int replicas) {
  Sha256 sum;
  program::Program timeless = program;
  auto stated = std::make_shared<nlohmann::ordered_json>(*program.stated);  // with the copy
  stated->erase("train");
  timeless.stated = std::move(stated);
  timeless.train.reset();
  sum.add_part(timeless.document());
  if (program.train) {
    sum.add_part(program.train->function);
    sum.add_part(std::to_string(static_cast<int>(program.train->replicas)));
  }
  for (const auto& [name, content] : program.files) {
    sum.add_part(name);
    sum.add_part(content);
  }
  for (const auto& [name, address] : placement.ps) {
    sum.add_part(name);
    sum.add_part(address);
  }
  sum.add_part(std::to_string(replicas));
  return sum.hex();
}

std::string format_run(const RunOwner& record) {
  JsonLine line;
  line.add("run", record.run).add("program", record.program).add("first_step", record.first_step);
  line.add_raw("epochs", nlohmann::json(record.epochs).dump());
  return std::move(line).text();
}

std::optional<RunOwner> parse_run(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto has = [&](const char* key, auto is) { return json.contains(key) && (json[key].*is)(); };
  using Json = nlohmann::json;
  if (!has("run", &Json::is_string) || !has("program", &Json::is_string) ||
      !has("first_step", &Json::is_number_integer) || !has("epochs", &Json::is_array) ||
      !std::ranges::all_of(json["epochs"], &Json::is_number_unsigned))
    return std::nullopt;
  return RunOwner{json["run"].get<std::string>(), json["program"].get<std::string>(),
                  json["first_step"].get<std::int64_t>(), json["epochs"].get<std::vector<std::uint64_t>>()};
}

std::optional<Continuation> put_together(const std::vector<variable::SequenceHistory>& histories) {
  Continuation out;
  for (const auto& history : histories) {
    if (history.settled < out.settled) continue;
    out.settled = history.settled;
    out.unused_below = history.unused;
  }
  for (const auto& history : histories) {
    const std::uint64_t last = history.above.empty() ? history.low : std::max(history.low, history.above.back());
    if (last > out.settled && last - out.settled > kMostUnsettled) return std::nullopt;
    out.next = std::max({out.next, history.low, history.above.empty() ? 0 : history.above.back() + 1});
  }
  std::map<std::uint64_t, std::uint32_t> committed;  // attempts
  for (const auto& history : histories)
    for (const auto& [sequence, attempt] : history.committed)
      if (committed.emplace(sequence, attempt).first->second != attempt) return std::nullopt;
  if (std::ranges::any_of(histories, [](const auto& history) { return !history.staged.empty(); }))
    out.commits.resize(histories.size());
  for (std::size_t i = 0; i < out.commits.size(); ++i)
    for (const variable::Attempt& staged : histories[i].staged)
      if (const auto found = committed.find(staged.sequence);
          found != committed.end() && found->second == staged.number)
        out.commits[i].push_back(staged);
  for (std::uint64_t sequence = out.settled; sequence < out.next; ++sequence) {
    if (committed.contains(sequence)) continue;
    bool is_applied = false, is_fenced = false, is_missing = false;
    for (const auto& history : histories) {
      const Fate fate = fate_of(history, sequence);
      is_applied = is_applied || fate == Fate::kApplied;
      is_fenced = is_fenced || fate == Fate::kFenced;
      is_missing = is_missing || fate == Fate::kNone;
    }
    if (!is_applied && is_fenced)
      out.unused.push_back(sequence);
    else if (is_missing && !is_fenced)
      out.unfinished.push_back(sequence);
  }
  return out;
}

std::uint64_t Continuation::steps_below(std::uint64_t sequence) const {
  const auto fenced = std::ranges::lower_bound(unused, sequence) - unused.begin();
  return sequence - unused_below - static_cast<std::uint64_t>(fenced);
}

}  // namespace tfd::coordinator
