#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A client of Google's REST APIs: JSON with an access token, retried where that may help, a new token after one 401,
// and errors as one clear line. Source: Google's "API design guide: errors". Thread rule: one thread.
#include <memory>
#include <string>

#include "credentials.hpp"
#include "metadata_server.hpp"
#include "tfd/cluster/json_value.hpp"

namespace tfd::resolve::google {

class Api {
 public:
  /// `environment` must outlive it. `name` is for messages: "Cloud TPU API".
  Api(std::string name, const std::string& credentials_file, const ResolverEnvironment& environment);

  /// The answer to a 200. kNotFound, kPermissionDenied (401, 403), kInvalidArgument (other 4xx), kUnavailable (429 and
  /// 5xx to the last attempt, cut off, not JSON), kDeadlineExceeded, those of TokenSource and Fetcher; each begins with
  /// `what`.
  Result<cluster::JsonValue> get(const std::string& url, const std::string& what, Deadline deadline);
  Result<cluster::JsonValue> post(const std::string& url, const std::string& body, const std::string& what,
                                  Deadline deadline);
  /// Fetches what needs no token, such as a discovery document.
  Result<cluster::JsonValue> get_public(const std::string& url, const std::string& what, Deadline deadline);

  MetadataServer& metadata() { return metadata_; }

 private:
  Result<cluster::JsonValue> send(Request request, const std::string& what, bool with_token, Deadline deadline);
  Error refusal(const Response& response, const std::string& what, bool with_token) const;

  std::string name_;
  const ResolverEnvironment& environment_;
  MetadataServer metadata_;
  std::unique_ptr<TokenSource> tokens_;
};

/// One part of a URL's path: a letter or digit first, then those and -_.: (domain-scoped projects have a colon).
/// kInvalidArgument names `what`.
Result<void> check_path_part(std::string_view text, std::string_view what);

/// nullptr or "" where the member isn't there or isn't a text.
std::string text_member(const cluster::JsonValue& object, std::string_view key);

}  // namespace tfd::resolve::google
