// SPDX-License-Identifier: Apache-2.0
#include "state_messages.hpp"

#include "wire_format.hpp"

namespace tfd::task {
namespace {

constexpr std::size_t kMostStateRank = 64;

}  // namespace

transport::Message encode_state(StateKind kind, std::uint64_t epoch) { return make_message(kind, Writer(), {}, epoch); }

transport::Message encode_state_id(StateKind kind, std::uint64_t id, std::uint64_t epoch) {
  Writer out;
  out.put(id);
  return make_message(kind, out, {}, epoch);
}

Result<std::uint64_t> decode_state_id(const transport::Message& message) {
  Reader in(message);
  const auto id = in.number<std::uint64_t>();
  TFD_TRY(in.end("state"));
  return id;
}

transport::Message encode(const ExportedState& state) {
  Writer out;
  out.put(state.id);
  out.count(state.entries.size());
  for (const auto& [name, spec] : state.entries) {
    out.put(name);
    out.put(spec.dtype);
    out.put(static_cast<std::uint8_t>(spec.shape.size()));
    for (const std::int64_t dimension : spec.shape) out.put(dimension);
  }
  return make_message(StateKind::kBeginExport, out);
}

Result<ExportedState> decode_exported_state(const transport::Message& message) {
  Reader in(message, StateKind::kBeginExport);
  ExportedState out;
  out.id = in.number<std::uint64_t>();
  const std::size_t count = in.count(6);
  for (std::size_t i = 0; i < count && in.is_good(); ++i) {
    StateEntry entry;
    entry.name = in.text();
    entry.spec.dtype = in.choice(tensor::DType::kF64);
    const std::size_t rank = in.number<std::uint8_t>();
    in.require(rank <= kMostStateRank);
    for (std::size_t d = 0; d < rank && in.is_good(); ++d) entry.spec.shape.push_back(in.number<std::int64_t>());
    in.require(tensor::checked_byte_size(entry.spec.dtype, entry.spec.shape).has_value());
    out.entries.push_back(std::move(entry));
  }
  TFD_TRY(in.end("export"));
  return out;
}

transport::Message encode(const ExportPart& part, std::uint64_t epoch) {
  Writer out;
  out.put(part.id);
  out.count(part.positions.size());
  for (const std::uint32_t position : part.positions) out.put(position);
  return make_message(StateKind::kExportPart, out, {}, epoch);
}

Result<ExportPart> decode_export_part(const transport::Message& message) {
  Reader in(message, StateKind::kExportPart);
  ExportPart out;
  out.id = in.number<std::uint64_t>();
  const std::size_t count = in.count(sizeof(std::uint32_t));
  in.require(count <= kMostPartTensors);
  for (std::size_t i = 0; i < count && in.is_good(); ++i) out.positions.push_back(in.number<std::uint32_t>());
  TFD_TRY(in.end("export part"));
  return out;
}

transport::Message encode(const ImportPart& part, std::uint64_t epoch) {
  Writer out;
  std::vector<tensor::Tensor> tensors;
  out.put(part.id);
  out.count(part.values.size());
  for (const auto& [name, value] : part.values) {
    out.put(name);
    tensors.push_back(value);
  }
  return make_message(StateKind::kImportPart, out, std::move(tensors), epoch);
}

Result<ImportPart> decode_import_part(const transport::Message& message) {
  Reader in(message, StateKind::kImportPart);
  ImportPart out;
  out.id = in.number<std::uint64_t>();
  const std::size_t count = in.count(sizeof(std::uint32_t));
  for (std::size_t i = 0; i < count && in.is_good(); ++i) {
    std::string name = in.text();
    tensor::Tensor value = in.tensor();
    out.values.emplace_back(std::move(name), std::move(value));
  }
  TFD_TRY(in.end("import part"));
  return out;
}

transport::Message encode(const DirectoryProbe& probe, std::uint64_t epoch) {
  Writer out;
  out.put(probe.directory);
  out.put(probe.name);
  out.put(probe.token);
  out.put(probe.part);
  return make_message(StateKind::kProbe, out, {}, epoch);
}

Result<DirectoryProbe> decode_probe(const transport::Message& message) {
  Reader in(message, StateKind::kProbe);
  DirectoryProbe out;
  out.directory = in.text();
  out.name = in.text();
  out.token = in.text();
  out.part = in.number<std::uint32_t>();
  TFD_TRY(in.end("probe"));
  return out;
}

transport::Message encode(const WritePart& part, std::uint64_t epoch) {
  Writer out;
  out.put(part.id);
  out.put(part.place.directory);
  out.put(part.place.name);
  out.put(part.place.part);
  out.put(part.place.parts);
  out.count(part.positions.size());
  for (const std::uint32_t position : part.positions) out.put(position);
  return make_message(StateKind::kWritePart, out, {}, epoch);
}

Result<WritePart> decode_write_part(const transport::Message& message) {
  Reader in(message, StateKind::kWritePart);
  WritePart out;
  out.id = in.number<std::uint64_t>();
  out.place.directory = in.text();
  out.place.name = in.text();
  out.place.part = in.number<std::uint32_t>();
  out.place.parts = in.number<std::uint32_t>();
  const std::size_t count = in.count(sizeof(std::uint32_t));
  for (std::size_t i = 0; i < count && in.is_good(); ++i) out.positions.push_back(in.number<std::uint32_t>());
  TFD_TRY(in.end("part of a checkpoint"));
  return out;
}

transport::Message encode(const variable::CheckpointPart& part) {
  Writer out;
  out.put(part.bytes);
  out.put(part.digest);
  return make_message(StateKind::kWritePart, out);
}

Result<variable::CheckpointPart> decode_written_part(const transport::Message& message) {
  Reader in(message, StateKind::kWritePart);
  variable::CheckpointPart out;
  out.bytes = in.number<std::uint64_t>();
  out.digest = in.number<std::uint64_t>();
  TFD_TRY(in.end("written part"));
  return out;
}

}  // namespace tfd::task
