// SPDX-License-Identifier: Apache-2.0
#include "key_values.hpp"

#include <algorithm>
#include <chrono>

namespace tfd::function {
namespace {

constexpr std::chrono::minutes kLongest{10};  // limit for a plug-in that would wait forever

PJRT_Error_Code code_of(Code code) {
  switch (code) {
    case Code::kNotFound:
      return PJRT_Error_Code_NOT_FOUND;
    case Code::kDeadlineExceeded:
      return PJRT_Error_Code_DEADLINE_EXCEEDED;
    case Code::kUnavailable:
      return PJRT_Error_Code_UNAVAILABLE;
    case Code::kCancelled:
      return PJRT_Error_Code_CANCELLED;
    case Code::kInvalidArgument:
      return PJRT_Error_Code_INVALID_ARGUMENT;
    default:
      return PJRT_Error_Code_INTERNAL;
  }
}

PJRT_Error* report(PJRT_CallbackError* callback, const Error& error) {
  return (*callback)(code_of(error.code), error.message.data(), error.message.size());
}

/// The plug-in copies the value and frees it by the given deleter.
template <class Args>
PJRT_Error* answer(Args* args, const Result<std::string>& value) {
  if (!value) return report(args->callback_error, value.error());
  args->value = new char[value->size()];
  std::ranges::copy(*value, args->value);
  args->value_size = value->size();
  args->value_deleter_callback = [](char* made) { delete[] made; };
  return nullptr;
}

}  // namespace

void KeyValues::add_to(PJRT_Client_Create_Args& args) {
  args.kv_get_callback = get;
  args.kv_try_get_callback = try_get;
  args.kv_put_callback = put;
  args.kv_get_user_arg = args.kv_try_get_user_arg = args.kv_put_user_arg = this;
}

PJRT_Error* KeyValues::get(PJRT_KeyValueGetCallback_Args* args) {
  const std::chrono::milliseconds asked(args->timeout_in_ms);
  const auto wait = asked.count() < 0 ? kLongest : std::min<std::chrono::milliseconds>(asked, kLongest);
  auto& exchange = *static_cast<KeyValues*>(args->user_arg)->exchange_;
  return answer(args, exchange.get(std::string(args->key, args->key_size), Deadline::after(wait)));
}

PJRT_Error* KeyValues::try_get(PJRT_KeyValueTryGetCallback_Args* args) {
  auto& exchange = *static_cast<KeyValues*>(args->user_arg)->exchange_;
  return answer(args, exchange.try_get(std::string(args->key, args->key_size)));
}

PJRT_Error* KeyValues::put(PJRT_KeyValuePutCallback_Args* args) {
  auto& exchange = *static_cast<KeyValues*>(args->user_arg)->exchange_;
  const auto done = exchange.put(std::string(args->key, args->key_size), std::string(args->value, args->value_size));
  return done ? nullptr : report(args->callback_error, done.error());
}

}  // namespace tfd::function
