// SPDX-License-Identifier: Apache-2.0
#include "state_messages.hpp"

#include <cstring>
#include <type_traits>

namespace tfd::runtime {
namespace {

constexpr std::size_t kMostStateRank = 64;
constexpr auto kLastStateDType = static_cast<std::uint8_t>(tensor::DType::kF64);

template <class T>
void put_number(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out.push_back(static_cast<char>(static_cast<std::make_unsigned_t<T>>(value) >> (8 * i)));
}

void put_name(std::string& out, const std::string& name) {
  put_number(out, static_cast<std::uint32_t>(name.size()));
  out += name;
}

/// Takes a message apart; once something is missing, everything is 0 and empty, and is_good() says so.
class StateReader {
 public:
  explicit StateReader(std::string_view rest) : rest_(rest) {}

  template <class T>
  T number() {
    T value = 0;
    if (!has(sizeof(T))) return value;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value = static_cast<T>(value | static_cast<T>(static_cast<T>(static_cast<unsigned char>(rest_[i])) << (8 * i)));
    rest_.remove_prefix(sizeof(T));
    return value;
  }
  std::string name() {
    const std::size_t size = number<std::uint32_t>();
    if (!has(size)) return {};
    std::string out(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return out;
  }
  bool is_good() const { return good_; }
  bool is_at_end() const { return good_ && rest_.empty(); }
  std::size_t left() const { return rest_.size(); }

 private:
  bool has(std::size_t size) {
    if (size > rest_.size()) good_ = false;
    if (!good_) rest_ = {};
    return good_;
  }
  std::string_view rest_;
  bool good_ = true;
};

tl::unexpected<Error> malformed(const char* what) { return fail(Code::kInvalidArgument, "malformed {} message", what); }

transport::Message make_state(StateKind kind, std::string meta, std::vector<tensor::Tensor> tensors = {}) {
  return {static_cast<std::uint16_t>(kind), std::move(meta), std::move(tensors)};
}

}  // namespace

transport::Message encode_state(StateKind kind) { return make_state(kind, {}); }

transport::Message encode_state(StateKind kind, std::uint64_t id) {
  std::string meta;
  put_number(meta, id);
  return make_state(kind, std::move(meta));
}

Result<std::uint64_t> decode_state_id(const transport::Message& message) {
  StateReader reader(message.meta);
  const auto id = reader.number<std::uint64_t>();
  if (!reader.is_at_end()) return malformed("state");
  return id;
}

transport::Message encode(const ExportedState& state) {
  std::string meta, table;
  put_number(meta, state.id);
  for (const auto& [name, spec] : state.entries) {
    put_name(table, name);
    put_number(table, static_cast<std::uint8_t>(spec.dtype));
    put_number(table, static_cast<std::uint8_t>(spec.shape.size()));
    for (const std::int64_t dimension : spec.shape) put_number(table, dimension);
  }
  auto bytes = tensor::Tensor::uninitialized(tensor::DType::kU8, {static_cast<std::int64_t>(table.size())});
  std::memcpy(bytes.mutable_data(), table.data(), table.size());
  return make_state(StateKind::kBeginExport, std::move(meta), {std::move(bytes)});
}

Result<ExportedState> decode_exported_state(const transport::Message& message) {
  ExportedState out;
  StateReader meta(message.meta);
  out.id = meta.number<std::uint64_t>();
  if (!meta.is_at_end() || message.tensors.size() != 1 || message.tensors[0].dtype() != tensor::DType::kU8)
    return malformed("export");
  const auto bytes = message.tensors[0].bytes();
  StateReader table({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  while (table.is_good() && table.left() > 0) {
    StateEntry entry;
    entry.name = table.name();
    const auto dtype = table.number<std::uint8_t>();
    const auto rank = table.number<std::uint8_t>();
    if (!table.is_good() || dtype > kLastStateDType || rank > kMostStateRank) return malformed("export");
    entry.spec.dtype = static_cast<tensor::DType>(dtype);
    for (int i = 0; i < rank; ++i) entry.spec.shape.push_back(static_cast<std::int64_t>(table.number<std::uint64_t>()));
    TFD_TRY(tensor::checked_byte_size(entry.spec.dtype, entry.spec.shape));
    out.entries.push_back(std::move(entry));
  }
  if (!table.is_good()) return malformed("export");
  return out;
}

transport::Message encode(const ExportPart& part) {
  std::string meta;
  put_number(meta, part.id);
  for (const std::uint32_t position : part.positions) put_number(meta, position);
  return make_state(StateKind::kExportPart, std::move(meta));
}

Result<ExportPart> decode_export_part(const transport::Message& message) {
  ExportPart out;
  StateReader reader(message.meta);
  out.id = reader.number<std::uint64_t>();
  if (reader.left() / sizeof(std::uint32_t) > kMostPartTensors) return malformed("export part");
  while (reader.is_good() && reader.left() > 0) out.positions.push_back(reader.number<std::uint32_t>());
  if (!reader.is_good()) return malformed("export part");
  return out;
}

transport::Message encode(const ImportPart& part) {
  std::string meta;
  std::vector<tensor::Tensor> tensors;
  put_number(meta, part.id);
  put_number(meta, static_cast<std::uint32_t>(part.values.size()));
  for (const auto& [name, value] : part.values) {
    put_name(meta, name);
    tensors.push_back(value);
  }
  return make_state(StateKind::kImportPart, std::move(meta), std::move(tensors));
}

Result<ImportPart> decode_import_part(const transport::Message& message) {
  ImportPart out;
  StateReader reader(message.meta);
  out.id = reader.number<std::uint64_t>();
  const auto count = reader.number<std::uint32_t>();
  if (!reader.is_good() || count != message.tensors.size()) return malformed("import part");
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name = reader.name();
    if (!reader.is_good()) return malformed("import part");
    out.values.emplace_back(std::move(name), message.tensors[i]);
  }
  if (!reader.is_at_end()) return malformed("import part");
  return out;
}

}  // namespace tfd::runtime
