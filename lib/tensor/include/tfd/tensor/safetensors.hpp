#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The safetensors format: u64 header size, JSON header, bytes. Source:
// https://github.com/huggingface/safetensors#format.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tfd/tensor/npy.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::tensor {

struct SafetensorsFile {
  std::vector<std::pair<std::string, Tensor>> tensors;  // in file order
  std::map<std::string, std::string> metadata;          // the "__metadata__" of the header

  const Tensor* find(std::string_view name) const;
};

/// kNotFound; kInvalidArgument for another format; kDataLoss for a file that is cut off or whose offsets overlap or
/// leave the file. The header is bounded (100 MiB) before memory is taken.
Result<SafetensorsFile> load_safetensors(const std::string& path);
/// What is in the file, from its header alone. Errors as load_safetensors().
Result<std::map<std::string, TensorSpec>> load_safetensors_specs(const std::string& path);
/// Its metadata, from its header alone. Errors as load_safetensors().
Result<std::map<std::string, std::string>> load_safetensors_metadata(const std::string& path);
/// One of its tensors; no other is read. kNotFound: no file, or no tensor of that name.
Result<Tensor> load_safetensors_tensor(const std::string& path, std::string_view name);
/// The same two of a file's bytes as they come, as of a compressed one. What is before the tensor is read and dropped.
Result<std::map<std::string, TensorSpec>> read_safetensors_specs(const ByteStream& stream);
Result<Tensor> read_safetensors_tensor(const ByteStream& stream, std::string_view name);
/// Atomic: a temporary file in the same directory, fsync, rename, fsync of the directory. kResourceExhausted when the
/// disk is full; then nothing is left behind and an older file of that name is as it was.
Result<void> save_safetensors(const std::string& path, const SafetensorsFile& file);

}  // namespace tfd::tensor
