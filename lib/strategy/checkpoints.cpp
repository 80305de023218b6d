// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/checkpoints.hpp"

#include <unistd.h>

#include <filesystem>

#include "tfd/base/file.hpp"

namespace tfd::strategy {
namespace {

constexpr std::size_t kProbeBytes = 4096;  // a full disk still makes empty files

}  // namespace

Checkpoints::Checkpoints(const program::TrainDef& train, bool writes, Log log)
    : train_(train), writes_(writes), log_(std::move(log)) {}

Result<std::optional<variable::Checkpoint>> Checkpoints::find() {
  if (!train_.checkpoint || !train_.checkpoint->resume) return std::nullopt;
  const std::string& directory = train_.checkpoint->directory;
  std::error_code error;  // what isn't a directory has none, and probe() says so
  if (!std::filesystem::is_directory(directory, error)) return std::nullopt;
  std::vector<std::string> skipped;
  auto found = TFD_TRY(variable::load_latest_checkpoint(directory, &skipped));
  for (const std::string& one : skipped) log_.warning("passed over a checkpoint: {}", one);
  if (!found) return found;
  step_ = path_step_ = found->step;
  path_ = found->path;
  ended_ = find_run_end(directory);
  if (ended_ && (ended_->step != found->step || !is_over(*ended_, train_))) ended_.reset();
  return found;
}

Result<void> Checkpoints::probe() const {
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
    const auto why = fail_errno(error.value(), "cannot make it").value();
    return refuse(why.code, why.message);
  }
  const std::string path = fmt::format("{}/.probe-{}", directory, ::getpid());
  const auto written = save_file(path, std::string(kProbeBytes, '\0'));
  if (!written) return refuse(written.error().code, written.error().message);
  std::filesystem::remove(path, error);
  return {};
}

void Checkpoints::begin() {
  saved_at_ = Clock::now();
  if (are_saved()) remove_run_end(train_.checkpoint->directory);
}

Deadline Checkpoints::next_time() const {
  if (!are_saved() || !train_.checkpoint->every_time) return Deadline::never();
  return Deadline::at(saved_at_ + *train_.checkpoint->every_time);
}

bool Checkpoints::save(const variable::Checkpoint& checkpoint) {
  saved_at_ = Clock::now();
  auto path = variable::save_checkpoint(train_.checkpoint->directory, checkpoint, train_.checkpoint->keep);
  if (!path) {
    log_.error("cannot write a checkpoint of step {}: {}", checkpoint.step, path.error().message);
    return false;
  }
  step_ = path_step_ = checkpoint.step;
  path_ = std::move(*path);
  return true;
}

Error Checkpoints::not_saved() const {
  return {Code::kResourceExhausted, fmt::format("the last checkpoint could not be written; {}", describe()), {}};
}

void Checkpoints::mark_end(const std::string& reason, std::int64_t step, std::optional<std::int64_t> stated) const {
  if (!are_saved()) return;
  auto end = make_run_end(train_, reason, step);
  if (stated && reason == "done") end.rule = rule_of_epochs(*stated);
  if (const auto written = save_run_end(train_.checkpoint->directory, end); !written)
    log_.error("cannot write that the training is over: {}", written.error().message);
}

std::string Checkpoints::describe() const {
  if (path_.empty()) return "there is no checkpoint to continue from";
  return fmt::format("the same command continues from {} (step {})", path_, path_step_);
}

}  // namespace tfd::strategy
