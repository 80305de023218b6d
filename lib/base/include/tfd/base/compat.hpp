#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Selects whose behaviour to follow where tf.distribute's documentation, TensorFlow's code and the systems around it
// differ. Thread rule: constants.
#include <cstdint>

namespace tfd {

/// kNone: what the documentation promises, and what is right on the real system. kTensorflow: what TensorFlow 2.21
/// does, exactly.
enum class Compat : std::uint8_t { kNone, kTensorflow };

}  // namespace tfd
