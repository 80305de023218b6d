// SPDX-License-Identifier: Apache-2.0
#include "early_sums.hpp"

#include <algorithm>
#include <cstring>

namespace tfd::strategy {

class EarlySums::Watch final : public function::ValueWatch {
 public:
  Watch(EarlySums& owner, std::size_t replica) : owner_(owner), replica_(replica) {}
  void computed(std::size_t index, const std::byte* data) override { owner_.computed(replica_, index, data); }

 private:
  EarlySums& owner_;
  const std::size_t replica_;
};

EarlySums::EarlySums(step::ReplicaExchange& exchange, std::int64_t step, std::vector<What> sums)
    : exchange_(exchange), step_(step), sums_(std::move(sums)), values_(sums_.size()) {
  const auto replicas = static_cast<std::size_t>(exchange_.range().count);
  for (std::size_t i = 0; i < replicas; ++i) watches_.push_back(std::make_unique<Watch>(*this, i));
  for (auto& by_replica : values_) by_replica.resize(replicas);
}

EarlySums::~EarlySums() = default;

function::ValueWatch* EarlySums::watch(std::size_t replica) { return watches_[replica].get(); }

// The change is copied, since XLA may use its memory for something else before the program ends.
void EarlySums::computed(std::size_t replica, std::size_t variable, const std::byte* data) {
  const MutexLock lock(mutex_);
  for (std::size_t i = next_; i < sums_.size(); ++i) {
    const auto part = std::ranges::find(sums_[i].parts, variable, &Part::variable);
    if (part == sums_[i].parts.end()) continue;
    auto& [tensor, shown] = values_[i][replica];
    if (!tensor.has_value()) tensor = tensor::Tensor::zeros(sums_[i].spec.dtype, sums_[i].spec.shape);
    if (part->size > 0) std::memcpy(tensor.mutable_data() + part->first, data, part->size);
    ++shown;
    return begin_ready();
  }
}

void EarlySums::begin_ready() {
  if (!weights_) weights_ = exchange_.find_weights();
  if (!weights_) return;
  const auto first = static_cast<std::size_t>(exchange_.range().first);
  for (; next_ < sums_.size(); ++next_) {
    std::vector<Value>& values = values_[next_];
    for (std::size_t i = 0; i < values.size(); ++i)
      if ((*weights_)[first + i] != step::kNoData && values[i].shown < sums_[next_].parts.size())
        return exchange_.move_on();
    Result<step::ReplicaSum> sum = sums_[next_].make(*weights_);
    if (!sum) return;
    for (Value& one : values) sum->values.push_back(std::move(one.tensor));
    exchange_.begin(step_, *std::move(sum));
  }
  exchange_.move_on();
}

}  // namespace tfd::strategy
