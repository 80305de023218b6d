// SPDX-License-Identifier: Apache-2.0
#include "state_transfers.hpp"

#include "messages/protocol.hpp"
#include "tfd/tensor/snapshot.hpp"

namespace tfd::task {
namespace {

/// Size limit of an import for variables of `values` bytes: no optimizer has that many slots.
constexpr std::uint64_t most_import_bytes(std::uint64_t values) { return 32 * values + (std::uint64_t{64} << 20); }
constexpr std::size_t most_import_entries(std::size_t variables) { return 64 * variables + 4096; }

/// Finds a transfer of the asking connection.
template <class Transfers>
auto* find_transfer(Transfers& transfers, std::uint64_t id, std::uint64_t connection) {
  const auto found = transfers.find(id);
  if (found == transfers.end() || found->second.connection != connection)
    return static_cast<decltype(&found->second)>(nullptr);
  found->second.used = Clock::now();
  return &found->second;
}

tl::unexpected<Error> no_transfer(const char* what) {
  return fail(Code::kAborted, "no such {}: it was given up, or belongs to another connection", what);
}

}  // namespace

void StateTransfers::handle(const Served& served, const transport::Caller& caller, const transport::Message& request,
                            transport::Responder responder) {
  const auto kind = static_cast<StateKind>(request.kind);
  if (kind == StateKind::kBeginExport || kind == StateKind::kBeginParts || kind == StateKind::kBeginImport ||
      kind == StateKind::kHurryParts)
    if (auto decoded = decode_empty(request); !decoded) return responder.reply(fail(std::move(decoded).error()));
  switch (kind) {
    case StateKind::kBeginExport:
    case StateKind::kBeginParts:
      return begin_export(served, caller.connection, kind == StateKind::kBeginParts, std::move(responder));
    case StateKind::kExportPart:
      return responder.reply(export_part(caller.connection, request));
    case StateKind::kBeginImport:
      return responder.reply(begin_import(served, caller.connection));
    case StateKind::kImportPart:
      return responder.reply(import_part(caller.connection, request));
    case StateKind::kCommitImport:
      return commit_import(served, caller.connection, request, std::move(responder));
    case StateKind::kProbe:
      return probe(caller.connection, request, std::move(responder));
    case StateKind::kWritePart:
      return write_part(caller.connection, request, std::move(responder));
    case StateKind::kHurryParts:
      writer_.hurry(caller.connection);
      return responder.reply(encode_state(StateKind::kHurryParts));
    case StateKind::kEndState:
      break;
  }
  responder.reply(end_state(caller.connection, request));
}

void StateTransfers::caller_gone(std::uint64_t connection) {
  const auto is_theirs = [&](const auto& one) { return one.second.connection == connection; };
  std::erase_if(exports_, is_theirs);
  std::erase_if(imports_, is_theirs);
  writer_.cancel(connection);
}

bool StateTransfers::drop_unused(Clock::time_point since) {
  const auto is_unused = [&](const auto& one) { return one.second.used < since; };
  std::erase_if(exports_, is_unused);
  std::erase_if(imports_, is_unused);
  return !empty();
}

void StateTransfers::begin_export(const Served& served, std::uint64_t connection, bool is_for_parts,
                                  transport::Responder responder) {
  if (exports_.size() >= kMostExports)
    return responder.reply(fail(Code::kResourceExhausted, "{} exports are under way already", exports_.size()));
  const std::uint64_t id = next_id_++;
  const auto snapshot = std::make_shared<Snapshot>();
  snapshot->variables.resize(served->store().size());
  exports_[id] = {connection, Clock::now(), snapshot};
  const std::int64_t iterations = served->store().iterations();
  VariableQueues::Request request{.targets = served->all(), .done = {}, .responder = std::move(responder)};
  request.at = [served, snapshot, is_for_parts](std::size_t part) -> Result<void> {
    snapshot->variables[part] = is_for_parts ? served->store().snapshot(part) : served->store().copy(part);
    return {};
  };
  request.done = [served, snapshot, id, iterations](const Error*) -> Result<transport::Message> {
    snapshot->values = served->store().name_state(snapshot->variables, iterations);
    snapshot->variables.clear();
    ExportedState listed{id, {}};
    for (const auto& [name, value] : snapshot->values) listed.entries.push_back({name, value.spec()});
    snapshot->is_complete.store(true, std::memory_order_release);
    return encode(listed);
  };
  served->start(std::move(request));
}

Result<transport::Message> StateTransfers::export_part(std::uint64_t connection, const transport::Message& request) {
  const ExportPart part = TFD_TRY(decode_export_part(request));
  const Export* found = find_transfer(exports_, part.id, connection);
  if (found == nullptr || !found->snapshot->is_complete.load(std::memory_order_acquire)) return no_transfer("export");
  transport::Message answer = encode_state(StateKind::kExportPart);
  for (const std::uint32_t position : part.positions) {
    if (position >= found->snapshot->values.size())
      return fail(Code::kInvalidArgument, "entry {} of an export of {}", position, found->snapshot->values.size());
    answer.tensors.push_back(tensor::whole_snapshot(found->snapshot->values[position].second));
  }
  return answer;
}

void StateTransfers::probe(std::uint64_t connection, const transport::Message& request,
                           transport::Responder responder) {
  auto probe = decode_probe(request);
  if (!probe) return responder.reply(fail(std::move(probe).error()));
  writer_.probe(connection, std::move(*probe), request.epoch, std::move(responder));
}

// The export ends with it: written values are released, so that updates no longer need copies of them.
void StateTransfers::write_part(std::uint64_t connection, const transport::Message& request,
                                transport::Responder responder) {
  const auto part = decode_write_part(request);
  if (!part) return responder.reply(fail(part.error()));
  const Export* found = find_transfer(exports_, part->id, connection);
  if (found == nullptr || !found->snapshot->is_complete.load(std::memory_order_acquire))
    return responder.reply(no_transfer("export"));
  const auto& all = found->snapshot->values;
  if (part->positions.size() > all.size())
    return responder.reply(
        fail(Code::kInvalidArgument, "{} entries of an export of {}", part->positions.size(), all.size()));
  tensor::NamedTensors values;
  values.reserve(part->positions.size());
  for (const std::uint32_t position : part->positions) {
    if (position >= all.size())
      return responder.reply(fail(Code::kInvalidArgument, "entry {} of an export of {}", position, all.size()));
    values.push_back(all[position]);
  }
  exports_.erase(part->id);
  writer_.write(connection, part->id, part->place, std::move(values), finite_, request.epoch, std::move(responder));
}

Result<transport::Message> StateTransfers::begin_import(const Served& served, std::uint64_t connection) {
  if (imports_.size() >= kMostImports)
    return fail(Code::kResourceExhausted, "{} imports are under way already", imports_.size());
  const std::uint64_t id = next_id_++;
  imports_[id] = {connection, Clock::now(), served, {}, 0};
  return encode_state_id(StateKind::kBeginImport, id);
}

Result<transport::Message> StateTransfers::import_part(std::uint64_t connection, const transport::Message& request) {
  ImportPart part = TFD_TRY(decode_import_part(request));
  Import* found = find_transfer(imports_, part.id, connection);
  if (found == nullptr) return no_transfer("import");
  const auto& store = found->served->store();
  for (auto& [name, value] : part.values) {
    found->bytes += value.byte_size();
    if (found->bytes > most_import_bytes(store.value_bytes()) ||
        found->values.size() >= most_import_entries(store.size())) {
      imports_.erase(part.id);
      return fail(Code::kResourceExhausted, "the state is larger than that of these variables can be");
    }
    found->values.emplace_back(std::move(name), std::move(value));
  }
  return encode_state(StateKind::kImportPart);
}

void StateTransfers::commit_import(const Served& served, std::uint64_t connection, const transport::Message& request,
                                   transport::Responder responder) {
  const auto id = decode_state_id(request);
  if (!id) return responder.reply(fail(id.error()));
  if (find_transfer(imports_, *id, connection) == nullptr) return responder.reply(no_transfer("import"));
  const Import import = std::move(imports_.extract(*id).mapped());
  if (import.served != served)
    return responder.reply(fail(Code::kAborted, "the variables are another program's since this import was begun"));
  auto prepared = served->store().prepare_import(import.values);
  if (!prepared) return responder.reply(fail(std::move(prepared).error()));
  served->store().admit(*prepared);
  VariableQueues::Request change{.changes = true, .done = {}, .responder = std::move(responder)};
  for (std::size_t i = 0; i < prepared->variables.size(); ++i)
    if (prepared->variables[i]) change.targets.push_back(i);
  // Shared by copies of the function.
  const auto restored = std::make_shared<variable::VariableStore::Import>(std::move(*prepared));
  change.at = [served, restored, targets = change.targets](std::size_t part) -> Result<void> {
    served->store().replace(targets[part], std::move(*restored->variables[targets[part]]));
    return {};
  };
  change.done = [](const Error*) -> Result<transport::Message> { return encode_state(StateKind::kCommitImport); };
  served->start(std::move(change));
}

Result<transport::Message> StateTransfers::end_state(std::uint64_t connection, const transport::Message& request) {
  const std::uint64_t id = TFD_TRY(decode_state_id(request));
  if (find_transfer(exports_, id, connection) != nullptr) exports_.erase(id);
  if (find_transfer(imports_, id, connection) != nullptr) imports_.erase(id);
  writer_.cancel(connection, id);
  return encode_state(StateKind::kEndState);
}

}  // namespace tfd::task
