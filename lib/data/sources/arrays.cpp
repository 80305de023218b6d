// SPDX-License-Identifier: Apache-2.0
#include "arrays.hpp"

#include <unistd.h>

#include <map>

#include "../files/byte_reader.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/safetensors.hpp"

namespace tfd::data {
namespace {

using tensor::Tensor;
using tensor::TensorSpec;

constexpr std::size_t kRest = std::size_t{64} << 10;

/// A file's bytes from its beginning, inflated where it is gzipped.
class FileBytes {
 public:
  static Result<FileBytes> open(const std::string& path) { return FileBytes(TFD_TRY(ByteReader::open(path))); }

  bool are_inflated() const { return reader_.is_inflated(); }
  /// Borrows this.
  tensor::ByteStream stream() {
    return {reader_.path(), reader_.most_bytes(), [this](std::span<std::byte> out) -> Result<void> {
              char* to = reinterpret_cast<char*>(out.data());
              for (std::size_t left = out.size(); left > 0;) {
                const std::size_t got = TFD_TRY(read({to + (out.size() - left), left}));
                if (got == 0) return fail(Code::kDataLoss, "{} is cut off after byte {}", reader_.path(), done_);
                left -= got;
              }
              return {};
            }};
  }
  /// Reads the bytes after the array too, whose checksum covers all of them, and checks that the file hasn't changed.
  Result<void> finish() {
    std::vector<char> rest(are_inflated() ? kRest : 0);
    while (!rest.empty() && TFD_TRY(read(rest)) > 0) continue;
    return reader_.file()->check_unchanged();
  }

 private:
  explicit FileBytes(ByteReader reader) : reader_(std::move(reader)) {}
  Result<std::size_t> read(std::span<char> out) {
    const std::size_t got = TFD_TRY(reader_.read(out, "byte", done_));
    done_ += static_cast<std::int64_t>(got);
    return got;
  }

  ByteReader reader_;
  std::int64_t done_ = 0;
};

/// Whether a safetensors file isn't compressed, so that only what is needed of it is read. Its header may have 35615
/// bytes, which is gzip's magic as a number; but the header begins with a "{", where gzip has flags.
Result<bool> is_plain(const std::string& path) {
  const ByteReader reader = TFD_TRY(ByteReader::open(path));
  constexpr off_t kHeader = 8;
  char first = 0;
  return !reader.is_inflated() || (::pread(reader.file()->fd(), &first, 1, kHeader) == 1 && first == '{');
}

Result<tensor::SafetensorsSpecs> load_safetensors_header(const std::string& path) {
  if (TFD_TRY(is_plain(path))) {
    const auto reader = TFD_TRY(tensor::SafetensorsReader::open(path));
    return tensor::SafetensorsSpecs{reader.specs(), reader.unsupported()};
  }
  FileBytes bytes = TFD_TRY(FileBytes::open(path));
  return tensor::read_safetensors_specs(bytes.stream());
}

}  // namespace

Result<Tensor> load_array(const StoredArray& array) {
  if (array.format == StoredFormat::kNpz) return load_npz(array.path, array.key);
  if (array.format == StoredFormat::kSafetensors && TFD_TRY(is_plain(array.path)))
    return TFD_TRY(tensor::SafetensorsReader::open(array.path)).read(array.key);
  FileBytes bytes = TFD_TRY(FileBytes::open(array.path));
  const tensor::ByteStream stream = bytes.stream();
  Tensor loaded = TFD_TRY(array.format == StoredFormat::kIdx   ? read_idx(stream)
                          : array.format == StoredFormat::kNpy ? tensor::read_npy(stream)
                                                               : tensor::read_safetensors_tensor(stream, array.key));
  TFD_TRY(bytes.finish());
  return loaded;
}

Result<TensorSpec> load_array_spec(const StoredArray& array) {
  if (array.format == StoredFormat::kNpz) return load_npz_spec(array.path, array.key);
  if (array.format == StoredFormat::kSafetensors) {
    const auto header = TFD_TRY(load_safetensors_header(array.path));
    const auto found = header.specs.find(array.key);
    if (found != header.specs.end()) return found->second;
    if (header.unsupported.contains(array.key)) return fail(load_array(array).error());
    return fail(Code::kNotFound, "{}: no tensor '{}'", array.path, printable(array.key));
  }
  FileBytes bytes = TFD_TRY(FileBytes::open(array.path));
  const tensor::ByteStream stream = bytes.stream();
  return array.format == StoredFormat::kIdx ? read_idx_spec(stream) : tensor::read_npy_spec(stream);
}

Result<std::vector<std::string>> load_array_names(StoredFormat format, const std::string& path) {
  if (format == StoredFormat::kNpz) return load_npz_names(path);
  std::vector<std::string> names;
  for (const auto& [name, spec] : TFD_TRY(load_safetensors_header(path)).specs) names.push_back(name);
  return names;
}

}  // namespace tfd::data
