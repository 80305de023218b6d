// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "check/misplaced.hpp"
#include "draft.hpp"
#include "tfd/base/units.hpp"
#include "tfd/program/names.hpp"

namespace tfd::program {
namespace {

/// Finds the function that train or evaluate runs; it must be callable without arguments.
Result<const FunctionDef*> parse_target(const Node& parent, const Program& program) {
  const Node node = TFD_TRY(parent.member("function"));
  const std::string name = TFD_TRY(node.text());
  const FunctionDef* def = program.find_function(name);
  if (def == nullptr)
    return node.fail_text(Code::kInvalidArgument, unknown_text("function", name, names_of(program.functions)));
  if (def->arg_count > 0 || !def->kwargs.empty())
    return node.fail("'{}' takes arguments, but nothing passes any here: bind its inputs to a dataset", name);
  return def;
}

bool is_endless(const Facts& facts, const std::string& dataset) {
  const auto found = facts.find(dataset);
  return found != facts.end() && found->second.cardinality == data::Dataset::kInfinite;
}

Result<Duration> parse_time(const Node& node) {
  if (!node.is_text()) return node.fail_type("a duration like \"30m\"");
  const Duration time = TFD_TRY(parse_duration(TFD_TRY(node.text())), node.path());
  if (time <= Duration::zero()) return node.fail("must be positive");
  return time;
}

Result<CheckpointsBy> parse_writers(const Node& node) {
  const std::string who = node.is_text() ? TFD_TRY(node.text()) : std::string();
  if (who == "auto") return CheckpointsBy::kAuto;
  if (who == "servers") return CheckpointsBy::kServers;
  if (who == "coordinator") return CheckpointsBy::kCoordinator;
  return node.fail("must be \"auto\", \"servers\" or \"coordinator\"");
}

constexpr Duration kSavedEvery = std::chrono::minutes(5);  // where the program doesn't say how often

Result<CheckpointDef> parse_checkpoint(const Node& node, const std::string& directory) {
  TFD_TRY(expect_object(node, {"by", "dir", "every", "keep", "keep_best", "on", "resume"}));
  CheckpointDef checkpoint;
  const std::filesystem::path stated = TFD_TRY(TFD_TRY(node.member("dir")).text());
  const auto path =
      (std::filesystem::path(directory) / stated / "").lexically_normal();  // however many slashes it ends with
  checkpoint.directory = path == path.root_path() ? path.string() : path.parent_path().string();
  checkpoint.every_time = kSavedEvery;
  if (const auto every = node.find("every")) {
    checkpoint.every_time.reset();
    if (every->is_number())
      checkpoint.every_steps = TFD_TRY(every->integer(1));
    else if (!every->is_text())
      return every->fail_type("a number of steps, a duration like \"10m\", or \"never\"");
    else if (TFD_TRY(every->text()) != "never")
      checkpoint.every_time = TFD_TRY(parse_time(*every));
  }
  if (const auto keep = node.find("keep")) {
    const auto count = TFD_TRY(keep->integer(0));
    if (count > 1'000'000) return keep->fail("{} is too large", count);
    checkpoint.keep = static_cast<int>(count);
  }
  if (const auto resume = node.find("resume")) {
    const bool automatic = resume->is_text() && TFD_TRY(resume->text()) == "auto";
    if (!automatic && !(resume->is_bool() && !TFD_TRY(resume->boolean())))
      return resume->fail("must be \"auto\" or false");
    checkpoint.resume = automatic;
  }
  if (const auto on = node.find("on")) {
    const bool is_hosts = TFD_TRY(on->choice({"chief", "hosts"})) == "hosts";
    checkpoint.on = is_hosts ? CheckpointsOn::kHosts : CheckpointsOn::kChief;
  }
  if (const auto by = node.find("by")) checkpoint.by = TFD_TRY(parse_writers(*by));
  return checkpoint;
}

Result<void> check_evaluated(const FunctionDef& def) {
  const auto wrong = [&](std::string_view what) { return fail(Code::kInvalidArgument, "'{}' {}", def.name, what); };
  if (def.arg_count > 0 || !def.kwargs.empty())
    return wrong("takes arguments, but an evaluation passes none: bind its inputs to a dataset");
  if (def.has_updates()) return wrong("updates variables, which an evaluation must not do");
  if (std::ranges::none_of(def.outputs, [](const auto& one) { return one.kind == OutputKind::kMetric; }))
    return wrong("has no metric");
  const auto datasets = datasets_of(def);
  if (datasets.size() != 1)
    return wrong(fmt::format("must read one dataset, not {}", datasets.empty() ? "none" : "several"));
  return {};
}

Result<void> check_ends(const Program& program, const FunctionDef& def, std::optional<std::int64_t> steps) {
  const std::string dataset = datasets_of(def).front();
  if (steps || !program.endless_datasets.contains(dataset)) return {};
  return fail(Code::kInvalidArgument, "dataset '{}' never ends: set 'steps'", dataset);
}

Result<EvaluateDef> parse_evaluate(const Node& node, const Program& program) {
  TFD_TRY(expect_object(node, {"function", "every", "steps"}));
  const FunctionDef* def = TFD_TRY(parse_target(node, program));
  const Node function = TFD_TRY(node.member("function"));
  EvaluateDef evaluate;
  evaluate.function = def->name;
  if (const auto fits = check_evaluated(*def); !fits)
    return function.fail_text(Code::kInvalidArgument, fits.error().message);
  if (const auto every = node.find("every")) {
    const bool is_epoch = every->is_text() && TFD_TRY(every->text()) == "epoch";
    if (!is_epoch && !every->is_number()) return every->fail_type("a number of steps, or \"epoch\"");
    evaluate.every_steps = is_epoch ? kEveryEpoch : TFD_TRY(every->integer(1));
  }
  if (const auto steps = node.find("steps")) evaluate.steps = TFD_TRY(steps->integer(1));
  if (const auto ends = check_ends(program, *def, evaluate.steps); !ends)
    return node.fail_text(Code::kInvalidArgument, ends.error().message);
  return evaluate;
}

/// Parses "metric" and "mode"; the metric must be one of the periodic evaluations'.
Result<BestDef> parse_best(const Node& node, const TrainDef& train, const Program& program) {
  if (!train.evaluate || train.evaluate->every_steps == 0 ||
      (train.evaluate->every_steps == kEveryEpoch && !train.epochs))
    return node.fail("needs train.evaluate with 'every': it looks at evaluations between the steps");
  const Node metric = TFD_TRY(node.member("metric"));
  BestDef best;
  best.metric = TFD_TRY(metric.text());
  std::vector<std::string> known;
  for (const OutputBinding& output : program.find_function(train.evaluate->function)->outputs)
    if (output.kind == OutputKind::kMetric &&
        std::ranges::find(known, output.name) == known.end())  // once of its parts
      known.push_back(output.name);
  if (std::find(known.begin(), known.end(), best.metric) == known.end())
    return metric.fail_text(Code::kInvalidArgument, unknown_text("metric of the evaluation", best.metric, known));
  for (const char* ending : {"acc", "accuracy", "auc"}) best.higher = best.higher || best.metric.ends_with(ending);
  if (const auto mode = node.find("mode")) best.higher = TFD_TRY(mode->choice({"min", "max"})) == "max";
  return best;
}

Result<std::optional<BestDef>> parse_keep_best(const Node& checkpoint, const TrainDef& train, const Program& program) {
  const auto best = checkpoint.find("keep_best");
  if (!best) return std::optional<BestDef>();
  TFD_TRY(expect_object(*best, {"metric", "mode"}));
  return std::optional(TFD_TRY(parse_best(*best, train, program)));
}

Result<StopDef> parse_stop(const Node& node, const TrainDef& train, const Program& program) {
  TFD_TRY(expect_object(node, {"metric", "mode", "patience", "min_delta", "restore_best"}));
  StopDef stop;
  stop.by = TFD_TRY(parse_best(node, train, program));
  if (const auto patience = node.find("patience")) stop.patience = TFD_TRY(patience->integer(1));
  if (const auto delta = node.find("min_delta")) {
    stop.min_delta = TFD_TRY(delta->number());
    if (!(stop.min_delta >= 0)) return delta->fail("must not be negative");
  }
  if (const auto restore = node.find("restore_best")) stop.restore_best = TFD_TRY(restore->boolean());
  return stop;
}

Result<void> check_end(const Node& node, const TrainDef& train, const std::vector<std::string>& datasets,
                       const Facts& facts) {
  if (train.steps && train.epochs) return node.fail("has both 'steps' and 'epochs'");
  for (const std::string& dataset : datasets)
    if (const auto found = facts.find(dataset); found != facts.end() && found->second.cardinality == 0)
      return node.fail("dataset '{}' has no elements{}{}", dataset, found->second.why_empty.empty() ? "" : ": ",
                       found->second.why_empty);
  if (train.epochs && datasets.size() != 1)
    return TFD_TRY(node.member("epochs"))
        .fail("'{}' must read one dataset, not {}", train.function, datasets.empty() ? "none" : "several");
  if (!train.epochs && (train.steps || train.max_time)) return {};
  bool ends = false;
  for (const std::string& dataset : datasets) {
    const bool endless = is_endless(facts, dataset);
    if (endless && train.epochs)
      return TFD_TRY(node.member("epochs")).fail("dataset '{}' never ends: set 'steps'", dataset);
    ends = ends || !endless;
  }
  if (!ends)
    return node.fail("needs 'steps': {}", datasets.empty() ? fmt::format("'{}' reads no dataset", train.function)
                                                           : fmt::format("dataset '{}' never ends", datasets.front()));
  return {};
}

}  // namespace

Result<Replicas> parse_replicas(std::string_view name) {
  if (name == "each") return Replicas::kEach;
  if (name == "split") return Replicas::kSplit;
  return fail(Code::kInvalidArgument, "must be \"each\" or \"split\"");
}

Result<void> check_evaluation(const Program& program, const FunctionDef& function, std::optional<std::int64_t> steps) {
  TFD_TRY(check_evaluated(function));
  return check_ends(program, function, steps);
}

void parse_train(const Node& node, const Node& root, const Facts& facts, Program& program, Problems& problems) {
  const bool is_known = problems.check_form({}, expect_keys(node, kTrainKeys, root));
  if (!node.is_object()) return;
  TrainDef train;
  const auto take = [&](std::string_view key, auto& into, const auto& parse) {
    const auto child = node.find(key);
    if (!child) return true;
    auto value = problems.keep(*child, {}, parse(*child));
    if (value) into = std::move(*value);
    return value.has_value();
  };
  const auto positive = [](const Node& number) { return number.integer(1); };
  const auto function = node.find("function");
  const auto def = problems.keep(function.value_or(node), {}, parse_target(node, program));
  if (def) train.function = (*def)->name;
  bool has_end = take("steps", train.steps, positive);
  has_end = take("epochs", train.epochs, positive) && has_end;
  has_end = take("max_time", train.max_time, parse_time) && has_end;
  take("log_every", train.log_every, positive);
  take("gradient_norm", train.gradient_norm, [&](const Node& asks) -> Result<bool> {
    const bool is_asked = TFD_TRY(asks.boolean());
    const auto is_taken = [](const OutputBinding& one) {
      return one.kind == OutputKind::kMetric && one.name == kGradientNorm;
    };
    if (is_asked && !root.has("optimizer")) return asks.fail("needs an optimizer");
    if (is_asked && def && std::ranges::any_of((*def)->outputs, is_taken))
      return asks.fail("function '{}' has a metric of this name", (*def)->name);
    return is_asked;
  });
  take("replicas", train.replicas, [](const Node& replicas) -> Result<Replicas> {
    return TFD_TRY(parse_replicas(TFD_TRY(replicas.text())), replicas.path());
  });
  train.states_replicas = node.find("replicas").has_value();
  take("on_nonfinite", train.stops_at_nonfinite, [](const Node& rule) -> Result<bool> {
    return TFD_TRY(rule.choice({"stop", "continue"})) == "stop";
  });
  take("checkpoint", train.checkpoint,
       [&](const Node& checkpoint) { return parse_checkpoint(checkpoint, program.directory); });
  const bool has_evaluation =
      take("evaluate", train.evaluate, [&](const Node& evaluate) { return parse_evaluate(evaluate, program); });
  // Held-out rows are evaluated after every epoch, as in Keras.
  const auto evaluate = node.find("evaluate");
  if (train.evaluate && node.has("validation_split") && !evaluate->has("every"))
    train.evaluate->every_steps = train.epochs ? kEveryEpoch : 0;
  if (has_evaluation) {  // the evaluation decides which metrics exist
    if (train.checkpoint)
      take("checkpoint", train.checkpoint->keep_best,
           [&](const Node& checkpoint) { return parse_keep_best(checkpoint, train, program); });
    take("stop", train.stop, [&](const Node& stop) { return parse_stop(stop, train, program); });
  }
  if (def && has_end && is_known) problems.check(node, {}, check_end(node, train, datasets_of(**def), facts));
  program.train = std::move(train);
}

}  // namespace tfd::program
