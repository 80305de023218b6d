#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Whose results count where the documentation of tf.distribute, TensorFlow and the world around it differ. Thread rule:
// constants.
#include <cstdint>

namespace tfd {

/// kNone: what the documentation promises, and what is right on the real system. kTensorflow: what TensorFlow 2.21
/// does, exactly.
enum class Compat : std::uint8_t { kNone, kTensorflow };

}  // namespace tfd
