// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/input.hpp"

#include <algorithm>

#include "tfd/data/rows.hpp"
#include "tfd/strategy/replica_context.hpp"

namespace tfd::strategy {
namespace {

using tensor::Tensor;

/// Spec of a share, whose first dimension varies.
data::ElementSpec spec_of_share(data::ElementSpec spec) {
  for (data::FieldSpec& field : spec)
    if (!field.shape.empty()) field.shape[0] = -1;
  return spec;
}

}  // namespace

Result<std::int64_t> InputContext::get_per_replica_batch_size(std::int64_t global_batch_size) const {
  if (global_batch_size % num_replicas_in_sync == 0) return global_batch_size / num_replicas_in_sync;
  return fail(Code::kInvalidArgument, "the `global_batch_size` {} is not divisible by `num_replicas_in_sync` {}",
              global_batch_size, num_replicas_in_sync);
}

data::Element DistributedElement::on(std::size_t replica) const {
  data::Element out;
  for (const DistributedValue& field : fields) out.push_back(field.on(replica));
  return out;
}

DistributedIterator::DistributedIterator(std::vector<std::unique_ptr<data::Iterator>> iterators, data::ElementSpec spec,
                                         const DistributedSteps& steps)
    : iterators_(std::move(iterators)), spec_(std::move(spec)), steps_(steps) {}

Result<std::optional<DistributedElement>> DistributedIterator::next() {
  if (current_replica() != nullptr)
    return fail(Code::kInvalidArgument,
                "next: it gives elements of all replicas, and this is replica {}: pass them to run",
                current_replica()->replica_id_in_sync_group());
  if (has_ended_) return std::nullopt;
  auto elements = TFD_TRY(steps_.shares_rows ? share() : take_each());
  has_ended_ = elements.empty();
  if (has_ended_) return std::nullopt;
  TFD_TRY(fill_up(elements));
  DistributedElement out{spec_, {}};
  for (std::size_t field = 0; field < spec_.size(); ++field) {
    std::vector<Tensor> components;
    for (data::Element& element : elements) components.push_back(std::move(element[field]));
    out.fields.push_back(DistributedValue::per_replica(std::move(components)));
  }
  return out;
}

/// Splits the next element's rows; empty at the end; fewer shares than replicas if there are fewer rows.
Result<std::vector<data::Element>> DistributedIterator::share() {
  auto element = TFD_TRY(iterators_.front()->next());
  if (!element) return std::vector<data::Element>{};
  if (steps_.replicas == 1) return std::vector<data::Element>{std::move(*element)};
  return data::split_rows(*element, steps_.replicas);
}

/// Takes an element per replica; empty at the end. A replica whose data have ended before the others' gets an element
/// without fields.
Result<std::vector<data::Element>> DistributedIterator::take_each() {
  const auto replicas = static_cast<std::size_t>(steps_.replicas);
  const std::size_t each = replicas / iterators_.size();
  std::vector<data::Element> out;
  std::size_t ended = 0;
  for (std::size_t replica = 0; replica < replicas; ++replica) {
    auto element = iterators_[replica / each]->next();
    if (!element && iterators_.size() > 1)
      return fail(std::move(element.error()).within(fmt::format("input pipeline {}", replica / each)));
    if (!element) return fail(std::move(element.error()));
    ended += *element ? 0 : 1;
    out.push_back(*element ? *std::move(*element) : data::Element{});
  }
  if (ended == replicas || (ended > 0 && steps_.ends_with_first)) out.clear();
  return out;
}

/// Gives replicas without data an element of the same spec without rows.
Result<void> DistributedIterator::fill_up(std::vector<data::Element>& elements) const {
  elements.resize(static_cast<std::size_t>(steps_.replicas));
  const data::Element* like = nullptr;
  for (const data::Element& element : elements)
    if (like == nullptr && !element.empty()) like = &element;
  for (std::size_t replica = 0; replica < elements.size(); ++replica) {
    if (!elements[replica].empty() || like == nullptr) continue;
    data::Element none;
    for (const Tensor& field : *like) {
      if (field.shape().empty())
        return fail(Code::kInvalidArgument,
                    "the data end with elements for some of {} replicas: replica {} has none, and of a scalar there is "
                    "no empty one: batch the dataset",
                    steps_.replicas, replica);
      tensor::Shape shape = field.shape();
      shape[0] = 0;
      none.push_back(Tensor::zeros(field.dtype(), std::move(shape)));
    }
    elements[replica] = std::move(none);
  }
  return {};
}

DistributedDataset::DistributedDataset(std::vector<DatasetPtr> datasets, const DistributedSteps& steps)
    : datasets_(std::move(datasets)), steps_(steps), spec_(datasets_.front()->spec()) {
  if (steps_.shares_rows && steps_.replicas > 1) spec_ = spec_of_share(std::move(spec_));
}

Result<DistributedDataset> DistributedDataset::of_plan(const data::Plan& plan, const Make& make,
                                                       const Distribution& distribution) {
  if (distribution.replicas % distribution.workers != 0)
    return fail(Code::kInvalidArgument, "{} replicas can't be divided by {} workers: each has the same number of them",
                distribution.replicas, distribution.workers);
  const DatasetPtr whole = TFD_TRY(make(data::with_hint(plan, {})));
  DistributedSteps steps{.replicas = distribution.replicas};
  std::vector<DatasetPtr> datasets;
  for (data::Reader reader{distribution.workers, 0, distribution.replicas / distribution.workers};
       reader.worker < reader.workers; ++reader.worker) {
    auto input = TFD_TRY(data::input_of(plan, whole->spec(), reader, distribution.compat));
    steps.shares_rows = input.shares_rows;
    datasets.push_back(TFD_TRY(make(input.plan), fmt::format("input pipeline {}", reader.worker)));
    if (steps.shares_rows) break;  // all replicas read the same
  }
  steps.ends_with_first = data::loses_partial_steps(distribution.compat, data::tensorflow_cardinality(plan, *whole),
                                                    data::is_static(whole->spec()) && !distribution.between_graph);
  return DistributedDataset(std::move(datasets), steps);
}

DistributedDataset DistributedDataset::of_batches(DatasetPtr dataset, int replicas) {
  return {{std::move(dataset)}, {.replicas = replicas, .shares_rows = true}};
}

DistributedDataset DistributedDataset::of_elements(std::vector<DatasetPtr> datasets, int replicas, Compat compat) {
  const data::Dataset& first = *datasets.front();
  const bool ends = data::loses_partial_steps(compat, first.cardinality(), data::is_static(first.spec()));
  return {std::move(datasets), {.replicas = replicas, .ends_with_first = ends}};
}

Result<DistributedIterator> DistributedDataset::iterate(const data::Order& order) const {
  std::vector<std::unique_ptr<data::Iterator>> iterators;
  for (const DatasetPtr& dataset : datasets_) iterators.push_back(TFD_TRY(dataset->iterate(order)));
  return DistributedIterator(std::move(iterators), spec_, steps_);
}

}  // namespace tfd::strategy
