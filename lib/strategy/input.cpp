// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/input.hpp"

#include "tfd/data/rows.hpp"
#include "tfd/strategy/replica_context.hpp"

namespace tfd::strategy {
namespace {

using tensor::Tensor;

/// A share's first dimension varies.
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
                                         int replicas, bool shares_rows)
    : iterators_(std::move(iterators)), spec_(std::move(spec)), replicas_(replicas), shares_rows_(shares_rows) {}

Result<std::optional<DistributedElement>> DistributedIterator::next() {
  if (current_replica() != nullptr)
    return fail(Code::kInvalidArgument,
                "next: it gives elements of all replicas, and this is replica {}: pass them to run",
                current_replica()->replica_id_in_sync_group());
  auto elements = TFD_TRY(shares_rows_ ? share() : take_each());
  if (elements.empty()) return std::nullopt;
  TFD_TRY(fill_up(elements));
  DistributedElement out{spec_, {}};
  for (std::size_t field = 0; field < spec_.size(); ++field) {
    std::vector<Tensor> components;
    for (data::Element& element : elements) components.push_back(std::move(element[field]));
    out.fields.push_back(DistributedValue::per_replica(std::move(components)));
  }
  return out;
}

/// Empty at the end; fewer than there are replicas where there are fewer rows.
Result<std::vector<data::Element>> DistributedIterator::share() {
  auto element = TFD_TRY(iterators_.front()->next());
  if (!element) return std::vector<data::Element>{};
  if (replicas_ == 1) return std::vector<data::Element>{std::move(*element)};
  return data::split_rows(*element, replicas_);
}

/// Empty at the end. A replica whose data have ended, where those of others haven't, has an element without fields.
Result<std::vector<data::Element>> DistributedIterator::take_each() {
  std::vector<data::Element> out;
  bool is_end = true;
  for (int replica = 0; replica < replicas_; ++replica) {
    const std::size_t of = iterators_.size() == 1 ? 0 : static_cast<std::size_t>(replica);
    auto element = TFD_TRY(iterators_[of]->next());
    is_end = is_end && !element;
    out.push_back(element ? std::move(*element) : data::Element{});
  }
  if (is_end) out.clear();
  return out;
}

/// Replicas without data get no rows of the same kind.
Result<void> DistributedIterator::fill_up(std::vector<data::Element>& elements) const {
  elements.resize(static_cast<std::size_t>(replicas_));
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
                    replicas_, replica);
      tensor::Shape shape = field.shape();
      shape[0] = 0;
      none.push_back(Tensor::zeros(field.dtype(), std::move(shape)));
    }
    elements[replica] = std::move(none);
  }
  return {};
}

DistributedDataset::DistributedDataset(std::vector<DatasetPtr> datasets, int replicas, bool shares_rows)
    : datasets_(std::move(datasets)), replicas_(replicas), shares_rows_(shares_rows), spec_(datasets_.front()->spec()) {
  if (shares_rows_ && replicas_ > 1) spec_ = spec_of_share(std::move(spec_));
}

DistributedDataset DistributedDataset::of_batches(DatasetPtr dataset, int replicas) {
  return {{std::move(dataset)}, replicas, true};
}

DistributedDataset DistributedDataset::of_elements(std::vector<DatasetPtr> datasets, int replicas) {
  return {std::move(datasets), replicas, false};
}

Result<DistributedIterator> DistributedDataset::iterate(const data::Order& order) const {
  std::vector<std::unique_ptr<data::Iterator>> iterators;
  for (const DatasetPtr& dataset : datasets_) iterators.push_back(TFD_TRY(dataset->iterate(order)));
  return DistributedIterator(std::move(iterators), spec_, replicas_, shares_rows_);
}

}  // namespace tfd::strategy
