#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy files, versions 1.0 to 3.0, C order, little endian.
// Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. bf16 is written as |V2
// and read as that or as the <V2 of ml_dtypes.
#include <string>

#include "tfd/tensor/tensor.hpp"

namespace tfd::tensor {

/// kNotFound, kPermissionDenied; kInvalidArgument for another format, Fortran order, big endian or a dtype that tfd
/// lacks; kDataLoss when the file is shorter than its header says. Every message names the file.
Result<Tensor> load_npy(const std::string& path);
/// Only the header.
Result<TensorSpec> load_npy_spec(const std::string& path);
/// Written to a temporary file beside `path`, synced, then renamed: never half a file.
Result<void> save_npy(const std::string& path, const Tensor& tensor);

}  // namespace tfd::tensor
