#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Selects whose behavior to follow where tf.distribute's documentation, TensorFlow's code and the systems around it
// differ. Thread rule: constants.
#include <cstdint>

namespace tfd {

/// kNone: the documented behavior, which is also right on the real system. kTensorflow: exactly the behavior of
/// TensorFlow 2.21.
enum class Compat : std::uint8_t { kNone, kTensorflow };

}  // namespace tfd
