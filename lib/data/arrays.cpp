// SPDX-License-Identifier: Apache-2.0
#include "arrays.hpp"

#include "byte_reader.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/safetensors.hpp"

namespace tfd::data {
namespace {

using tensor::Tensor;
using tensor::TensorSpec;

tensor::ByteStream stream_of(ByteReader& reader) {
  return {reader.path(), reader.most_bytes(),
          [&reader, done = std::int64_t{0}](std::span<std::byte> out) mutable -> Result<void> {
            char* to = reinterpret_cast<char*>(out.data());
            for (std::size_t left = out.size(); left > 0;) {
              const std::size_t got = TFD_TRY(reader.read({to + (out.size() - left), left}, "byte", done));
              if (got == 0) return fail(Code::kDataLoss, "{} is cut off after byte {}", reader.path(), done);
              done += static_cast<std::int64_t>(got);
              left -= got;
            }
            return {};
          }};
}

}  // namespace

Result<Tensor> load_array(const StoredArray& array) {
  if (array.format == StoredFormat::kNpz) return load_npz(array.path, array.key);
  if (array.format == StoredFormat::kSafetensors) return tensor::load_safetensors_tensor(array.path, array.key);
  ByteReader reader = TFD_TRY(ByteReader::open(array.path));
  const tensor::ByteStream stream = stream_of(reader);
  Tensor loaded = TFD_TRY(array.format == StoredFormat::kIdx ? read_idx(stream) : tensor::read_npy(stream));
  TFD_TRY(reader.file()->check_unchanged());
  return loaded;
}

Result<TensorSpec> load_array_spec(const StoredArray& array) {
  if (array.format == StoredFormat::kNpz) return load_npz_spec(array.path, array.key);
  if (array.format == StoredFormat::kSafetensors) {
    const auto specs = TFD_TRY(tensor::load_safetensors_specs(array.path));
    const auto found = specs.find(array.key);
    if (found != specs.end()) return found->second;
    return fail(Code::kNotFound, "{}: no tensor '{}'", array.path, printable(array.key));
  }
  ByteReader reader = TFD_TRY(ByteReader::open(array.path));
  const tensor::ByteStream stream = stream_of(reader);
  return array.format == StoredFormat::kIdx ? read_idx_spec(stream) : tensor::read_npy_spec(stream);
}

Result<std::vector<std::string>> load_array_names(StoredFormat format, const std::string& path) {
  if (format == StoredFormat::kNpz) return load_npz_names(path);
  std::vector<std::string> names;
  for (const auto& [name, spec] : TFD_TRY(tensor::load_safetensors_specs(path))) names.push_back(name);
  return names;
}

}  // namespace tfd::data
