// SPDX-License-Identifier: Apache-2.0
//
// Changes of a parameter server's variables: closures' updates, assignments, and updates that wait for the norm of
// variables elsewhere.
#include "ps_service.hpp"

namespace tfd::task {

// An update may copy a value that is in use, so it counts as large as the variable; one of rows, as large as these.
bool PsService::is_small(const std::vector<std::size_t>& targets, const std::vector<variable::Update>& updates) const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (i >= updates.size() || !variable::updates_rows(updates[i].kind))
      bytes += served_->store().value_bytes(targets[i]);
  for (const variable::Update& update : updates) {
    if (variable::is_gradient(update.kind) && has_modules_) return false;
    if (update.value.has_value()) bytes += update.value.byte_size();
  }
  return bytes <= kSmallBytes;
}

/// Whether updates of rows of these variables, whose queues are empty, touch nothing but these rows.
bool PsService::are_rows_alone(const std::vector<std::size_t>& targets,
                               const std::vector<variable::Update>& updates) const {
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (variable::updates_rows(updates[i].kind) && served_->store().value_bytes(targets[i]) > kSmallBytes &&
        !served_->store().changes_rows_alone(targets[i], updates[i].kind))
      return false;
  return true;
}

namespace {

using Served = std::shared_ptr<VariableQueues>;
using Done = std::function<Result<transport::Message>(const Error* error)>;
using DueUpdates = std::shared_ptr<std::vector<variable::DueUpdate>>;  // shared with functions on other threads

/// Callback that sends this answer if nothing failed.
Done answered(transport::Message answer) {
  return [answer = std::move(answer)](const Error* error) -> Result<transport::Message> {
    if (error != nullptr) return fail(Error(*error));
    return answer;
  };
}

/// Makes those of these updates that are still due (the others were made before), then answers. The variables exist.
void start_due(const Served& served, const std::vector<variable::DueUpdate>& updates, transport::Message answer,
               transport::Responder responder) {
  VariableQueues::Request change{.changes = true, .done = {}, .responder = std::move(responder)};
  std::vector<double> sums;
  std::size_t bytes = 0;
  for (const variable::DueUpdate& one : updates) {
    const auto target = served->store().admit(one);
    if (!target) continue;
    change.targets.push_back(*target);
    sums.push_back(one.square_sum);
    bytes += served->store().value_bytes(*target);
  }
  change.is_small = bytes <= kSmallBytes;
  change.at = [served, sums = std::move(sums), targets = change.targets](std::size_t part) {
    return served->store().perform_due(targets[part], sums[part]);
  };
  change.done = answered(std::move(answer));
  served->start(std::move(change));
}

}  // namespace

Result<void> PsService::find_due(const transport::Message& request, transport::Responder& responder) {
  variable::VariableStore& store = served_->store();
  std::vector<std::size_t> asked;
  for (const std::string& name : TFD_TRY(decode_names(request))) asked.push_back(TFD_TRY(store.find(name)));
  if (asked.empty()) asked = served_->all();
  const DueUpdates found = std::make_shared<std::vector<variable::DueUpdate>>();
  VariableQueues::Request look{.done = {}, .responder = std::move(responder)};
  std::vector<std::size_t> at;  // in `found`
  for (const std::size_t variable : asked) {
    auto one = store.find_due(variable);
    if (!one) continue;
    if (one->is_due) {
      look.targets.push_back(variable);
      at.push_back(found->size());
    }
    found->push_back(std::move(*one));
  }
  look.is_small = is_small(look.targets, {});
  look.at = [served = served_, found, at, targets = look.targets](std::size_t part) -> Result<void> {
    (*found)[at[part]].square_sum = served->store().due_square_sum(targets[part]);
    return {};
  };
  look.done = [found](const Error* error) -> Result<transport::Message> {
    if (error != nullptr) return fail(Error(*error));
    return encode_due(Kind::kDue, *found);
  };
  served_->start(std::move(look));
  return {};
}

Result<void> PsService::make_due(const transport::Message& request, transport::Responder& responder) {
  const auto updates = TFD_TRY(decode_due(request));
  for (const variable::DueUpdate& one : updates) TFD_TRY(served_->store().find(one.variable));
  start_due(served_, updates, encode_empty(Kind::kMakeDue), std::move(responder));
  return {};
}

Result<void> PsService::update(const transport::Message& request, transport::Responder& responder) {
  UpdateRequest update = TFD_TRY(decode_update(request));
  ++updates_;
  updated_ = Clock::now();
  if (update.is_fence) {
    responder.reply(encode_flag(Kind::kUpdate, served_->store().fence(update.sequence)));
    if (staged_.empty()) return {};
    staged_.drop(update.sequence);
    decided();
    return {};
  }
  return apply(update, responder).map([](bool) {});
}

