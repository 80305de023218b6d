#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Access tokens for Google's APIs, from application-default credentials. Where they are looked for, first wins:
//   1. the file given (--credentials)
//   2. GOOGLE_APPLICATION_CREDENTIALS
//   3. CLOUDSDK_AUTH_ACCESS_TOKEN_FILE: a file with a token, as gcloud takes it
//   4. application_default_credentials.json in CLOUDSDK_CONFIG, else HOME/.config/gcloud
//   5. the metadata server: the service account of the VM or pod
// Files: service_account, authorized_user, external_account (token from a file), impersonated_service_account.
// Source: Google's "How Application Default Credentials works", AIP-4110 to 4117; RFC 7523, RFC 8693.
// Thread rule: one thread.
#include <memory>
#include <string>

#include "metadata_server.hpp"
#include "tfd/resolve/resolver_environment.hpp"
#include "tfd/resolve/secret.hpp"

namespace tfd::resolve::google {

inline constexpr std::string_view kCloudScope = "https://www.googleapis.com/auth/cloud-platform";

class TokenSource {
 public:
  virtual ~TokenSource() = default;
  /// The token, asked for again shortly before it expires. kPermissionDenied: the credentials aren't accepted, says
  /// where they came from; kInvalidArgument: what is wrong with which file; kFailedPrecondition: none anywhere, says
  /// where they were looked for; kUnimplemented: a type that tfd doesn't know; kUnavailable, kDeadlineExceeded.
  virtual Result<Secret> fetch_token(Deadline deadline) = 0;
  /// The next one is a new one: an API said 401.
  virtual void forget() = 0;
  /// "the service account of key.json", once a token was fetched.
  virtual const std::string& origin() const = 0;
};

/// Reads nothing yet: an API may never be asked. `metadata` and `environment` must outlive it.
std::unique_ptr<TokenSource> make_token_source(std::string credentials_file, MetadataServer& metadata,
                                               const ResolverEnvironment& environment);

/// kInvalidArgument unless it is https, or http to this machine: what carries credentials goes nowhere else.
Result<void> check_credentials_url(std::string_view url, std::string_view what);

}  // namespace tfd::resolve::google
