#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The plug-in that a plug-in of the tests is around, and errors that aren't its own. Thread rule: thread-safe.
#include <pjrt_c_api.h>

#include <mutex>
#include <set>
#include <string>

namespace wrapped_plugin {

struct OwnError {
  PJRT_Error_Code code;
  std::string message;
};
inline std::mutex g_mutex;
inline std::set<const void*> g_errors;  // that are this plug-in's
inline const PJRT_Api* g_real = nullptr;

inline PJRT_Error* make_error(PJRT_Error_Code code, const char* message, size_t size) {
  auto* made = new OwnError{code, std::string(message, size)};
  const std::scoped_lock lock(g_mutex);
  g_errors.insert(made);
  return reinterpret_cast<PJRT_Error*>(made);
}
inline PJRT_Error* refuse(const std::string& message, PJRT_Error_Code code = PJRT_Error_Code_INVALID_ARGUMENT) {
  return make_error(code, message.data(), message.size());
}
inline PJRT_CallbackError g_callback_error = make_error;
inline const OwnError* own(const PJRT_Error* error) {
  const std::scoped_lock lock(g_mutex);
  return g_errors.contains(error) ? reinterpret_cast<const OwnError*>(error) : nullptr;
}
inline void message_of(PJRT_Error_Message_Args* args) {
  const OwnError* const error = own(args->error);
  if (error == nullptr) return g_real->PJRT_Error_Message(args);
  args->message = error->message.data();
  args->message_size = error->message.size();
}
inline PJRT_Error* code_of(PJRT_Error_GetCode_Args* args) {
  const OwnError* const error = own(args->error);
  if (error == nullptr) return g_real->PJRT_Error_GetCode(args);
  args->code = error->code;
  return nullptr;
}
inline void destroy_error(PJRT_Error_Destroy_Args* args) {
  const OwnError* const error = own(args->error);
  if (error == nullptr) return g_real->PJRT_Error_Destroy(args);
  {
    const std::scoped_lock lock(g_mutex);
    g_errors.erase(error);
  }
  delete error;
}

#define TRY(call)                                         \
  do {                                                    \
    if (PJRT_Error* const failed = (call)) return failed; \
  } while (false)

template <class Args>
Args args_of(size_t size) {
  Args out{};
  out.struct_size = size;
  return out;
}
#define ARGS(type) args_of<type>(type##_STRUCT_SIZE)

}  // namespace wrapped_plugin
