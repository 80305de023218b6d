// SPDX-License-Identifier: Apache-2.0
#include "protocol.hpp"

#include <cstring>

#include "cbor.hpp"

namespace tfd::runtime {
namespace {

using nlohmann::json;
using transport::Message;

tensor::Tensor bytes_tensor(std::string_view bytes) {
  auto out = tensor::Tensor::uninitialized(tensor::DType::kU8, {static_cast<std::int64_t>(bytes.size())});
  std::memcpy(out.mutable_data(), bytes.data(), bytes.size());
  return out;
}

std::string text_of(const tensor::Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data()), tensor.byte_size()};
}

/// An argument is the position of its tensor, the id of an iterator, or the name of a variable in a list.
json argument_to_json(const ArgumentValue& value, std::vector<tensor::Tensor>& tensors) {
  if (const auto* iterator = std::get_if<IteratorRef>(&value)) return iterator->id;
  if (const auto* variable = std::get_if<VariableRef>(&value)) return json::array({variable->name});
  tensors.push_back(std::get<tensor::Tensor>(value));
  return tensors.size() - 1;
}

ArgumentValue argument_from_json(const json& value, const std::vector<tensor::Tensor>& tensors) {
  if (value.is_string()) return IteratorRef{value.get<std::string>()};
  if (value.is_array()) return VariableRef{value.at(0).get<std::string>()};
  const auto position = value.get<std::size_t>();
  if (position >= tensors.size()) throw json::other_error::create(500, "tensor missing", nullptr);
  return tensors[position];
}

json places_to_json(const Placement& placement) {
  json out = json::array();
  for (const auto& [name, placed] : placement.placed)
    out.push_back(json::array({name, placed.sharding.shape(), placed.ps}));
  return out;
}

Result<std::map<std::string, variable::PlacedVariable>> places_from_json(const json& places, std::size_t ps_count) {
  std::map<std::string, variable::PlacedVariable> out;
  for (const json& place : places) {
    auto name = place.at(0).get<std::string>();
    auto ps = place.at(2).get<std::vector<int>>();
    for (const int one : ps)
      if (one < 0 || static_cast<std::size_t>(one) >= ps_count)
        return fail(Code::kInvalidArgument, "a shard is on parameter server {} of {}", one, ps_count);
    auto sharding =
        TFD_TRY(variable::Sharding::make(place.at(1).get<tensor::Shape>(), static_cast<std::int64_t>(ps.size())), name);
    out.emplace(name, variable::PlacedVariable{name, std::move(sharding), std::move(ps)});
  }
  return out;
}

}  // namespace

Message encode(const LoadProgram& load) {
  std::vector<tensor::Tensor> contents;
  json names = json::array();
  for (const auto& [name, content] : load.files) {
    names.push_back(name);
    contents.push_back(bytes_tensor(content));
  }
  return make_message(Kind::kLoadProgram,
                      {load.epoch, load.path, load.directory, load.document, names, load.placement.ps,
                       load.placement.variables, places_to_json(load.placement), load.shuffle_stream},
                      std::move(contents));
}

Result<LoadProgram> decode_load_program(const Message& message) {
  return decode<LoadProgram>(message, "load program", [&](const json& meta) -> Result<LoadProgram> {
    LoadProgram out;
    meta.at(0).get_to(out.epoch);
    meta.at(1).get_to(out.path);
    meta.at(2).get_to(out.directory);
    meta.at(3).get_to(out.document);
    const json& names = meta.at(4);
    if (names.size() != message.tensors.size()) return fail(Code::kInvalidArgument, "malformed load program message");
    for (std::size_t i = 0; i < names.size(); ++i) out.files[names[i].get<std::string>()] = text_of(message.tensors[i]);
    meta.at(5).get_to(out.placement.ps);
    meta.at(6).get_to(out.placement.variables);
    out.placement.placed = TFD_TRY(places_from_json(meta.at(7), out.placement.ps.size()));
    if (meta.size() > 8) meta.at(8).get_to(out.shuffle_stream);
    return out;
  });
}

