#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A digest of a tensor's bytes, to find out whether two copies differ by accident. It doesn't protect against people
// who alter them, because they can alter the digest, too. Thread rule: pure.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tfd/tensor/tensor.hpp"

namespace tfd::tensor {

/// CRC-64 of the elements, by ISA-L (about as fast as memory is read), in one with `before`, the digest of what came
/// before. Dtype and shape aren't in it.
std::uint64_t digest(const Tensor& tensor, std::uint64_t before = 0);
/// The same of bytes.
std::uint64_t digest(std::span<const std::byte> bytes, std::uint64_t before);

}  // namespace tfd::tensor
