// SPDX-License-Identifier: Apache-2.0
#include "tfd/tensor/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "contents.hpp"
#include "tfd/base/file.hpp"
#include "tfd/base/names.hpp"
#include "tfd/base/text.hpp"

static_assert(std::endian::native == std::endian::little, "the file formats are little endian and are read in place");

namespace tfd::tensor {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::uint64_t kMostSafetensorsHeader = 100 << 20;
constexpr std::uint64_t kMostDropped = 1 << 20;  // at once

constexpr NameTable<DType, 13> kDTypes{{{{DType::kBool, "BOOL"},
                                         {DType::kS8, "I8"},
                                         {DType::kS16, "I16"},
                                         {DType::kS32, "I32"},
                                         {DType::kS64, "I64"},
                                         {DType::kU8, "U8"},
                                         {DType::kU16, "U16"},
                                         {DType::kU32, "U32"},
                                         {DType::kU64, "U64"},
                                         {DType::kF16, "F16"},
                                         {DType::kBF16, "BF16"},
                                         {DType::kF32, "F32"},
                                         {DType::kF64, "F64"}}}};

constexpr std::string_view kComplex = "C64";  // f32 with a last dimension of 2

struct Entry {
  std::string name;
  TensorSpec spec;
  std::uint64_t begin = 0, end = 0;  // within the data that follows the header
  std::string unsupported = {};      // its type and shape, if tfd lacks the type
};

struct SafetensorsHeader {
  std::vector<Entry> entries;  // by begin
  std::map<std::string, std::string> metadata;
};

// Not ordered_json: it searches its keys one by one, which a header of many keys would make last for hours. The order
// of the tensors comes from their offsets.
Result<json> parse_json(const std::string& text) {
  std::set<std::string> seen;
  std::string repeated;
  const auto find_repeated = [&](int depth, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::key && depth == 1 && !seen.insert(parsed.get<std::string>()).second)
      repeated = parsed.get<std::string>();
    return true;
  };
  json header = json::parse(text, find_repeated, /*allow_exceptions=*/false);
  if (!header.is_object())
    return fail(Code::kInvalidArgument, "not a safetensors file: its header is not a JSON object");
  if (!repeated.empty()) return fail(Code::kInvalidArgument, "two tensors are named '{}'", printable(repeated));
  return header;
}

