#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A loaded PJRT plug-in: its table of functions, its errors as tfd's, its events. Knows nothing of clients or modules.
// Thread rule: thread-safe after load(), as the plug-in's functions are.
//
//   TFD_PJRT_ARGS(PJRT_Buffer_Destroy_Args, args);
//   args.buffer = buffer;
//   TFD_TRY(api.check(api->PJRT_Buffer_Destroy(&args), "cannot free a buffer"));
#include <pjrt_c_api.h>

#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"

// Every PJRT call takes one struct that says its size, so that older and newer sides understand each other.
#define TFD_PJRT_ARGS(type, name) \
  type name{};                    \
  name.struct_size = type##_STRUCT_SIZE

namespace tfd::function {

/// Whether the host can read the memory of the platform's devices.
inline bool has_host_memory(std::string_view platform) { return platform == "cpu"; }

class Api {
 public:
  /// Never unloaded: XLA's threads and static objects would not survive it. kFailedPrecondition: no such file, not a
  /// plug-in, an API that lacks what tfd calls.
  static Result<Api> load(const std::string& path);

  const PJRT_Api* operator->() const { return table_; }
  /// True if the plug-in has a function that load() doesn't require.
  bool has(std::size_t offset) const;

  /// Consumes the PJRT error; `what`, if not empty, is put in front of the first line of its text.
  Result<void> check(PJRT_Error* error, std::string_view what) const;
  /// Blocks until the event is ready, and destroys it. Null is ready.
  Result<void> await(PJRT_Event* event, std::string_view what) const;
  void destroy(PJRT_Event* event) const;
  void destroy(PJRT_Buffer* buffer) const;
  std::vector<std::int64_t> stablehlo_version() const;

 private:
  explicit Api(const PJRT_Api* table) : table_(table) {}
  const PJRT_Api* table_;  // static data of the plug-in
};

}  // namespace tfd::function
