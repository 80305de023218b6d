// SPDX-License-Identifier: Apache-2.0
#include "state_messages.hpp"

#include "tfd/transport/message_body.hpp"

namespace tfd::variable {

template <class Io>
void fields(Io& io, CheckpointPart& part) {
  io(part.bytes, part.digest);
}

}  // namespace tfd::variable

namespace tfd::task {

using transport::make_message;
using transport::Message;
using transport::read_message;

template <class Io>
void fields(Io& io, StateEntry& entry) {
  io(entry.name, entry.spec);
}
template <class Io>
void fields(Io& io, ExportedState& state) {
  io(state.id, state.entries);
}
template <class Io>
void fields(Io& io, ExportPart& part) {
  io(part.id, part.positions);
  io.require(part.positions.size() <= kMostPartTensors);
}
template <class Io>
void fields(Io& io, ImportPart& part) {
  io(part.id, part.values);
}
template <class Io>
void fields(Io& io, DirectoryProbe& probe) {
  io(probe.directory, probe.name, probe.token, probe.part);
}
template <class Io>
void fields(Io& io, WritePart& part) {
  io(part.id, part.place.directory, part.place.name, part.place.part, part.place.parts, part.positions);
}

Message encode_state(StateKind kind, std::uint64_t epoch) { return transport::empty_message(kind, epoch); }

Message encode_state_id(StateKind kind, std::uint64_t id, std::uint64_t epoch) { return make_message(kind, id, epoch); }

Result<std::uint64_t> decode_state_id(const Message& message) { return read_message<std::uint64_t>(message, "state"); }

Message encode(const ExportedState& state) { return make_message(StateKind::kBeginExport, state); }

Result<ExportedState> decode_exported_state(const Message& message) {
  return read_message<ExportedState>(message, StateKind::kBeginExport, "export");
}

Message encode(const ExportPart& part, std::uint64_t epoch) {
  return make_message(StateKind::kExportPart, part, epoch);
}

Result<ExportPart> decode_export_part(const Message& message) {
  return read_message<ExportPart>(message, StateKind::kExportPart, "export part");
}

Message encode(const ImportPart& part, std::uint64_t epoch) {
  return make_message(StateKind::kImportPart, part, epoch);
}

Result<ImportPart> decode_import_part(const Message& message) {
  return read_message<ImportPart>(message, StateKind::kImportPart, "import part");
}

Message encode(const DirectoryProbe& probe, std::uint64_t epoch) {
  return make_message(StateKind::kProbe, probe, epoch);
}

Result<DirectoryProbe> decode_probe(const Message& message) {
  return read_message<DirectoryProbe>(message, StateKind::kProbe, "probe");
}

Message encode(const WritePart& part, std::uint64_t epoch) { return make_message(StateKind::kWritePart, part, epoch); }

Result<WritePart> decode_write_part(const Message& message) {
  return read_message<WritePart>(message, StateKind::kWritePart, "part of a checkpoint");
}

Message encode(const variable::CheckpointPart& part) { return make_message(StateKind::kWritePart, part); }

Result<variable::CheckpointPart> decode_written_part(const Message& message) {
  return read_message<variable::CheckpointPart>(message, StateKind::kWritePart, "written part");
}

}  // namespace tfd::task
