// SPDX-License-Identifier: Apache-2.0
#include "tfd/train/checkpoint_manager.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "run_record.hpp"
#include "tfd/base/file.hpp"
#include "tfd/base/shell.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/variable/slot_mark.hpp"

namespace tfd::train {
namespace {

constexpr std::size_t kProbeBytes = 4096;  // a full disk still allows empty files
constexpr std::string_view kNothingWillBeSaved =
    "nothing will be saved: --set train.checkpoint.dir=DIR keeps the trained weights";

Error no_memory(std::string_view what) { return {Code::kResourceExhausted, std::string(what), {}}; }

/// A thread of its own; without memory for one, or for its work, that error.
template <class Work>
std::future<Result<std::string>> in_background(Work work) {
  try {
    return std::async(std::launch::async, [work = std::move(work)]() mutable -> Result<std::string> {
      try {
        return work();
      } catch (const std::bad_alloc&) {
        return fail(no_memory("out of memory"));
      }
    });
  } catch (const std::system_error& error) {
    std::promise<Result<std::string>> none;
    none.set_value(fail(no_memory(fmt::format("no thread could be started: {}", error.code().message()))));
    return none.get_future();
  }
}

std::future<Result<std::string>> save_parts_in_background(const std::string& directory, variable::Checkpoint about,
                                                          int keep, variable::WriteParts write) {
  return in_background([directory, about = std::move(about), keep, held = std::move(write)]() mutable {
    const variable::WriteParts own = std::move(held);  // ends with the writing, not with the future
    return variable::save_checkpoint_in_parts(directory, about, keep, own);
  });
}

Result<void> check_finite(const variable::Checkpoint& checkpoint, const std::vector<std::string>& finite) {
  for (const auto& [name, value] : checkpoint.state)
    if (std::ranges::find(finite, name) != finite.end() && !variable::is_finite(value))
      return fail(Code::kInternal, "variable '{}' is not finite after step {}: it was not saved", name,
                  checkpoint.step);
  return {};
}

/// kInvalidArgument: the checkpoint has slots of another optimizer than the program's. Names the way to take the values
/// alone.
Result<void> check_optimizer(const program::Program& program, const variable::Checkpoint& found,
                             const std::string& directory) {
  if (!program.rules) return {};
  for (const auto& [name, value] : found.state) {
    const std::size_t mark = name.find(variable::kSlotMark);
    if (mark == std::string::npos) continue;
    const std::string path = name.substr(mark + variable::kSlotMark.size());
    const std::size_t slash = path.find('/');
    const std::string owner = path.substr(0, slash);
    if (slash == std::string::npos || owner == program.rules->state_name()) continue;
    return fail(Code::kInvalidArgument,
                "{}: '{}' was trained with {}, but the program has {}: keep the optimizer, or start from the values "
                "alone: --checkpoint {} --set train.checkpoint.dir=NEW",
                printable(found.path), printable(name.substr(0, mark)), printable(owner), program.rules->state_name(),
                shell_word(directory));
  }
  return {};
}

}  // namespace

std::future<Result<std::string>> save_in_background(const std::string& directory, variable::Checkpoint checkpoint,
                                                    int keep, std::vector<std::string> finite) {
  // Moved out of the closure, which lives as long as the future.
  return in_background(
      [directory, held = std::move(checkpoint), keep, finite = std::move(finite)]() mutable -> Result<std::string> {
        const variable::Checkpoint own = std::move(held);
        TFD_TRY(check_finite(own, finite));
        return variable::save_checkpoint(directory, own, keep);
      });
}

CheckpointManager::CheckpointManager(const program::TrainDef& train, bool writes, const TrainOptions& options)
    : train_(train), writes_(writes), options_(options) {}

Result<std::optional<variable::Checkpoint>> CheckpointManager::find(const program::Program& program) {
  if (!train_.checkpoint) return std::nullopt;
  const std::string& directory = train_.checkpoint->directory;
  std::error_code error;  // a path that isn't a directory has none; probe() reports it
  if (!std::filesystem::is_directory(directory, error)) return std::nullopt;
  auto found_index = variable::read_checkpoint_index(directory);
  if (found_index) last_generation_ = found_index->writer.generation;
  if (options_.start_over && !options_.takes_over) return std::nullopt;
  index_ = TFD_TRY(std::move(found_index));
  if (!index_.broken.empty()) options_.log.warning("{}: using the checkpoints' own metadata", index_.broken);
  if (!train_.checkpoint->resume && !options_.takes_over) {
    if (index_.checkpoints.empty() && index_.others.empty()) return std::nullopt;
    return fail(
        Code::kInvalidArgument,
        "{}: has checkpoints of an earlier run, but train.checkpoint.resume is false: --start-over moves them aside",
        directory);
  }
  TFD_TRY(check_missing());
  std::vector<std::string> skipped;
  auto found = TFD_TRY(variable::load_latest_checkpoint(index_, directory, &skipped));
  for (const std::string& one : skipped) options_.log.warning("skipped a checkpoint: {}", one);
  if (!found && !index_.others.empty())
    options_.log.warning("{} belongs to another run; not resuming from it (--checkpoint starts from it)",
                         index_.others.back());
  if (!found) return found;
  if (!index_.missing.empty() && variable::step_of_checkpoint(index_.missing.back()).value_or(0) > found->step)
    options_.log.warning("{} is gone: using {} instead", index_.missing.back(), found->path);
  if (const auto fits = check_state(program, *found); !fits)
    return fail(fits.error().code, "{}; --start-over moves it aside", fits.error().message);
  TFD_TRY(check_optimizer(program, *found, directory));
  if (!options_.checkpoint.empty() && options_.say)
    options_.say(fmt::format("--checkpoint {} is ignored: the training continues", options_.checkpoint));
  step_ = path_step_ = found->step;
  path_ = found->path;
  ended_ = find_run_end(directory);
  const bool is_of_run = ended_ && (ended_->run.empty() || index_.run.empty() || ended_->run == index_.run);
  if (ended_ && (!is_of_run || ended_->step != found->step || !is_over(*ended_, train_))) ended_.reset();
  return found;
}

// A training that goes on after a loss has its state elsewhere, and so may a group whose hosts save their own.
Result<void> CheckpointManager::check_missing() const {
  const auto& to = *train_.checkpoint;
  const bool is_elsewhere = options_.takes_over || to.on == program::CheckpointsOn::kHosts;
  if (index_.missing.empty() || !index_.checkpoints.empty() || is_elsewhere) return {};
  std::string names;
  for (const std::string& one : index_.missing)
    names += (names.empty() ? "" : ", ") + printable(std::filesystem::path(one).filename().string());
  return fail(Code::kDataLoss,
              "{}: all checkpoints that its {} names are gone ({}): put them back, or train from the beginning with "
              "--start-over",
              to.directory, variable::kCheckpointIndexName, names);
}

// Takes variables only, like a file of weights: optimizer state belongs to the training that wrote it.
Result<std::optional<variable::Checkpoint>> CheckpointManager::find_initial(const program::Program& program) {
  if (options_.checkpoint.empty()) return std::nullopt;
  auto initial = TFD_TRY(load_weights(program, options_.checkpoint, options_.log));
  std::erase_if(initial.state,
                [&](const auto& one) { return !is_value(one.first) || program.find_variable(one.first) == nullptr; });
  initial.step = 0;
  initial.replicas = 0;
  initial.writer = {};
  return initial;
}

Result<void> CheckpointManager::hold(Claim claim) {
  if (!are_saved() || lock_) return {};
  const std::string& directory = train_.checkpoint->directory;
  std::error_code error;  // a path that isn't a directory has no lock; probe() reports it
  if (!std::filesystem::is_directory(directory, error)) return {};
  DirectoryLockOptions with;
  with.say = options_.say;
  with.is_stopping = [interrupts = options_.interrupts] { return interrupts && interrupts->stopping(); };
  const bool takes = options_.takes_over || options_.take_directory;
  lock_ = TFD_TRY(DirectoryLock::acquire(directory, takes ? Claim::kTake : claim, std::move(with)));
  return {};
}

void CheckpointManager::say_plan() const {
  if (!options_.say || !writes_ || options_.takes_over || options_.began) return;
  if (!train_.checkpoint) return options_.say(std::string(kNothingWillBeSaved));
  const program::CheckpointDef& to = *train_.checkpoint;
  std::string every;
  if (to.every_steps == 1)
    every = "every step, and ";
  else if (to.every_steps > 1)
    every = fmt::format("every {} steps, and ", to.every_steps);
  else if (to.every_time)
    every = fmt::format("every {}, and ", format_duration(*to.every_time));
  options_.say(fmt::format("saving to {} {}at the end", to.directory, every));
}

void CheckpointManager::say_beginning(const std::optional<variable::Checkpoint>& resumed,
                                      const std::optional<variable::Checkpoint>& initial) const {
  if (!options_.say || (!resumed && !initial)) return;
  const bool is_done = resumed && (ended_ || (train_.steps && resumed->step >= *train_.steps));
  options_.say(resumed && !is_done ? fmt::format("resuming from {}", resumed->path)
                                   : fmt::format("weights from {}", (resumed ? resumed : initial)->path));
}

void CheckpointManager::say_nothing_left(std::int64_t step) const {
  if (!options_.say) return;
  const std::string reason = ended_ ? ended_->reason : "";
  if (reason == "stopped")
    options_.say(fmt::format("already stopped at step {}, after {} without a better {}", step,
                             counted(static_cast<std::uint64_t>(train_.stop->patience), "evaluation"),
                             train_.stop->by.metric));
  else if (reason == "end_of_data")
    options_.say(fmt::format("already at step {}, where the data ended", step));
  else
    options_.say(fmt::format("already at step {} of {}", step, train_.steps.value_or(step)));
}

Result<void> CheckpointManager::probe() const {
  if (!are_saved()) return {};
  const std::string& directory = train_.checkpoint->directory;
  const auto refuse = [&](Code code, std::string_view why) -> Result<void> {
    const bool refused = code == Code::kPermissionDenied || code == Code::kResourceExhausted;
    return fail(refused ? code : Code::kSystem, "train.checkpoint.dir: checkpoints can't be written to {}: {}",
                directory, why);
  };
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    const auto why = fail_errno(error.value(), "cannot create it").value();
    return refuse(why.code, why.message);
  }
  const std::string path = fmt::format("{}/.probe-{}", directory, ::getpid());
  const auto written = save_file(path, std::string(kProbeBytes, '\0'));
  std::filesystem::remove(path, error);
  if (written || is_borne(written.error())) return {};
  return refuse(written.error().code, written.error().message);
}

