#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy files, versions 1.0 to 3.0, C order, little endian.
// Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. bf16 is written as |V2
// and read as that or as the <V2 of ml_dtypes. A complex array is read as its real and imaginary parts, f32 or f64 with
// a last dimension of 2.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "tfd/tensor/tensor.hpp"

namespace tfd::tensor {

/// Bytes that come one after the other, such as those of a compressed file.
struct ByteStream {
  std::string name;              // name of the source, for messages
  std::uint64_t most_bytes = 0;  // there can't be more
  /// Fills `out` with the next bytes. kDataLoss if there are fewer; every error names the source.
  std::function<Result<void>(std::span<std::byte> out)> read;
};
/// Reads an array from the beginning of the stream. Errors as load_npy().
Result<Tensor> read_npy(const ByteStream& stream);
/// Whether the array is one whose dtype tfd lacks: objects, texts, records, dates. Other errors are left to
/// read_npy_spec().
bool has_unsupported_dtype(const ByteStream& stream);
/// Only the header.
Result<TensorSpec> read_npy_spec(const ByteStream& stream);
/// The next bytes as a tensor, in a buffer of its own. kDataLoss for a bool that is neither 0 nor 1: XLA takes those
/// for granted.
Result<Tensor> read_tensor(const ByteStream& stream, const TensorSpec& spec);

/// kNotFound, kPermissionDenied; kInvalidArgument for another format, Fortran order, big endian or a dtype that tfd
/// lacks; kDataLoss when the file is shorter than its header says. Every message names the file.
Result<Tensor> load_npy(const std::string& path);
/// Only the header.
Result<TensorSpec> load_npy_spec(const std::string& path);
/// Writes atomically: a temporary file beside `path`, synced, then renamed.
Result<void> save_npy(const std::string& path, const Tensor& tensor);

}  // namespace tfd::tensor
