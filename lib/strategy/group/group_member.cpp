// SPDX-License-Identifier: Apache-2.0
#include "group_member.hpp"

#include <algorithm>
#include <climits>
#include <cstring>

#include <nlohmann/json.hpp>

#include "tfd/base/counted.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/digest.hpp"

namespace tfd::strategy {
namespace {

using Json = nlohmann::ordered_json;

/// Metrics as bytes: name, how it is reduced, value, weight.
std::string format_metrics(const std::vector<step::Metric>& metrics) {
  std::string out;
  const auto put = [&](const auto& value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (const step::Metric& one : metrics) {
    put(static_cast<std::uint32_t>(one.name.size()));
    out += one.name;
    put(static_cast<std::uint8_t>(one.reduce));
    put(static_cast<std::uint8_t>(one.part));
    put(one.value);
    put(one.weight);
  }
  return out;
}

Result<std::vector<step::Metric>> parse_metrics(std::string_view text) {
  std::vector<step::Metric> out;
  const auto malformed = [] { return fail(Code::kProtocolMismatch, "malformed metrics"); };
  const auto take = [&](auto& value) {
    if (text.size() < sizeof value) return false;
    std::memcpy(&value, text.data(), sizeof value);
    text.remove_prefix(sizeof value);
    return true;
  };
  while (!text.empty()) {
    std::uint32_t size = 0;
    if (!take(size) || size > text.size()) return malformed();
    step::Metric one{.name = std::string(text.substr(0, size))};
    text.remove_prefix(size);
    std::uint8_t reduce = 0, part = 0;
    if (!take(reduce) || !take(part) || !take(one.value) || !take(one.weight)) return malformed();
    one.reduce = static_cast<program::Reduce>(reduce);
    one.part = static_cast<program::Part>(part);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

Result<void> GroupMember::join() {
  task::GroupOptions with = options_.group;
  with.interruption = interruption_.get_token();
  with.devices = options_.device.replicas;
  with.describe = [this](task::TaskStatus& status) {
    status.program = program_.path;
    status.doing = fmt::format("step {}", step_now());
  };
  group_ = TFD_TRY(task::Group::form(std::move(with), Deadline::after(options_.join)));
  for (const collective::Member& one : group_->communicator().members().all) names_.push_back(one.name);
  return {};
}

Result<void> GroupMember::share(const variable::Checkpoint* from) {
  collective::Communicator& communicator = group_->communicator();
  const std::string own = from != nullptr ? std::to_string(from->replicas) : "0";
  const auto told = TFD_TRY(
      communicator.all_gather("the checkpoint's replicas", round_++, own, Deadline::after(options_.step_timeout)));
  const auto known = static_cast<int>(TFD_TRY(parse_integer(told.front(), 0, INT_MAX), names_.front()));
  int replicas = options_.replicas;
  if (replicas != 0 && known != 0 && replicas != known && is_chief())
    options_.group.log.warning("--replicas {}: the checkpoint is of a training with {}, whose numbers this one leaves",
                               replicas, known);
  if (replicas == 0) replicas = known;
  if (replicas == 0)
    for (const int devices : group_->devices()) replicas += devices;
  const auto members = static_cast<int>(names_.size());
  if (replicas < members)
    return fail(Code::kInvalidArgument, "{}: there are {} processes, each of which needs a replica",
                options_.replicas != 0 ? fmt::format("--replicas {}", replicas)
                                       : fmt::format("the checkpoint's training has {}",
                                                     counted(static_cast<std::uint64_t>(replicas), "replica")),
                members);
  exchange_ = std::make_unique<GroupExchange>(communicator, share_replicas(replicas, members), options_.step_timeout);
  return {};
}

Result<void> GroupMember::begin(const train::TrainStart& from) {
  TFD_TRY(join());
  TFD_TRY(share(from.state));
  if (options_.device.on_begin) options_.device.on_begin();
  const step::ReplicaRange& own = exchange_->range();
  const TrainerPlace place{own, std::min(options_.device.replicas, own.count), exchange_.get()};
  std::string text;
  GroupExchange::Named state;
  if (is_chief()) {
    TFD_TRY(trainer_.open(place, from));
    auto checkpoint = TFD_TRY(trainer_.export_state());
    text = Json{{"step", from.step}, {"data", checkpoint.data_position}}.dump();
    state = std::move(checkpoint.state);
  }
  state = TFD_TRY(exchange_->send_all("the chief's state", round_++, std::move(state), text));
  if (is_chief()) return {};
  const Json told = Json::parse(text, nullptr, false);
  if (!told.is_object() || !told.contains("step") || !told["step"].is_number_integer() || !told.contains("data") ||
      !told["data"].is_string())
    return fail(Code::kProtocolMismatch, "a malformed state from {}", names_.front());
  variable::Checkpoint checkpoint{
      .step = told["step"].get<std::int64_t>(), .state = std::move(state), .path = names_.front()};
  TFD_TRY(trainer_.open(place, {.state = &checkpoint, .step = checkpoint.step}));
  const auto position = TFD_TRY(step::parse_data_position(told["data"].get<std::string>()));
  if (!trainer_.runner().continue_data(position))
    return fail(Code::kInvalidArgument, "the data of {} aren't those of {}",
                names_[static_cast<std::size_t>(options_.group.rank)], names_.front());
  step_now_ = checkpoint.step;
  return {};
}

Result<void> GroupMember::announce(Notice notice) {
  notice.wants_stop = is_interrupted();
  if (notice.act != GroupAct::kStep) return exchange_->announce(round_++, notice);
  inputs_.emplace(trainer_.take_inputs());
  if (*inputs_) {
    notice.weights.assign(static_cast<std::size_t>(replicas().count), step::kNoData);
    for (const auto& one : (*inputs_)->step.replicas)
      notice.weights[static_cast<std::size_t>(one.replica)] = one.examples;
  } else if (const Error& error = inputs_->error(); error.code == Code::kCancelled) {
    notice.is_cancelled = true;
  } else if (error.code != Code::kOutOfRange) {
    notice.error = error;
  }
  return exchange_->announce(round_++, notice);
}

Result<Notices> GroupMember::notices() {
  if (inputs_ && *inputs_) computed_.emplace(trainer_.compute(**inputs_));
  Notices all = TFD_TRY(exchange_->notices());
  if (all.chief().act != GroupAct::kStep) return all;  // a step that isn't made can't fail
  if (auto error = all.first_error(group_->communicator().members())) return fail(*std::move(error));
  return all;
}

void GroupMember::keep_inputs() {
  if (inputs_ && *inputs_) trainer_.give_back(*std::move(*inputs_));
  inputs_.reset();
  computed_.reset();
}

Result<bool> GroupMember::make_step(const Notices& notices) {
  exchange_->begin_step(notices);
  const auto weights = TFD_TRY(exchange_->weights(0, {}));
  if (std::ranges::all_of(weights, [](double weight) { return weight == step::kNoData; })) return false;
  const DeviceSteps::Inputs inputs = *inputs_ ? *std::move(*inputs_) : DeviceSteps::Inputs();
  inputs_.reset();
  auto computed = computed_ ? *std::exchange(computed_, std::nullopt) : trainer_.compute(inputs);
  auto made = trainer_.make_step(inputs, std::move(computed));
  if (!made) {
    fail_all(made.error());
    return fail(std::move(made).error());
  }
  step_now_ = trainer_.step();
  metrics_.add(TFD_TRY(trainer_.metrics_of(*made)));
  return true;
}

Result<std::vector<step::Metric>> GroupMember::gather(std::string_view what, const std::vector<step::Metric>& own) {
  step::MetricAccumulator sum;
  for (const std::string& text : TFD_TRY(exchange_->gather(what, round_++, format_metrics(own))))
    sum.add(TFD_TRY(parse_metrics(text)));
  return sum.parts();
}

Result<std::vector<step::Metric>> GroupMember::gather_metrics() {
  auto out = TFD_TRY(gather("metrics", metrics_.parts()));
  metrics_.clear();
  return out;
}

// A member that is interrupted, or fails, says so in place of its metrics, so that the others don't wait for it.
Result<std::vector<step::Metric>> GroupMember::evaluate() {
  auto own =
      trainer_.evaluate(nullptr, {.pipelines = static_cast<std::int64_t>(names_.size()), .id = options_.group.rank});
  const std::string state = own ? "" : own.error().code == Code::kCancelled ? "cancelled" : own.error().message;
  const auto states = TFD_TRY(exchange_->gather("evaluation", round_++, state));
  for (std::size_t rank = 0; rank < states.size(); ++rank) {
    if (states[rank].empty()) continue;
    if (!own && static_cast<int>(rank) == options_.group.rank) return fail(std::move(own).error());
    if (states[rank] == "cancelled") return fail(Code::kCancelled, "{} was interrupted", names_[rank]);
    return fail(Error{Code::kInvalidArgument, fmt::format("{}: {}", names_[rank], states[rank]), names_[rank]});
  }
  return gather("metrics of the evaluation", *own);
}

Result<void> GroupMember::load(task::NamedState state) {
  std::string text;
  state = TFD_TRY(exchange_->send_all("the chief's state", round_++, std::move(state), text));
  return trainer_.import_state(state);
}

Result<void> GroupMember::verify() {
  const std::int64_t step = trainer_.step();
  const auto states = TFD_TRY(trainer_.steps().states());
  std::vector<std::uint64_t> own;
  for (const variable::VariableState& one : states) {
    std::uint64_t digest = tensor::digest(one.value);
    for (const auto& [name, slot] : one.slots) digest = tensor::digest(slot, digest);
    own.push_back(digest);
  }
  const std::string_view bytes(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(std::uint64_t));
  const auto all = TFD_TRY(exchange_->gather("the variables' digests", round_++, bytes));
  const auto found = find_difference(all);
  if (!found) return {};
  const std::string& variable = states[found->variable].name;
  std::vector<std::string> odd;
  for (const int rank : found->ranks) odd.push_back(names_[static_cast<std::size_t>(rank)]);
  // Of two that differ nobody knows which one is right.
  const std::string whose = odd.size() * 2 < names_.size()
                                ? fmt::format("'{}' of {} isn't what the others have", variable, fmt::join(odd, ", "))
                                : fmt::format("'{}' isn't the same in {}", variable, fmt::join(names_, ", "));
  return fail(
      Error{Code::kInternal,
            fmt::format("after step {}, {}: a memory or processor is at fault, or the processors differ in kind; "
                        "the newest checkpoint is from before",
                        step, whose),
            odd.front()});
}

void GroupMember::interrupted() {
  if (!is_interrupted()) return;
  interruption_.request_stop();
  trainer_.stop_data();
}

void GroupMember::fail_all(const Error& error) {
  if (!group_) return;
  Error told = error;
  if (told.task.empty()) {
    told.task = options_.group.members[static_cast<std::size_t>(options_.group.rank)].first;
    told.message = fmt::format("{}: {}", told.task, told.message);
  }
  group_->communicator().cancel(std::move(told));
}

}  // namespace tfd::strategy
