#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How tfd fails: values, not exceptions. Result<T> is a value or an Error; match on Error::code, never on its text.
// Thread rule: plain values.
//
//   Result<Tensor> load_npy(const std::string& path);
//   Tensor t = TFD_TRY(load_npy(path));                          // return the error to the caller
//   Tensor t = TFD_TRY(load_npy(path), "datasets.train[0]");     // the same, with where it happened put in front
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace tfd {

/// A closed list, after absl::StatusCode (https://abseil.io/docs/cpp/guides/status-codes), with three of our own.
/// The comment says what the caller should do.
enum class Code {
  kCancelled,           // the caller, or a signal, asked for the work to stop: pass it on
  kUnknown,             // a peer said something that has no code here
  kInvalidArgument,     // the input is wrong whatever the state of the system: fix the input
  kDeadlineExceeded,    // nothing refused, time ran out: retrying may help
  kNotFound,            // a named file, job, task, variable or function doesn't exist
  kAlreadyExists,       // a name that must be new is taken
  kPermissionDenied,    // keys, modes, fenced off by a newer coordinator: don't retry
  kResourceExhausted,   // memory, disk, descriptors, a limit of a peer
  kFailedPrecondition,  // the system isn't in the state that this needs: fix the configuration
  kAborted,             // lost a race or a peer's incarnation changed: retry at a higher level
  kOutOfRange,          // past the end, as of a dataset
  kUnimplemented,       // this build or plug-in can't
  kInternal,            // a broken invariant: a bug
  kUnavailable,         // the peer is gone or refuses: retry the call, or recover
  kDataLoss,            // stored data is corrupt or cut off
  kUsage,               // the command line is wrong
  kSystem,              // the operating system refused
  kProtocolMismatch,    // the peer speaks another version
};

/// INVALID_ARGUMENT and so on, as on the wire and in JSON.
std::string_view code_name(Code code);
/// The inverse; kUnknown for an unknown name.
Code parse_code(std::string_view name);

struct [[nodiscard]] Error {
  Code code = Code::kUnknown;
  std::string message;  // one line: the failure, its object and the way out; lower case, no full stop
  std::string task;     // "worker:1" when a task is the cause or the place, else empty

  /// The same error with where it happened in front: "program.json: train.steps: must be positive".
  Error within(std::string_view where) &&;
};

template <class T = void>
using Result = tl::expected<T, Error>;

/// return fail(Code::kNotFound, "no variable '{}'", name);
template <class... Args>
tl::unexpected<Error> fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...), {}});
}
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

/// kSystem (kNotFound for ENOENT, kPermissionDenied for EACCES and EPERM, kResourceExhausted for ENOSPC, EDQUOT,
/// ENOMEM, EMFILE) with the text of `saved_errno`: "cannot open x.json: no such file or directory".
tl::unexpected<Error> fail_errno(int saved_errno, std::string_view what);

namespace detail {
template <class T>
T take(Result<T>&& result) {
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
inline Error add_context(Error&& error) { return std::move(error); }
inline Error add_context(Error&& error, std::string_view where) { return std::move(error).within(where); }
}  // namespace detail

}  // namespace tfd

// The value of a Result, or return its error (with a context in front, if one is given) from the enclosing function.
// The counter keeps the names of nested uses apart.
#define TFD_TRY(expression, ...) \
  TFD_TRY_NAMED(TFD_TRY_JOIN(tfd_result_, __COUNTER__), expression __VA_OPT__(, ) __VA_ARGS__)
#define TFD_TRY_JOIN(a, b) TFD_TRY_JOIN_EXPANDED(a, b)
#define TFD_TRY_JOIN_EXPANDED(a, b) a##b
#define TFD_TRY_NAMED(name, expression, ...)                                               \
  __extension__({                                                                          \
    auto name = (expression);                                                              \
    if (!name)                                                                             \
      return ::tl::unexpected<::tfd::Error>(                                               \
          ::tfd::detail::add_context(std::move(name).error() __VA_OPT__(, ) __VA_ARGS__)); \
    ::tfd::detail::take(std::move(name));                                                  \
  })
