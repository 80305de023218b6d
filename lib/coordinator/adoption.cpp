// SPDX-License-Identifier: Apache-2.0
#include "adoption.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "coordinator.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/base/sha256.hpp"
#include "tfd/base/text.hpp"

namespace tfd::coordinator {
namespace {

constexpr std::uint64_t kMostUnsettled = std::uint64_t{1} << 20;  // sequence numbers: more can't be a coordinator's
constexpr Duration kAnswer = std::chrono::seconds(10);

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
  for (std::uint64_t sequence = out.settled; sequence < out.next; ++sequence) {
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

// Finds the unfinished run that all parameter servers have. Some may already have its next epoch, if a coordinator died
// while adopting it.
std::optional<Coordinator::FoundRun> Coordinator::find_run() {
  const Deadline deadline = Deadline::after(kAnswer);
  const auto status = ps_->status(deadline);
  const auto kept = run_records().get(kRunKey, deadline);
  if (!status || !kept) return std::nullopt;
  record_version_ = kept->version;
  auto record = parse_run(kept->value);
  if (!record) return std::nullopt;
  std::vector<std::uint64_t> epochs;
  for (const auto& one : *status) {
    if (one.epoch == 0 || std::ranges::find(record->epochs, one.epoch) == record->epochs.end()) return std::nullopt;
    epochs.push_back(one.epoch);
  }
  const bool is_own = options_.adopt && record->run == options_.adopt->run &&
                      record->program == digest_of(program_, placement_, copies_.replicas());
  return FoundRun{std::move(epochs), std::move(*record), is_own};
}

// Adopts a run. False if it can't be continued, or isn't far enough; the parameter servers may have this epoch then.
Result<bool> Coordinator::adopt(const FoundRun& found) {
  RunOwner record = found.record;
  record.epochs.push_back(epoch_);
  TFD_TRY(keep_run(record));
  const auto histories = ps_->adopt(found.epochs, epoch_, Deadline::after(kAnswer));
  if (!histories) {
    options_.log.info("the unfinished run {} can't be adopted: {}", printable(record.run), histories.error().message);
    return false;
  }
  const auto continuation = put_together(*histories);
  if (!continuation) return false;
  const auto step_of = [&](std::uint64_t sequence) {
    return record.first_step + static_cast<std::int64_t>(continuation->steps_below(sequence));
  };
  const std::int64_t step = step_of(continuation->next);
  if (step < options_.adopt->from) return false;
  record.epochs = {epoch_};
  TFD_TRY(keep_run(record));
  adopted_ = AdoptedRun{.step = step};
  for (const std::uint64_t sequence : continuation->unfinished)
    adopted_->unfinished.push_back({sequence, step_of(sequence)});
  settled_ = continuation->settled;
  const Lock lock(mutex_);
  closures_.go_on(*continuation);
  return true;
}

task::CoordinationClient Coordinator::run_records() { return ps_->coordination(task::CoordinationScope::kProcess); }

// Writes the record only if it is unchanged since: this coordinator may have been suspended and replaced.
Result<void> Coordinator::keep_run(const std::optional<RunOwner>& record) {
  const Deadline deadline = Deadline::after(kAnswer);
  const std::string value = record ? format_run(*record) : "";
  auto version = run_records().put(kRunKey, value, deadline, record_version_);
  if (!version && version.error().code == Code::kFailedPrecondition) {
    const auto kept = TFD_TRY(run_records().get(kRunKey, deadline));
    if (kept.value != value)
      return fail(Code::kPermissionDenied, "another coordinator has a training on the parameter servers by now");
    version = kept.version;  // it was put, but the answer was lost
  }
  record_version_ = TFD_TRY(std::move(version));
  has_record_ = record.has_value();
  return {};
}

Result<void> Coordinator::record_run(std::int64_t first_step) {
  if (!options_.adopt || servers_.empty()) return {};
  const std::string program = digest_of(program_, placement_, copies_.replicas());
  return keep_run(RunOwner{options_.adopt->run, program, first_step, {epoch_}});
}

Result<void> Coordinator::forget_run() { return has_record_ ? keep_run(std::nullopt) : Result<void>(); }

}  // namespace tfd::coordinator
