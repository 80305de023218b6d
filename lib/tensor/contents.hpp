#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads a tensor's bytes out of a file; shared by the file formats of this room. Thread rule: free functions.
#include "tfd/tensor/file.hpp"
#include "tfd/tensor/npy.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::tensor {

/// Streams the file from its beginning; the file is borrowed.
ByteStream stream_of(const InputFile& file);

/// Reads the spec's bytes from `offset` on, in a buffer of their own (so aligned, and writable by its sole owner). The
/// caller has checked that they lie within the file. kDataLoss for a bool that is neither 0 nor 1: XLA takes those for
/// granted.
Result<Tensor> read_tensor(const InputFile& file, std::uint64_t offset, const TensorSpec& spec);

}  // namespace tfd::tensor
