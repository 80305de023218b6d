// SPDX-License-Identifier: Apache-2.0
#include "tfd/program/modules.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "tfd/base/thread_annotations.hpp"

namespace tfd::program {

struct Modules::Any {
  explicit Any(hlo::Template any) : of(std::move(any)) {}

  const hlo::Template of;
  Mutex mutex;
  std::deque<hlo::Module> made TFD_GUARDED_BY(mutex);                // a deque: references stay valid
  std::map<std::int64_t, std::size_t> places TFD_GUARDED_BY(mutex);  // by batch size
};

namespace {

bool fits(const hlo::Module& module, const Modules::SpecOf& spec_of) {
  const auto& arguments = module.signature.arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const tensor::TensorSpec* const spec = spec_of(i);
    if (spec != nullptr && *spec != arguments[i].spec) return false;
  }
  return true;
}

/// Copies properties of a module that the program states, not its text.
void take_stated(const hlo::Module& from, hlo::Module& to) {
  to.platforms = from.platforms;
  to.logical_device = from.logical_device;
  for (std::size_t i = 0; i < to.signature.arguments.size(); ++i)
    to.signature.arguments[i].sharding = from.signature.arguments[i].sharding;
  for (std::size_t i = 0; i < to.signature.results.size(); ++i)
    to.signature.results[i].sharding = from.signature.results[i].sharding;
}

}  // namespace

Modules::Modules(hlo::Template any) : stated_(any.examples()), any_(std::make_shared<Any>(std::move(any))) {}

Result<void> Modules::change(const std::function<Result<void>(hlo::Module&)>& change_one) {
  for (hlo::Module& module : stated_) TFD_TRY(change_one(module));
  if (!any_) return {};
  const MutexLock lock(any_->mutex);
  for (hlo::Module& module : any_->made) TFD_TRY(change_one(module));
  return {};
}

const hlo::Template* Modules::any_size() const { return any_ ? &any_->of : nullptr; }

const hlo::Module& Modules::called(std::size_t i) const {
  if (!any_) return stated_[i];
  const MutexLock lock(any_->mutex);
  return any_->made[i];
}

std::size_t Modules::called_size() const {
  if (!any_) return stated_.size();
  const MutexLock lock(any_->mutex);
  return any_->made.size();
}

std::vector<const hlo::Module*> Modules::expected() const {
  std::vector<const hlo::Module*> out;
  for (std::size_t i = 0; i < called_size(); ++i) out.push_back(&called(i));
  if (out.empty()) out.push_back(&front());
  return out;
}

Result<std::optional<std::size_t>> Modules::find(const SpecOf& spec_of) const {
  if (!any_) {
    const auto found = std::ranges::find_if(stated_, [&](const hlo::Module& one) { return fits(one, spec_of); });
    if (found == stated_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - stated_.begin());
  }
  const auto shape_of = [&](std::size_t i) {
    const tensor::TensorSpec* const spec = spec_of(i);
    return spec == nullptr ? nullptr : &spec->shape;
  };
  const std::int64_t size = any_->of.find_size(shape_of).value_or(any_->of.size());
  const MutexLock lock(any_->mutex);
  if (const auto place = any_->places.find(size); place != any_->places.end())
    return fits(any_->made[place->second], spec_of) ? std::optional(place->second) : std::nullopt;
  hlo::Module module = TFD_TRY(any_->of.expand(size));
  if (!fits(module, spec_of)) return std::nullopt;
  take_stated(stated_.front(), module);
  any_->made.push_back(std::move(module));
  return any_->places[size] = any_->made.size() - 1;
}

bool Modules::may_take(std::size_t i, const tensor::TensorSpec& spec) const {
  const auto takes = [&](const hlo::Module& module) { return module.signature.arguments[i].spec == spec; };
  if (!any_) return std::ranges::any_of(stated_, takes);
  const tensor::TensorSpec& one = stated_[0].signature.arguments[i].spec;
  const tensor::Shape& other = stated_[1].signature.arguments[i].spec.shape;
  if (one.dtype != spec.dtype || one.shape.size() != spec.shape.size()) return false;
  for (std::size_t d = 0; d < spec.shape.size(); ++d)
    if (one.shape[d] == other[d] && spec.shape[d] != one.shape[d]) return false;
  return true;
}

}  // namespace tfd::program
