// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/error.hpp"

#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "tfd/base/names.hpp"

namespace tfd {
namespace {

constexpr NameTable<Code, 18> kNames{{{{Code::kCancelled, "CANCELLED"},
                                       {Code::kUnknown, "UNKNOWN"},
                                       {Code::kInvalidArgument, "INVALID_ARGUMENT"},
                                       {Code::kDeadlineExceeded, "DEADLINE_EXCEEDED"},
                                       {Code::kNotFound, "NOT_FOUND"},
                                       {Code::kAlreadyExists, "ALREADY_EXISTS"},
                                       {Code::kPermissionDenied, "PERMISSION_DENIED"},
                                       {Code::kResourceExhausted, "RESOURCE_EXHAUSTED"},
                                       {Code::kFailedPrecondition, "FAILED_PRECONDITION"},
                                       {Code::kAborted, "ABORTED"},
                                       {Code::kOutOfRange, "OUT_OF_RANGE"},
                                       {Code::kUnimplemented, "UNIMPLEMENTED"},
                                       {Code::kInternal, "INTERNAL"},
                                       {Code::kUnavailable, "UNAVAILABLE"},
                                       {Code::kDataLoss, "DATA_LOSS"},
                                       {Code::kUsage, "USAGE"},
                                       {Code::kSystem, "SYSTEM"},
                                       {Code::kProtocolMismatch, "PROTOCOL_MISMATCH"}}}};

Code code_of_errno(int saved_errno) {
  switch (saved_errno) {
    case ENOENT:
      return Code::kNotFound;
    case EACCES:
    case EPERM:
      return Code::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return Code::kResourceExhausted;
    default:
      return Code::kSystem;
  }
}

}  // namespace

std::string_view code_name(Code code) { return kNames.name(code); }

Code parse_code(std::string_view name) { return kNames.find(name).value_or(Code::kUnknown); }

Error Error::within(std::string_view where) && {
  message = fmt::format("{}: {}", where, message);
  return std::move(*this);
}

tl::unexpected<Error> fail_errno(int saved_errno, std::string_view what) {
  std::array<char, 128> buffer{};
  std::string text = strerror_r(saved_errno, buffer.data(), buffer.size());
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return fail(code_of_errno(saved_errno), "{}: {}", what, text);
}

}  // namespace tfd