Result<std::uint64_t> decode_load_epoch(const Message& message) {
  return decode<std::uint64_t>(message, "load program", [](const json& meta) -> Result<std::uint64_t> {
    return meta.at(0).get<std::uint64_t>();
  });
}

Message encode(const CreateIterator& create) {
  return make_message(Kind::kCreateIterator, {create.id, create.dataset, create.shuffle_stream});
}

Result<CreateIterator> decode_create_iterator(const Message& message) {
  return decode<CreateIterator>(message, "create iterator", [](const json& meta) -> Result<CreateIterator> {
    CreateIterator out{meta.at(0).get<std::string>(), meta.at(1).get<std::string>()};
    if (meta.size() > 2) meta.at(2).get_to(out.shuffle_stream);
    return out;
  });
}

Message encode(const ClosureCall& call) {
  std::vector<tensor::Tensor> tensors;
  json args = json::array();
  for (const ArgumentValue& value : call.args) args.push_back(argument_to_json(value, tensors));
  json kwargs = json::array();
  for (const auto& [name, value] : call.kwargs) kwargs.push_back({name, argument_to_json(value, tensors)});
  return make_message(
      Kind::kRun,
      {call.epoch, call.sequence, call.attempt, call.function, call.step, std::move(args), std::move(kwargs),
       call.replicas, call.closure ? json(*call.closure) : json(nullptr), call.most_elements},
      std::move(tensors));
}

Result<ClosureCall> decode_call(const Message& message) {
  return decode<ClosureCall>(message, "run", [&](const json& meta) -> Result<ClosureCall> {
    ClosureCall out;
    meta.at(0).get_to(out.epoch);
    meta.at(1).get_to(out.sequence);
    meta.at(2).get_to(out.attempt);
    meta.at(3).get_to(out.function);
    meta.at(4).get_to(out.step);
    for (const json& value : meta.at(5)) out.args.push_back(argument_from_json(value, message.tensors));
    for (const json& pair : meta.at(6))
      out.kwargs.emplace_back(pair.at(0).get<std::string>(), argument_from_json(pair.at(1), message.tensors));
    if (meta.size() < 8) return out;  // of an earlier tfd
    meta.at(7).get_to(out.replicas);
    if (out.replicas > program::Replicas::kSplit) return fail(Code::kInvalidArgument, "malformed run message");
    if (meta.size() > 8 && !meta.at(8).is_null()) out.closure = meta.at(8).get<std::uint64_t>();
    if (meta.size() > 9) meta.at(9).get_to(out.most_elements);
    return out;
  });
}

Message encode(const ClosureOutcome& outcome) {
  json metrics = json::array();
  for (const Metric& metric : outcome.metrics)
    metrics.push_back({metric.name, metric.reduce, metric.part, metric.value, metric.weight});
  return make_message(Kind::kRun, metrics, outcome.results);
}

Result<ClosureOutcome> decode_outcome(const Message& message) {
  if (message.kind == static_cast<std::uint16_t>(Kind::kDrop)) {
    ClosureOutcome dropped;
    dropped.dropped = true;
    return dropped;
  }
  return decode<ClosureOutcome>(message, "outcome", [&](const json& meta) -> Result<ClosureOutcome> {
    ClosureOutcome out{message.tensors, {}};
    for (const json& metric : meta)
      out.metrics.push_back({metric.at(0).get<std::string>(), metric.at(1).get<program::Reduce>(),
                             metric.at(2).get<program::Part>(), metric.at(3).get<double>(),
                             metric.at(4).get<double>()});
    return out;
  });
}

Message encode(const Evaluate& evaluate) {
  return make_message(Kind::kEvaluate,
                      {evaluate.function, evaluate.count, evaluate.index,
                       evaluate.steps ? json(*evaluate.steps) : json(nullptr), evaluate.epoch, evaluate.seed});
}