Result<Entry> parse_entry(const std::string& name, const json& value) {
  const auto dtype = value.find("dtype");
  const auto shape = value.find("shape");
  const auto offsets = value.find("data_offsets");
  if (dtype == value.end() || shape == value.end() || offsets == value.end() || !dtype->is_string() ||
      !shape->is_array() || !offsets->is_array() || offsets->size() != 2)
    return fail(Code::kInvalidArgument, "needs dtype, shape and two data_offsets");
  Entry entry{name, {}, 0, 0};
  const auto& stated = dtype->get_ref<const std::string&>();
  const auto known = stated == kComplex ? DType::kF32 : kDTypes.find(stated);
  entry.spec.dtype = known.value_or(DType::kU8);
  for (const auto& dimension : *shape) {
    if (!dimension.is_number_unsigned() || dimension.get<std::uint64_t>() > (std::uint64_t{1} << 48))
      return fail(Code::kInvalidArgument, "a dimension of its shape is not a size");
    entry.spec.shape.push_back(dimension.get<std::int64_t>());
  }
  if (stated == kComplex) entry.spec.shape.push_back(2);
  if (!(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned())
    return fail(Code::kInvalidArgument, "data_offsets are not two positions");
  entry.begin = (*offsets)[0].get<std::uint64_t>();
  entry.end = (*offsets)[1].get<std::uint64_t>();
  if (!known) entry.unsupported = printable(stated) + format_shape(entry.spec.shape);
  const std::size_t bytes =
      known ? TFD_TRY(checked_byte_size(entry.spec.dtype, entry.spec.shape)) : entry.end - entry.begin;
  if (entry.begin > entry.end || entry.end - entry.begin != bytes)
    return fail(Code::kDataLoss, "{} takes {} bytes, but its data_offsets are {} to {}", format_spec(entry.spec), bytes,
                entry.begin, entry.end);
  return entry;
}

Result<SafetensorsHeader> parse_header(const std::string& text, std::uint64_t data_size) {
  const json document = TFD_TRY(parse_json(text));
  SafetensorsHeader header;
  for (const auto& [name, value] : document.items()) {
    if (name == "__metadata__") {
      if (!value.is_object()) return fail(Code::kInvalidArgument, "__metadata__ is not an object");
      for (const auto& [key, entry] : value.items()) {
        if (!entry.is_string()) return fail(Code::kInvalidArgument, "__metadata__.{} is not a string", printable(key));
        header.metadata[key] = entry.get<std::string>();
      }
      continue;
    }
    header.entries.push_back(TFD_TRY(parse_entry(name, value), "tensor '" + printable(name) + "'"));
  }
  std::stable_sort(header.entries.begin(), header.entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t covered = 0;
  for (const Entry& entry : header.entries) {
    if (entry.begin < covered) return fail(Code::kDataLoss, "tensor '{}' overlaps another", printable(entry.name));
    if (entry.end > data_size)
      return fail(Code::kDataLoss, "cut off: tensor '{}' ends at byte {} of the data, but there are only {}",
                  printable(entry.name), entry.end, data_size);
    covered = entry.end;
  }
  return header;
}

Result<std::string> format_header(const SafetensorsFile& file) {
  ordered_json header = ordered_json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::uint64_t offset = 0;
  std::set<std::string_view> seen;
  for (const auto& [name, tensor] : file.tensors) {
    if (name == "__metadata__" || !seen.insert(name).second)
      return fail(Code::kInvalidArgument, "two tensors are named '{}'", printable(name));
    const std::uint64_t end = offset + tensor.byte_size();
    ordered_json entry = ordered_json::object();
    entry["dtype"] = kDTypes.name(tensor.dtype());
    entry["shape"] = tensor.shape();
    entry["data_offsets"] = {offset, end};
    // Not operator[]: an ordered_json object searches its keys one by one, and these are known to be new.
    header.get_ref<ordered_json::object_t&>().emplace_back(name, std::move(entry));
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const ordered_json::exception&) {
    return fail(Code::kInvalidArgument, "a name or its metadata is not UTF-8");
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kMostSafetensorsHeader)
    return fail(Code::kInvalidArgument, "a header of {} bytes is too long", text.size());
  return text;
}

/// Describes another file format that begins with these bytes, and the way out; empty if unknown.
std::string_view other_format(std::uint64_t first_bytes) {
  constexpr std::uint64_t kZip = 0x04034b50, kHdf5 = 0x0a1a0a0d46444889;  // "PK\3\4", "\x89HDF\r\n\x1a\n"
  if ((first_bytes & 0xffffffff) == kZip)
    return "a zip file, as .pt, .keras and .npz are: load it in its framework and save the weights by "
           "safetensors.numpy.save_file";
  if (first_bytes == kHdf5)
    return "an HDF5 file, as .h5 of Keras is: load it there and save the weights by safetensors.numpy.save_file";
  constexpr std::uint64_t kPickle = 0x80, kOldestProtocol = 2, kNewestProtocol = 5;
  const std::uint64_t protocol = first_bytes >> 8 & 0xff;
  if ((first_bytes & 0xff) == kPickle && protocol >= kOldestProtocol && protocol <= kNewestProtocol &&
      first_bytes > kMostSafetensorsHeader)
    return "a pickle of Python, as an old .pt is: load it there and save the weights by safetensors.numpy.save_file";
  return "";
}

/// Header of a file; its data follow.
struct ParsedHeader {
  SafetensorsHeader header;
  std::uint64_t data_offset = 0;
};
Result<ParsedHeader> read_safetensors_header(const ByteStream& stream) {
  std::uint64_t length = 0;
  if (stream.most_bytes < sizeof(length))
    return fail(Code::kDataLoss, "{} is cut off: it has {} bytes", stream.name, stream.most_bytes);
  TFD_TRY(stream.read(std::as_writable_bytes(std::span(&length, 1))));
  if (const std::string_view other = other_format(length); !other.empty())
    return fail(Code::kInvalidArgument, "{} is not a safetensors file, but {}", stream.name, other);
  if (length > kMostSafetensorsHeader)
    return fail(Code::kInvalidArgument, "{} is not a safetensors file: a header of {} bytes", stream.name, length);
  if (length > stream.most_bytes - sizeof(length))
    return fail(Code::kDataLoss, "{} is cut off within its header", stream.name);
  std::string text(length, '\0');
  TFD_TRY(stream.read(std::as_writable_bytes(std::span(text))));
  const std::uint64_t data_offset = sizeof(length) + length;
  SafetensorsHeader header = TFD_TRY(parse_header(text, stream.most_bytes - data_offset), stream.name);
  return ParsedHeader{std::move(header), data_offset};
}

/// A file whose header was read.
struct Opened {
  InputFile file;
  SafetensorsHeader header;
  std::uint64_t data_offset = 0;
};

Result<Opened> open_safetensors(const std::string& path) {
  InputFile file = TFD_TRY(InputFile::open(path));
  ParsedHeader parsed = TFD_TRY(read_safetensors_header(stream_of(file)));
  return Opened{std::move(file), std::move(parsed.header), parsed.data_offset};
}

SafetensorsSpecs specs_of(const SafetensorsHeader& header) {
  SafetensorsSpecs out;
  for (const Entry& entry : header.entries)
    if (entry.unsupported.empty())
      out.specs.emplace(entry.name, entry.spec);
    else
      out.unsupported.emplace(entry.name, entry.unsupported);
  return out;
}

tl::unexpected<Error> no_tensor(const std::string& path, std::string_view name) {
  return fail(Code::kNotFound, "{} has no tensor '{}'", path, printable(name));
}

tl::unexpected<Error> unsupported_type(const std::string& path, std::string_view name, const std::string& type) {
  return fail(Code::kInvalidArgument, "{}: tensor '{}' is {}, a type that tfd does not have (it has: {})", path,
              printable(name), type, fmt::join(kDTypes.names(), ", "));
}

Result<void> drop(const ByteStream& stream, std::uint64_t bytes) {
  std::vector<std::byte> dropped(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kMostDropped)));
  for (; bytes > 0; bytes -= dropped.size()) {
    dropped.resize(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, dropped.size())));
    TFD_TRY(stream.read(dropped));
  }
  return {};
}

}  // namespace

