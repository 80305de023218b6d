// SPDX-License-Identifier: Apache-2.0
#include "tfd/tensor/digest.hpp"

#include <isa-l/crc64.h>

namespace tfd::tensor {

std::uint64_t digest(std::span<const std::byte> bytes, std::uint64_t before) {
  return crc64_ecma_refl(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::uint64_t digest(const Tensor& tensor, std::uint64_t before) { return digest(tensor.bytes(), before); }

}  // namespace tfd::tensor