Result<Evaluate> decode_evaluate(const Message& message) {
  return decode<Evaluate>(message, "evaluate", [](const json& meta) -> Result<Evaluate> {
    Evaluate out{meta.at(0).get<std::string>(),
                 meta.at(1).get<std::int64_t>(),
                 meta.at(2).get<std::int64_t>(),
                 {},
                 meta.at(4).get<std::uint64_t>()};
    if (!meta.at(3).is_null()) out.steps = meta.at(3).get<std::int64_t>();
    if (meta.size() > 5) meta.at(5).get_to(out.seed);
    if (out.count < 1 || out.index < 0 || out.index >= out.count)
      return fail(Code::kInvalidArgument, "there is no part {} of {}", out.index, out.count);
    return out;
  });
}

Message encode(const DropWaiting& drop) {
  return make_message(Kind::kDrop, {drop.epoch, drop.updates_below, drop.others_below});
}

Result<DropWaiting> decode_drop(const Message& message) {
  return decode<DropWaiting>(message, "drop", [](const json& meta) -> Result<DropWaiting> {
    return DropWaiting{meta.at(0).get<std::uint64_t>(), meta.at(1).get<std::uint64_t>(),
                       meta.at(2).get<std::uint64_t>()};
  });
}

Message encode(const GiveBack& give_back) { return make_message(Kind::kGiveBack, {give_back.epoch, give_back.count}); }

Result<GiveBack> decode_give_back(const Message& message) {
  return decode<GiveBack>(message, "give back", [](const json& meta) -> Result<GiveBack> {
    return GiveBack{meta.at(0).get<std::uint64_t>(), meta.at(1).get<std::uint64_t>()};
  });
}

Message encode(const Settle& settle) { return make_message(Kind::kSettle, {settle.epoch, settle.below}); }

Result<Settle> decode_settle(const Message& message) {
  return decode<Settle>(message, "settle", [](const json& meta) -> Result<Settle> {
    return Settle{meta.at(0).get<std::uint64_t>(), meta.at(1).get<std::uint64_t>()};
  });
}

Message encode(const UpdateRequest& request, Kind kind) {
  std::vector<tensor::Tensor> tensors;
  json updates = json::array();
  for (const variable::Update& update : request.updates) {
    updates.push_back({update.kind, update.variable});
    tensors.push_back(update.value);
    if (variable::updates_rows(update.kind)) tensors.push_back(update.indices);
  }
  json meta = {request.epoch, request.sequence, std::move(updates)};
  if (request.client != 0) meta.push_back(request.client);
  return make_message(kind, meta, std::move(tensors));
}

Result<UpdateRequest> decode_update(const Message& message) {
  return decode<UpdateRequest>(message, "update", [&](const json& meta) -> Result<UpdateRequest> {
    UpdateRequest out{meta.at(0).get<std::uint64_t>(), meta.at(1).get<std::uint64_t>(), {}};
    if (meta.size() > 3) meta.at(3).get_to(out.client);
    const json& updates = meta.at(2);
    auto tensor = message.tensors.begin();  // one each, of rows two
    for (const json& one : updates) {
      const auto number = one.at(0).get<std::uint8_t>();
      const auto kind = static_cast<variable::UpdateKind>(number);
      const std::ptrdiff_t count = variable::updates_rows(kind) ? 2 : 1;
      if (kind > variable::UpdateKind::kNonfiniteScale || message.tensors.end() - tensor < count)
        return fail(Code::kInvalidArgument, "malformed update message");
      out.updates.push_back({kind, one.at(1).get<std::string>(), *tensor});
      if (count == 2) out.updates.back().indices = tensor[1];
      tensor += count;
    }
    if (tensor != message.tensors.end()) return fail(Code::kInvalidArgument, "malformed update message");
    return out;
  });
}

