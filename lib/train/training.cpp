// SPDX-License-Identifier: Apache-2.0
#include "tfd/train/training.hpp"

#include <algorithm>

#include "tfd/train/checkpoint_manager.hpp"

namespace tfd::train {

void Interrupts::ask_checkpoint() {
  {
    const MutexLock lock(mutex_);
    checkpoint_ = true;
  }
  asked();
}

void Interrupts::ask_stop() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  asked();
}

bool Interrupts::take_checkpoint() {
  const MutexLock lock(mutex_);
  return std::exchange(checkpoint_, false);
}

bool Interrupts::stopping() const {
  const MutexLock lock(mutex_);
  return stop_;
}

void Interrupts::on_ask(std::function<void()> action) {
  const MutexLock lock(action_mutex_);
  action_ = std::move(action);
}

// Under the lock, so that nothing is called after on_ask({}).
void Interrupts::asked() {
  const MutexLock lock(action_mutex_);
  if (action_) action_();
}

Result<void> check_state(const program::Program& program, const variable::Checkpoint& checkpoint) {
  for (const program::VariableDef& variable : program.variables) {
    if (variable.per_worker || !is_value(variable.name)) continue;
    const auto found =
        std::ranges::find(checkpoint.state, variable.name, &std::pair<std::string, tensor::Tensor>::first);
    if (found == checkpoint.state.end())
      return fail(Code::kInvalidArgument, "{} has no variable '{}': it belongs to another program", checkpoint.path,
                  variable.name);
    if (found->second.spec() != variable.spec)
      return fail(Code::kInvalidArgument, "{}: variable '{}' is {}, but {} in {}: it belongs to another program",
                  checkpoint.path, variable.name, tensor::format_spec(found->second.spec()),
                  tensor::format_spec(variable.spec), program.path);
  }
  return {};
}

Result<variable::Checkpoint> load_weights(const program::Program& program, const std::string& path, const Log& log) {
  std::vector<std::string> skipped;
  auto checkpoint = TFD_TRY(variable::load_named_checkpoint(path, &skipped), "--checkpoint");
  for (const std::string& one : skipped) log.warning("skipped a checkpoint: {}", one);
  TFD_TRY(check_state(program, checkpoint));
  return checkpoint;
}

std::string command_to_continue(const program::TrainDef& train, const TrainOptions& options) {
  if (train.checkpoint && !train.checkpoint->resume) return "the same command with train.checkpoint.resume=auto";
  return options.start_over ? "the same command without --start-over" : "the same command";
}

std::string continuation_from(const program::TrainDef& train, const TrainOptions& options, const std::string& path,
                              std::int64_t step) {
  return fmt::format("{} continues from {} (step {})", command_to_continue(train, options), path, step);
}

std::string continuation_of(const program::TrainDef& train, const TrainOptions& options) {
  if (!train.checkpoint) return "";
  const auto index = variable::read_checkpoint_index(train.checkpoint->directory);
  if (!index || index->checkpoints.empty()) return "";
  const auto& [step, path] = index->checkpoints.back();
  return continuation_from(train, options, path, step);
}

}  // namespace tfd::train
