#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Requests to the API server: credentials put in, renewed once after a 401, errors told apart and explained.
// Thread rule: one thread.
#include <string>

#include "config/credentials.hpp"
#include "tfd/cluster/json_value.hpp"

namespace tfd::resolve::kubernetes {

/// "a%3Db": everything but letters, digits, '-', '.', '_' and '~'.
std::string percent_encoded(std::string_view text);

class Client {
 public:
  Client(Access access, const ResolverEnvironment& environment);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// The document at a path such as "/api/v1/pods?limit=500"; `verb` and `what` ("list", "pods in namespace a") are for
  /// messages. kPermissionDenied: 401, 403 (with the right that is needed), a certificate that isn't trusted;
  /// kNotFound, kInvalidArgument, kOutOfRange (410: too old), kUnavailable (429 and 5xx, after retries; no connection),
  /// kDeadlineExceeded, kDataLoss (not JSON).
  Result<cluster::JsonValue> get(const std::string& path, std::string_view verb, std::string_view what,
                                 Deadline deadline);
  /// The same for a watch; true when the server ended it, false when `sink` did. Not tried again.
  Result<bool> stream(const std::string& path, std::string_view what, Duration idle, const ChunkSink& sink,
                      Deadline deadline);
  const Access& access() const { return access_; }

 private:
  Error explain(const Response& response, std::string_view verb, std::string_view what) const;
  Error explain(Error error) const;
  template <class Send>
  Result<Response> send(const std::string& path, Deadline deadline, Send&& send_request);

  const Access access_;
  const ResolverEnvironment& environment_;
  Credentials credentials_;
};

/// The message of a Status object, or the first words of another body.
std::string status_message(std::string_view body);

}  // namespace tfd::resolve::kubernetes
