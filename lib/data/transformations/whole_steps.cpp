// SPDX-License-Identifier: Apache-2.0
//
// Steps of a number of replicas, each of which takes an element: a pass ends with a whole step.
#include <limits>
#include <nlohmann/json.hpp>

#include "../plan/stage_kinds.hpp"
#include "transformations.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

Row without_rows(const Row& like) {
  Element element = to_element(like);
  for (tensor::Tensor& field : element) field = field.slice_rows(0, 0);
  return {to_block(std::move(element)), 0};
}

class WholeStepsStream final : public RowStream {
 public:
  WholeStepsStream(RowStreamPtr input, const WholeSteps& steps) : input_(std::move(input)), steps_(steps) {}

  Result<std::optional<Row>> next() override {
    if (at_ == std::ssize(step_)) TFD_TRY(take_step());
    if (step_.empty()) return std::optional<Row>();
    return std::move(step_[static_cast<std::size_t>(at_++)]);
  }

  Result<std::int64_t> skip(std::int64_t count) override {
    std::int64_t done = std::min(count, std::ssize(step_) - at_);
    at_ += done;
    if (next_.empty()) {
      const std::int64_t got = TFD_TRY(input_->skip((count - done) / steps_.replicas * steps_.replicas));
      const std::int64_t beside = got % steps_.replicas;
      done += beside == 0 ? got : got - beside + (steps_.drop_remainder ? 0 : steps_.replicas);
      if (beside != 0) return done;
    }
    return done + TFD_TRY(RowStream::skip(count - done));
  }

 private:
  Result<void> take_step() {
    while (std::ssize(next_) < steps_.replicas) {  // rows that an error interrupted stay: it comes again
      std::optional<Row> row = TFD_TRY(input_->next());
      if (!row) break;
      next_.push_back(std::move(*row));
    }
    step_ = std::exchange(next_, {});
    at_ = 0;
    if (step_.empty() || std::ssize(step_) == steps_.replicas) return {};
    if (steps_.drop_remainder)
      step_.clear();
    else
      step_.resize(static_cast<std::size_t>(steps_.replicas), without_rows(step_.back()));
    return {};
  }

  RowStreamPtr input_;
  const WholeSteps steps_;
  std::vector<Row> step_, next_;
  std::int64_t at_ = 0;  // in step_
};

class WholeStepsDataset final : public RowDataset {
 public:
  WholeStepsDataset(RowDatasetPtr input, const WholeSteps& steps)
      : RowDataset(steps.drop_remainder ? input->spec() : of_any_size(input->spec())),
        input_(std::move(input)),
        steps_(steps) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<WholeStepsStream>(TFD_TRY(input_->rows(order)), steps_);
  }
  std::optional<std::int64_t> cardinality() const override {
    const auto count = input_->cardinality();
    if (!count || *count == kInfinite || *count % steps_.replicas == 0) return count;
    const std::int64_t whole = *count - *count % steps_.replicas;
    const bool is_more = !steps_.drop_remainder && whole <= std::numeric_limits<std::int64_t>::max() - steps_.replicas;
    return is_more ? whole + steps_.replicas : whole;
  }

 private:
  static ElementSpec of_any_size(ElementSpec spec) {
    for (FieldSpec& field : spec) field.shape.front() = -1;
    return spec;
  }

  RowDatasetPtr input_;
  WholeSteps steps_;
};

Result<WholeSteps> read_whole_steps(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "replicas");
  JsonObject options(value, stage.path);
  constexpr std::int64_t kMostReplicas = 65536;
  WholeSteps steps{options.required_integer("replicas", 1)};
  if (steps.replicas > kMostReplicas) options.note("replicas", fmt::format("must be at most {}", kMostReplicas));
  steps.drop_remainder = options.flag("drop_remainder", false);
  TFD_TRY(options.finish());
  return steps;
}

ordered_json write_whole_steps(const WholeSteps& steps) {
  ordered_json out = {{"replicas", steps.replicas}};
  if (steps.drop_remainder) out["drop_remainder"] = true;
  return out;
}

Result<RowDatasetPtr> make_whole_steps(const WholeSteps& steps, const StageSite& site) {
  if (!steps.drop_remainder) TFD_TRY(check_batched(site));
  return std::make_shared<WholeStepsDataset>(site.input, steps);
}

}  // namespace

const StageKind<WholeSteps>& kind_of(Tag<WholeSteps>) {
  static constexpr StageKind<WholeSteps> kKind{
      .name = "whole_steps",
      .read = read_whole_steps,
      .write = write_whole_steps,
      .make = make_whole_steps,
  };
  return kKind;
}

}  // namespace tfd::data