// A disk that was filled while the training ran is said at each checkpoint, and ends nothing: not one that goes on
// after a loss, either.
bool CheckpointManager::is_borne(const Error& error) const {
  return options_.takes_over && error.code == Code::kResourceExhausted;
}

Result<void> CheckpointManager::begin(std::optional<variable::CheckpointWriter> group) {
  saved_at_ = Clock::now();
  if (!are_saved()) return {};
  writer_ = group ? *std::move(group) : variable::this_writer(variable::make_run_id(), last_generation_ + 1);
  const std::string& directory = train_.checkpoint->directory;
  if (options_.start_over && !options_.takes_over) return start_over();
  run();
  const auto is_latest = [this](const auto& one) { return one.second == path_; };
  auto& own = index_.checkpoints;  // unreadable checkpoints aren't tried again
  own.erase(std::ranges::find_if(own, is_latest) == own.end() ? own.begin() : std::ranges::find_if(own, is_latest) + 1,
            own.end());
  index_.writer = writer_;
  const auto written = variable::write_checkpoint_index(directory, index_);
  if (!written && !is_borne(written.error())) return written;
  remove_run_end(directory);
  return {};
}

// The new index is written first: from then on no existing checkpoint belongs to this run, even if moving is
// interrupted.
Result<void> CheckpointManager::start_over() {
  namespace fs = std::filesystem;
  const fs::path directory = train_.checkpoint->directory;
  const auto old = variable::read_checkpoint_index(directory.string());
  std::vector<fs::path> moved;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_note = std::ranges::find(kCheckpointNotes, name) != kCheckpointNotes.end() || is_run_record(name);
    if (variable::is_checkpoint_name(name) || is_note) moved.push_back(entry->path());
  }
  if (error) return fail_errno(error.value(), fmt::format("cannot list {}", directory.string()));
  index_ = {.run = run(), .writer = writer_};
  if (moved.empty()) return variable::write_checkpoint_index(directory.string(), index_);
  const fs::path place =
      TFD_TRY(variable::make_place_aside(directory.string(), old && !old->run.empty() ? old->run : "run"));
  const fs::path index = directory / std::string(variable::kCheckpointIndexName);
  if (fs::exists(index, error)) fs::copy_file(index, place / index.filename(), error);
  if (!error) TFD_TRY(variable::write_checkpoint_index(directory.string(), index_));
  for (const fs::path& one : moved)
    if (!error) fs::rename(one, place / one.filename(), error);
  if (error)
    return fail_errno(error.value(), fmt::format("--start-over: cannot move the files in {} to {}", directory.string(),
                                                 place.string()));
  if (options_.say) options_.say(fmt::format("starting over: the earlier run is in {}", place.string()));
  return {};
}