Message encode(const TaskStatus& status) {
  return make_message(Kind::kStatus, {status.task.job,      status.task.index,
                                      status.incarnation,   status.uptime_ms,
                                      status.closures_done, status.closures_waiting,
                                      status.variables,     status.variable_bytes,
                                      status.epoch,         status.host,
                                      status.pid,           status.memory_bytes,
                                      status.doing,         status.doing_ms,
                                      status.waits_for,     status.devices,
                                      status.program,       status.replicas,
                                      status.is_abandoned,  status.idle_ms});
}

Result<TaskStatus> decode_status(const Message& message) {
  return decode<TaskStatus>(message, "status", [](const json& meta) -> Result<TaskStatus> {
    TaskStatus out;
    meta.at(0).get_to(out.task.job);
    meta.at(1).get_to(out.task.index);
    meta.at(2).get_to(out.incarnation);
    meta.at(3).get_to(out.uptime_ms);
    meta.at(4).get_to(out.closures_done);
    meta.at(5).get_to(out.closures_waiting);
    meta.at(6).get_to(out.variables);
    meta.at(7).get_to(out.variable_bytes);
    meta.at(8).get_to(out.epoch);
    if (meta.size() < 17) return out;  // a task of an earlier tfd
    meta.at(9).get_to(out.host);
    meta.at(10).get_to(out.pid);
    meta.at(11).get_to(out.memory_bytes);
    meta.at(12).get_to(out.doing);
    meta.at(13).get_to(out.doing_ms);
    meta.at(14).get_to(out.waits_for);
    meta.at(15).get_to(out.devices);
    meta.at(16).get_to(out.program);
    if (meta.size() > 17) meta.at(17).get_to(out.replicas);
    if (meta.size() > 18) meta.at(18).get_to(out.is_abandoned);
    if (meta.size() > 19) meta.at(19).get_to(out.idle_ms);
    return out;
  });
}

Message encode_names(Kind kind, const std::vector<std::string>& names) { return make_message(kind, names); }

Result<std::vector<std::string>> decode_names(const Message& message) {
  return decode<std::vector<std::string>>(message, "names", [](const json& meta) -> Result<std::vector<std::string>> {
    return meta.get<std::vector<std::string>>();
  });
}

Message encode_named(Kind kind, const NamedTensors& named) {
  json names = json::array();
  std::vector<tensor::Tensor> tensors;
  for (const auto& [name, value] : named) {
    names.push_back(name);
    tensors.push_back(value);
  }
  return make_message(kind, names, std::move(tensors));
}

Result<NamedTensors> decode_named(const Message& message) {
  return decode<NamedTensors>(message, "state", [&](const json& meta) -> Result<NamedTensors> {
    if (meta.size() != message.tensors.size()) return fail(Code::kInvalidArgument, "malformed state message");
    NamedTensors out;
    for (std::size_t i = 0; i < meta.size(); ++i) out.emplace_back(meta[i].get<std::string>(), message.tensors[i]);
    return out;
  });
}

Message encode_empty(Kind kind) { return Message{static_cast<std::uint16_t>(kind), {}, {}}; }

Message encode_flag(Kind kind, bool flag) { return make_message(kind, flag); }

Message encode_shutdown(std::uint64_t epoch) {
  return epoch == 0 ? encode_empty(Kind::kShutdown) : make_message(Kind::kShutdown, epoch);
}

Result<std::uint64_t> decode_shutdown(const Message& message) {
  if (message.meta.empty()) return 0;
  return decode<std::uint64_t>(message, "shutdown",
                               [](const json& meta) -> Result<std::uint64_t> { return meta.get<std::uint64_t>(); });
}

Result<bool> decode_flag(const Message& message) {
  return decode<bool>(message, "flag", [](const json& meta) -> Result<bool> { return meta.get<bool>(); });
}

}  // namespace tfd::runtime
