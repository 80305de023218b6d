#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The TPU devices of this machine, by PJRT, for `tpu local`. Thread rule: main thread.
#include <string>

#include "tfd/resolve/surroundings.hpp"

namespace tfd::tool_resolve {

/// By libtpu: TPU_LIBRARY_PATH, else libtpu.so in the system's library folders; as tasks of job localhost, one a host.
/// With TFD_TPU_TOPOLOGY=2x2 (chips in each direction) the CPU plug-in plays so many, to try something out without a
/// TPU. Loads nothing before it is asked. kNotFound: no plug-in, or it finds no TPU. A plug-in can't be interrupted:
/// the deadline is looked at before it is loaded.
resolve::DeviceLister make_device_lister(const Environment& env);

/// What initializing the TPU found, as a JSON object: its kind, cores and hosts, the mesh of its chips, and each device
/// with its place there. Devices and errors as those of make_device_lister(). Source: TensorFlow's
/// initialize_tpu_system, whose topology has the same mesh_shape and device_coordinates.
Result<std::string> describe_tpu(const Environment& env, Deadline deadline);

}  // namespace tfd::tool_resolve
