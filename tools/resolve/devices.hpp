#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Lists the TPU devices of this machine through PJRT, for `tpu local`. Thread rule: main thread.
#include <string>

#include "tfd/resolve/resolver_environment.hpp"

namespace tfd::tool_resolve {

/// Makes a lister that uses libtpu (TPU_LIBRARY_PATH, else libtpu.so in the system's library folders); devices are
/// tasks of job localhost, one per host. With TFD_TPU_TOPOLOGY=2x2 (chips in each direction) the CPU plug-in simulates
/// that many, to try things without a TPU. Loads nothing before it is called. kNotFound: no plug-in, or it finds no
/// TPU. A plug-in can't be interrupted: the deadline is checked before it is loaded.
resolve::DeviceLister make_device_lister(const Environment& env);

/// Describes the initialized TPU as a JSON object: its kind, cores and hosts, the mesh of its chips, and each device
/// with its coordinates. Devices and errors as those of make_device_lister(). Source: TensorFlow's
/// initialize_tpu_system, whose topology has the same mesh_shape and device_coordinates.
Result<std::string> describe_tpu(const Environment& env, Deadline deadline);

}  // namespace tfd::tool_resolve
