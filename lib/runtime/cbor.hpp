#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Metadata of messages: one CBOR value, an array of what a struct holds. Inside the room only; for .cpp files that
// encode and decode. Thread rule: pure functions.
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tfd/transport/endpoint.hpp"

namespace tfd::runtime {

template <class Kind>
transport::Message make_message(Kind kind, const nlohmann::json& meta, std::vector<tensor::Tensor> tensors = {}) {
  transport::Message out{static_cast<std::uint16_t>(kind), {}, std::move(tensors)};
  nlohmann::json::to_cbor(meta, out.meta);
  return out;
}

/// Runs `read` on the decoded metadata; whatever is missing or of another type there is one error.
template <class T, class Read>
Result<T> decode(const transport::Message& message, const char* what, Read read) {
  try {
    return read(nlohmann::json::from_cbor(message.meta));
  } catch (const nlohmann::json::exception&) {
    return fail(Code::kInvalidArgument, "malformed {} message", what);
  }
}

}  // namespace tfd::runtime