std::string describe_unsupported(const UnsupportedTensors& tensors) {
  constexpr std::size_t kMostNamed = 5;
  std::vector<std::string> words;
  for (const auto& [name, type] : tensors) {
    if (words.size() == kMostNamed) break;
    words.push_back(fmt::format("{} ({})", printable(name), type));
  }
  if (tensors.size() > kMostNamed) words.push_back(fmt::format("{} more", tensors.size() - kMostNamed));
  return join_words(words);
}

const Tensor* SafetensorsFile::find(std::string_view name) const {
  for (const auto& [key, tensor] : tensors)
    if (key == name) return &tensor;
  return nullptr;
}

Result<SafetensorsFile> load_safetensors(const std::string& path) {
  Opened opened = TFD_TRY(open_safetensors(path));
  SafetensorsFile out;
  out.metadata = std::move(opened.header.metadata);
  out.tensors.reserve(opened.header.entries.size());
  for (Entry& entry : opened.header.entries) {
    if (!entry.unsupported.empty()) return unsupported_type(path, entry.name, entry.unsupported);
    Tensor tensor = TFD_TRY(read_tensor(opened.file, opened.data_offset + entry.begin, entry.spec));
    out.tensors.emplace_back(std::move(entry.name), std::move(tensor));
  }
  return out;
}

Result<SafetensorsReader> SafetensorsReader::open(const std::string& path) {
  Opened opened = TFD_TRY(open_safetensors(path));
  SafetensorsReader reader(std::move(opened.file), std::move(opened.header.metadata));
  SafetensorsSpecs found = specs_of(opened.header);
  reader.specs_ = std::move(found.specs);
  reader.unsupported_ = std::move(found.unsupported);
  for (const Entry& entry : opened.header.entries)
    if (entry.unsupported.empty()) reader.offsets_.emplace(entry.name, opened.data_offset + entry.begin);
  return reader;
}

std::vector<std::string> SafetensorsReader::names_in_order() const {
  std::vector<std::pair<std::uint64_t, std::string>> found;
  for (const auto& [name, offset] : offsets_) found.emplace_back(offset, name);
  std::ranges::sort(found);
  std::vector<std::string> out;
  for (auto& [offset, name] : found) out.push_back(std::move(name));
  return out;
}

Result<Tensor> SafetensorsReader::read(const std::string& name, const TensorSpec& part, std::uint64_t skipped) const {
  return read_tensor(file_, offsets_.at(name) + skipped, part);
}

Result<Tensor> SafetensorsReader::read(const std::string& name) const {
  if (const auto other = unsupported_.find(name); other != unsupported_.end())
    return unsupported_type(path(), name, other->second);
  const auto found = specs_.find(name);
  if (found == specs_.end()) return no_tensor(path(), name);
  return read(name, found->second, 0);
}

Result<Tensor> SafetensorsReader::read_rows(const std::string& name, std::int64_t first, std::int64_t count) const {
  const auto found = specs_.find(name);
  if (found == specs_.end()) return no_tensor(path(), name);
  TensorSpec part = found->second;
  part.shape.front() = 1;
  const auto row = static_cast<std::uint64_t>(element_count(part.shape)) * dtype_size(part.dtype);
  part.shape.front() = count;
  return read(name, part, static_cast<std::uint64_t>(first) * row);
}

Result<SafetensorsSpecs> read_safetensors_specs(const ByteStream& stream) {
  return specs_of(TFD_TRY(read_safetensors_header(stream)).header);
}

Result<Tensor> read_safetensors_tensor(const ByteStream& stream, std::string_view name) {
  const ParsedHeader parsed = TFD_TRY(read_safetensors_header(stream));
  const auto found = std::ranges::find(parsed.header.entries, name, &Entry::name);
  if (found == parsed.header.entries.end()) return no_tensor(stream.name, name);
  if (!found->unsupported.empty()) return unsupported_type(stream.name, name, found->unsupported);
  TFD_TRY(drop(stream, found->begin));
  return read_tensor(stream, found->spec);
}

Result<std::string> format_safetensors_head(const SafetensorsFile& file) {
  const std::string header = TFD_TRY(format_header(file));
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header;
}

Result<void> save_safetensors(const std::string& path, const SafetensorsFile& file) {
  const std::string head = TFD_TRY(format_safetensors_head(file), "cannot write " + path);
  std::vector<std::span<const std::byte>> pieces{std::as_bytes(std::span(head))};
  for (const auto& [name, tensor] : file.tensors) pieces.push_back(tensor.bytes());
  return save_file(path, pieces);
}

}  // namespace tfd::tensor
