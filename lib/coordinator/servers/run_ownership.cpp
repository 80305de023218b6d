// SPDX-License-Identifier: Apache-2.0
#include "servers/run_ownership.hpp"

#include <algorithm>

namespace tfd::coordinator {
namespace {

constexpr Duration kRecordAnswer = std::chrono::seconds(10);

}  // namespace

std::optional<RunOwnership::Found> RunOwnership::find(const Epochs& epochs, Deadline deadline) {
  const auto kept = records_.get(kRunKey, deadline);
  if (!kept) return std::nullopt;
  version_ = kept->version;
  auto record = parse_run(kept->value);
  if (!record) return std::nullopt;
  const auto is_of_run = [&](std::uint64_t epoch) {
    return epoch != 0 && std::ranges::find(record->epochs, epoch) != record->epochs.end();
  };
  if (!std::ranges::all_of(epochs, is_of_run)) return std::nullopt;
  const bool is_own = asked_ && record->run == asked_->run && record->program == program_;
  return Found{epochs, std::move(*record), is_own};
}

Result<std::optional<RunOwnership::Adopted>> RunOwnership::adopt(const Found& found, std::uint64_t epoch,
                                                                 const Move& move) {
  RunOwner record = found.record;
  record.epochs.push_back(epoch);
  TFD_TRY(keep(record));
  const auto histories = move(found.epochs);
  auto continuation = histories ? put_together(*histories) : std::nullopt;
  if (!continuation) return std::nullopt;
  const auto step_of = [&](std::uint64_t sequence) {
    return record.first_step + static_cast<std::int64_t>(continuation->steps_below(sequence));
  };
  AdoptedRun run{.step = step_of(continuation->next)};
  if (run.step < asked_->from) return std::nullopt;
  for (const std::uint64_t sequence : continuation->unfinished) run.unfinished.push_back({sequence, step_of(sequence)});
  record.epochs = {epoch};
  TFD_TRY(keep(record));
  return Adopted{std::move(run), std::move(*continuation)};
}

Result<void> RunOwnership::record(std::int64_t first_step, std::uint64_t epoch) {
  return asked_ ? keep(RunOwner{asked_->run, program_, first_step, {epoch}}) : Result<void>();
}

Result<void> RunOwnership::forget() { return has_record_ ? keep(std::nullopt) : Result<void>(); }

// Writes the record only if it is unchanged since: this coordinator may have been suspended and replaced.
Result<void> RunOwnership::keep(const std::optional<RunOwner>& record) {
  const Deadline deadline = Deadline::after(kRecordAnswer);
  const std::string value = record ? format_run(*record) : "";
  auto version = records_.put(kRunKey, value, deadline, version_);
  if (!version && version.error().code == Code::kFailedPrecondition) {
    const auto kept = TFD_TRY(records_.get(kRunKey, deadline));
    if (kept.value != value)
      return fail(Code::kPermissionDenied, "another coordinator has a training on the parameter servers by now");
    version = kept.version;  // it was put, but the answer was lost
  }
  version_ = TFD_TRY(std::move(version));
  has_record_ = record.has_value();
  return {};
}

}  // namespace tfd::coordinator