const std::string& CheckpointManager::run() {
  if (are_saved() && index_.run.empty()) index_.run = variable::make_run_id();
  return index_.run;
}

Deadline CheckpointManager::next_time() const {
  if (!are_saved() || !train_.checkpoint->every_time) return Deadline::never();
  return Deadline::at(saved_at_ + *train_.checkpoint->every_time);
}

void CheckpointManager::begin_saving(variable::Checkpoint checkpoint, variable::WriteParts write,
                                     std::vector<std::string> finite) {
  saved_at_ = Clock::now();
  saving_step_ = checkpoint.step;
  if (checkpoint.writer.group.empty()) checkpoint.writer = writer_;
  const program::CheckpointDef& to = *train_.checkpoint;
  written_ = write ? save_parts_in_background(to.directory, std::move(checkpoint), to.keep, std::move(write))
                   : save_in_background(to.directory, std::move(checkpoint), to.keep, std::move(finite));
}

Result<bool> CheckpointManager::finish_saving() {
  auto path = written_.get();
  const std::int64_t step = *std::exchange(saving_step_, std::nullopt);
  const bool is_lost = !path && path.error().code == Code::kUnavailable && !path.error().task.empty();
  if (is_lost || (!path && path.error().code == Code::kAborted)) return fail(std::move(path).error());
  if (!path && path.error().code == Code::kInternal) {
    Error error = std::move(path).error();
    error.message += fmt::format("; {}", describe());
    return fail(std::move(error));
  }
  if (!path) {
    options_.log.error("cannot write a checkpoint of step {}: {}", step, path.error().message);
    has_failed_ = true;
    return false;
  }
  step_ = path_step_ = step;
  path_ = std::move(*path);
  has_failed_ = false;
  return true;
}

Error CheckpointManager::not_saved() const {
  return {Code::kResourceExhausted, fmt::format("the last checkpoint could not be written; {}", describe()), {}};
}

void CheckpointManager::mark_end(const std::string& reason, std::int64_t step,
                                 std::optional<std::int64_t> stated) const {
  if (!are_saved()) return;
  auto end = make_run_end(train_, reason, step);
  end.run = index_.run;
  if (stated && reason == "done") end.rule = rule_of_epochs(*stated);
  if (const auto written = save_run_end(train_.checkpoint->directory, end); !written)
    options_.log.error("cannot record that the training is over: {}", written.error().message);
}

std::string CheckpointManager::describe() const {
  // One may be whole, but not in the index, where the disk became full.
  if ((path_.empty() || has_failed_) && are_saved()) {
    std::vector<std::string> skipped;
    const auto found = variable::load_latest_checkpoint(train_.checkpoint->directory, &skipped);
    if (found && *found) return continuation_from(train_, options_, (*found)->path, (*found)->step);
  }
  if (path_.empty()) return "there is no checkpoint to continue from";
  return continuation_from(train_, options_, path_, path_step_);
}

}  // namespace tfd::train
