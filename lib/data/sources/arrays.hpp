#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Arrays in files: npy, idx, and those of an npz or safetensors file; all but npz also gzipped. Thread rule: functions
// without state.
#include <cstdint>
#include <string>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/npy.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::data {

enum class StoredFormat : std::uint8_t { kNpy, kIdx, kNpz, kSafetensors };
struct StoredArray {
  StoredFormat format = StoredFormat::kNpy;
  std::string path;
  std::string key = {};  // of an npz or safetensors file
};

/// kNotFound: no file, or no array of that name; kInvalidArgument for another format; kDataLoss for a file that is cut
/// off or corrupt. Every message names the file.
Result<tensor::Tensor> load_array(const StoredArray& array);
/// The spec of the array, from its header alone. Errors as load_array()'s.
Result<tensor::TensorSpec> load_array_spec(const StoredArray& array);
/// The names of the arrays in an npz or safetensors file, in their order in it (safetensors: by name), except for
/// arrays of a type that tfd lacks.
Result<std::vector<std::string>> load_array_names(StoredFormat format, const std::string& path);

// --- the formats that only data have -------------------------------------------------------------------------------

/// MNIST's format: two zero bytes, type, rank, dimensions, values; big endian.
/// Source: http://yann.lecun.com/exdb/mnist/ ("the IDX file format").
Result<tensor::Tensor> read_idx(const tensor::ByteStream& stream);
Result<tensor::TensorSpec> read_idx_spec(const tensor::ByteStream& stream);

/// A zip file of .npy files, stored or deflated, as numpy.savez and savez_compressed write it. If several have one
/// name, the last one counts, and one named KEY counts before KEY.npy, as for NumPy.
Result<tensor::Tensor> load_npz(const std::string& path, const std::string& key);
Result<tensor::TensorSpec> load_npz_spec(const std::string& path, const std::string& key);
/// The names of its arrays, without ".npy", except for those of a dtype that tfd lacks.
Result<std::vector<std::string>> load_npz_names(const std::string& path);

}  // namespace tfd::data
