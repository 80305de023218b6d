#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The name of the TPU: the given one, else the environment's. Source: Client.__init__ and
// TPUClusterResolver.__init__ of TensorFlow 2.21. Thread rule: pure functions.
#include <optional>
#include <string>
#include <vector>

#include "tfd/resolve/tpu.hpp"

namespace tfd::resolve::google {

struct TpuName {
  enum class Kind {
    kLocal,      // attached to this machine
    kAddresses,  // grpc://…: text is as given
    kNode,       // a name for the API
    kSlice,      // a worker of a slice: the variables or the metadata of a TPU VM say the rest
  };
  Kind kind = Kind::kNode;
  std::string text;
  std::string project, zone;  // what TPU_CONFIG or a whole resource name says, where not given
};

/// The order, first wins: the TPU given; KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS; the slice that TPU_PROCESS_ADDRESSES or
/// TPU_WORKER_HOSTNAMES name; TPU_NAME; TPU_CONFIG; else kSlice with an empty text: the metadata server may know.
/// TensorFlow knows no slices and takes variables that are set but empty.
Result<TpuName> find_tpu_name(const TpuOptions& options, const Environment& env);

/// "grpc://10.0.0.1:8470,grpc://[fd00::1]": HOST:PORT each. TensorFlow splits at every colon.
Result<std::vector<std::string>> parse_tpu_addresses(const std::string& text, int default_port, Compat compat);

/// HOST:PORT from what an API says: an IPv6 address gets its brackets.
std::string join_address(const std::string& host, const std::string& port);

}  // namespace tfd::resolve::google
