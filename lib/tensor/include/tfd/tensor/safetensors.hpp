#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The safetensors format: u64 header size, JSON header, bytes. Source:
// https://github.com/huggingface/safetensors#format. C64 is read as its real and imaginary parts: F32 with a last
// dimension of 2. Thread rule: free functions; a SafetensorsReader is immutable.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tfd/tensor/file.hpp"
#include "tfd/tensor/npy.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::tensor {

struct SafetensorsFile {
  NamedTensors tensors;                         // in file order
  std::map<std::string, std::string> metadata;  // the "__metadata__" of the header

  const Tensor* find(std::string_view name) const;
};

/// Tensors of types that tfd lacks, such as F8_E4M3, as their file states them: "F8_E4M3[2, 3]". They hurt nobody but
/// whoever asks for them.
using UnsupportedTensors = std::map<std::string, std::string>;
/// "a (F8_E4M3[2]) and b (F4[8])"; of many the first ones and how many more.
std::string describe_unsupported(const UnsupportedTensors& tensors);

struct SafetensorsSpecs {
  std::map<std::string, TensorSpec> specs;
  UnsupportedTensors unsupported;
};

/// kNotFound; kInvalidArgument for another format, or a tensor of a type that tfd lacks; kDataLoss for a file that is
/// cut off or whose offsets overlap or leave the file. The header is bounded (100 MiB) before memory is taken.
Result<SafetensorsFile> load_safetensors(const std::string& path);

/// An open file: its header is parsed once, its tensors are read on demand.
class SafetensorsReader {
 public:
  /// Errors as load_safetensors().
  static Result<SafetensorsReader> open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::map<std::string, TensorSpec>& specs() const { return specs_; }
  const UnsupportedTensors& unsupported() const { return unsupported_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Names in the order in which their bytes are in the file.
  std::vector<std::string> names_in_order() const;
  /// Size of the file when it was opened.
  std::uint64_t bytes() const { return file_.size(); }
  /// The tensor, in a buffer of its own; no other one is read. kNotFound: none of that name. kInvalidArgument: it is of
  /// a type that tfd lacks. kDataLoss: the file has
  /// become shorter.
  Result<Tensor> read(const std::string& name) const;
  /// Reads the rows [first, first + count) of dimension 0; the caller has checked that they exist.
  Result<Tensor> read_rows(const std::string& name, std::int64_t first, std::int64_t count) const;

 private:
  SafetensorsReader(InputFile file, std::map<std::string, std::string> metadata)
      : file_(std::move(file)), metadata_(std::move(metadata)) {}
  Result<Tensor> read(const std::string& name, const TensorSpec& part, std::uint64_t skipped) const;

  InputFile file_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, TensorSpec> specs_;
  UnsupportedTensors unsupported_;
  std::map<std::string, std::uint64_t> offsets_;  // within the file
};

/// Reads the specs of a file's tensors from a stream, such as a compressed file. Errors as load_safetensors().
Result<SafetensorsSpecs> read_safetensors_specs(const ByteStream& stream);
/// Reads one tensor of the stream; bytes before it are skipped. kNotFound: none of that name. kInvalidArgument: it is
/// of a type that tfd lacks.
Result<Tensor> read_safetensors_tensor(const ByteStream& stream, std::string_view name);
/// Formats what precedes the bytes of the tensors in a file: sizes and the header. kInvalidArgument: two of one name,
/// or a name or metadata that isn't UTF-8.
Result<std::string> format_safetensors_head(const SafetensorsFile& file);
/// Writes atomically: a temporary file in the same directory, fsync, rename, fsync of the directory. kResourceExhausted
/// when the disk is full; then no temporary file is left and an older file of that name is unchanged.
Result<void> save_safetensors(const std::string& path, const SafetensorsFile& file);

}  // namespace tfd::tensor
