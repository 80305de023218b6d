#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The messages by which a state moves in parts, in a fixed layout: numbers are little-endian, a name is its length (u32)
// and its bytes. Tensors travel beside.
//
//   kBeginExport   nothing              -> id u64; a tensor of bytes with, for each entry: name, dtype u8, rank u8,
//                                          dimensions u64
//   kExportPart    id u64, positions u32 in what kBeginExport listed -> a tensor for each
//   kEndState      id u64                -> nothing; of an export or import that isn't wanted any more
//   kBeginImport   nothing              -> id u64
//   kImportPart    id u64, count u32, names; a tensor for each -> nothing
//   kCommitImport  id u64                -> nothing; all that came becomes the state, or nothing of it
//
// Thread rule: pure functions.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tfd/runtime/task_client.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::runtime {

/// Beside those of protocol.hpp.
enum class StateKind : std::uint16_t {
  kBeginExport = 30,
  kExportPart = 31,
  kEndState = 32,
  kBeginImport = 33,
  kImportPart = 34,
  kCommitImport = 35,
};
constexpr bool is_state_kind(std::uint16_t kind) { return kind >= 30 && kind <= 35; }

struct ExportPart {
  std::uint64_t id = 0;
  std::vector<std::uint32_t> positions;
};
struct ImportPart {
  std::uint64_t id = 0;
  std::vector<std::pair<std::string, tensor::Tensor>> values;
};
/// Names of one ImportPart together; the transport takes 1 MiB.
inline constexpr std::size_t kMostNameBytes = 256 * 1024;
inline constexpr std::size_t kMostPartTensors = 4096;

// Every decode_x() returns kInvalidArgument for a message that isn't one.
/// kBeginExport and kBeginImport, asked.
transport::Message encode_state(StateKind kind);
/// The others with nothing but an id, and kBeginImport's answer.
transport::Message encode_state(StateKind kind, std::uint64_t id);
Result<std::uint64_t> decode_state_id(const transport::Message& message);
transport::Message encode(const ExportedState& state);
Result<ExportedState> decode_exported_state(const transport::Message& message);
transport::Message encode(const ExportPart& part);
Result<ExportPart> decode_export_part(const transport::Message& message);
transport::Message encode(const ImportPart& part);
Result<ImportPart> decode_import_part(const transport::Message& message);

}  // namespace tfd::runtime
