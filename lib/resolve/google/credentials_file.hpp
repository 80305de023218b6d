#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The contents of a credentials file, and their exchange for an access token. Thread rule: one thread.
#include <chrono>
#include <memory>
#include <string>

#include "tfd/resolve/resolver_environment.hpp"
#include "tfd/resolve/secret.hpp"

namespace tfd::resolve::google {

struct AccessToken {
  Secret text;
  std::chrono::system_clock::time_point expires;
};

/// One of Google's kinds of credentials.
class Credentials {
 public:
  virtual ~Credentials() = default;
  /// "the service account a@b.iam.gserviceaccount.com".
  virtual std::string describe() const = 0;
  virtual Result<AccessToken> exchange(const ResolverEnvironment& environment, Deadline deadline) const = 0;
};

/// kInvalidArgument names `source` and what is wrong in it, never what it holds; kUnimplemented for other types.
Result<std::unique_ptr<Credentials>> parse_credentials(const Secret& text, const std::string& source);

/// Parses the answer of a token server: {"access_token": …, "expires_in": 3599}. kUnavailable where it isn't that.
Result<AccessToken> parse_token(std::string body, std::string_view source, std::chrono::system_clock::time_point now);

}  // namespace tfd::resolve::google
