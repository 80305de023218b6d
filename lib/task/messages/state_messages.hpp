#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The messages that transfer a state in parts. In addition to those of protocol.hpp, in the same layout
// (tfd/transport/message_body.hpp):
//
//   kBeginExport   nothing -> id; names, dtypes and shapes of what there is
//   kExportPart    id, positions in what kBeginExport listed -> a tensor for each
//   kEndState      id -> nothing; of an export or import that isn't wanted any more
//   kBeginImport   nothing -> id
//   kImportPart    id, names; a tensor for each -> nothing
//   kCommitImport  id -> nothing; all that came becomes the state, or nothing of it
//   kProbe         a directory and a token -> nothing; whether the server sees the directory, and may write there
//   kBeginParts    as kBeginExport, for kWritePart: rows of variables change where they lie meanwhile
//   kWritePart     id, positions in what kBeginParts listed, where to -> size and digest of the part, once it is on
//                  disk; the export has ended then
//   kHurryParts    nothing -> nothing; somebody waits for the parts that this client has being written
//
// Thread rule: pure functions.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tfd/task/messages.hpp"
#include "tfd/transport/endpoint.hpp"
#include "tfd/variable/checkpoint_parts.hpp"

namespace tfd::task {

enum class StateKind : std::uint16_t {
  kBeginExport = 30,
  kExportPart = 31,
  kEndState = 32,
  kBeginImport = 33,
  kImportPart = 34,
  kCommitImport = 35,
  kProbe = 36,
  kWritePart = 37,
  kBeginParts = 38,
  kHurryParts = 39,
};
constexpr bool is_state_kind(std::uint16_t kind) { return kind >= 30 && kind <= 39; }

struct ExportPart {
  std::uint64_t id = 0;
  std::vector<std::uint32_t> positions;
};
struct ImportPart {
  std::uint64_t id = 0;
  tensor::NamedTensors values;
};
inline constexpr std::size_t kMostPartTensors = 4096;
struct WritePart {
  std::uint64_t id = 0;
  std::vector<std::uint32_t> positions;
  PartPlace place;
};

// decode_x() returns kInvalidArgument for a malformed message.
/// The requests kBeginExport, kBeginParts, kBeginImport and kHurryParts, and an empty answer.
transport::Message encode_state(StateKind kind, std::uint64_t epoch = 0);
/// kEndState, kCommitImport, and kBeginImport's answer.
transport::Message encode_state_id(StateKind kind, std::uint64_t id, std::uint64_t epoch = 0);
Result<std::uint64_t> decode_state_id(const transport::Message& message);
transport::Message encode(const ExportedState& state);
Result<ExportedState> decode_exported_state(const transport::Message& message);
transport::Message encode(const ExportPart& part, std::uint64_t epoch);
Result<ExportPart> decode_export_part(const transport::Message& message);
transport::Message encode(const ImportPart& part, std::uint64_t epoch);
Result<ImportPart> decode_import_part(const transport::Message& message);
transport::Message encode(const DirectoryProbe& probe, std::uint64_t epoch);
Result<DirectoryProbe> decode_probe(const transport::Message& message);
transport::Message encode(const WritePart& part, std::uint64_t epoch);
Result<WritePart> decode_write_part(const transport::Message& message);
/// The answer to kWritePart.
transport::Message encode(const variable::CheckpointPart& part);
Result<variable::CheckpointPart> decode_written_part(const transport::Message& message);

}  // namespace tfd::task