Result<bool> PsService::apply(UpdateRequest& update, transport::Responder& responder) {
  auto admission = TFD_TRY(served_->store().admit(update.sequence, update.updates, update.client));
  if (admission.is_busy) {
    responder.reply(encode(UpdateAnswer{.is_busy = true, .is_due = true}));
    return false;
  }
  const bool makes_due = update.is_alone && admission.is_new && !admission.due.empty();
  const DueUpdates due = makes_due ? std::make_shared<std::vector<variable::DueUpdate>>() : nullptr;
  if (makes_due)
    for (const std::size_t one : admission.due) due->push_back(*served_->store().find_due(one));
  const UpdateAnswer answer{.is_new = admission.is_new, .is_due = !makes_due && !admission.due.empty()};
  VariableQueues::Request change{.done = {}, .responder = std::move(responder)};
  change.targets = std::move(admission.targets);
  change.is_small = !admission.is_new || is_small(change.targets, update.updates);
  change.changes = admission.is_new;
  const auto updates = std::make_shared<std::vector<variable::Update>>(std::move(update.updates));
  if (admission.is_new) {
    change.is_fast = [this, updates, targets = change.targets] { return are_rows_alone(targets, *updates); };
    change.at = [served = served_, updates, due, of_due = std::move(admission.due),
                 targets = change.targets](std::size_t part) -> Result<void> {
      {
        const variable::Update one = std::move((*updates)[part]);  // its memory ends here
        TFD_TRY(served->store().perform(targets[part], one));
      }
      for (std::size_t i = 0; due != nullptr && i < of_due.size(); ++i)
        if (of_due[i] == targets[part]) (*due)[i].square_sum = served->store().due_square_sum(targets[part]);
      return {};
    };
  }
  // A repeated update is answered after the first one, with its result.
  change.done = [served = served_, client = update.client, sequence = update.sequence,
                 answer](const Error* error) -> Result<transport::Message> {
    if (error != nullptr) served->failed().add(client, sequence, *error);
    if (const auto failed = served->failed().find(client, sequence)) return fail(Error(*failed));
    return encode(answer);
  };
  if (makes_due)
    change.then = [this, served = served_, due, done = change.done](const Error* error, transport::Responder to) {
      auto message = done(error);
      if (!message) return to.reply(std::move(message));
      const auto later = std::make_shared<transport::Responder>(std::move(to));  // shared with the posted action
      post_([served, due, message = std::move(*message), later] {
        start_due(served, variable::join_norms(*due).updates, message, std::move(*later));
      });
    };
  served_->start(std::move(change));
  return true;
}

Result<void> PsService::assign(const transport::Message& request, transport::Responder& responder) {
  std::vector<variable::Update> updates;
  for (auto& [name, value] : TFD_TRY(decode_named(request)))
    updates.push_back({variable::UpdateKind::kAssign, std::move(name), std::move(value)});
  return change(Kind::kAssign, std::move(updates), responder);
}

Result<void> PsService::assign_rows(const transport::Message& request, transport::Responder& responder) {
  UpdateRequest rows = TFD_TRY(decode_update(request));
  for (const variable::Update& update : rows.updates)
    if (update.kind != variable::UpdateKind::kAssignRows)
      return fail(Code::kInvalidArgument, "malformed assignment of rows");
  return change(Kind::kAssignRows, std::move(rows.updates), responder);
}

/// Changes variables outside of closures.
Result<void> PsService::change(Kind kind, std::vector<variable::Update> updates, transport::Responder& responder) {
  std::vector<std::size_t> targets;
  for (const variable::Update& update : updates) {
    auto target = served_->store().admit(update);
    if (!target && kind == Kind::kAssignRows) return fail(std::move(target).error().within(update.variable));
    targets.push_back(TFD_TRY(target));
  }
  const bool is_quick = is_small(targets, updates);
  const auto shared = std::make_shared<std::vector<variable::Update>>(std::move(updates));
  VariableQueues::Request request{
      .targets = targets, .is_small = is_quick, .changes = true, .done = {}, .responder = std::move(responder)};
  request.is_fast = [this, shared, targets] { return are_rows_alone(targets, *shared); };
  request.at = [served = served_, shared, targets](std::size_t part) -> Result<void> {
    const variable::Update one = std::move((*shared)[part]);
    return served->store().perform(targets[part], one);
  };
  request.done = answered(encode_empty(kind));
  served_->start(std::move(request));
  return {};
}

Result<void> PsService::settle(const transport::Message& request, transport::Responder& responder) {
  const Settle settle = TFD_TRY(decode_settle(request));
  served_->store().settle(settle.below, settle.unused);
  staged_.settle(settle.below);
  if (!undecided_.empty()) decided();
  served_->start({.targets = served_->all(),
                  .is_small = true,
                  .done = [](const Error*) -> Result<transport::Message> { return encode_empty(Kind::kSettle); },
                  .responder = std::move(responder)});
  return {};
}

void PsService::use_averages(transport::Responder responder) {
  VariableQueues::Request request{
      .targets = served_->all(), .changes = true, .done = {}, .responder = std::move(responder)};
  request.at = [served = served_](std::size_t part) -> Result<void> {
    served->store().use_average(part);
    return {};
  };
  request.done = answered(encode_empty(Kind::kUseAverages));
  served_->start(std::move(request));
}

}  // namespace tfd::task
