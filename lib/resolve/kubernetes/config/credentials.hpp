#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Credentials of a request to the API server: a token (given, from a file that is read again, from an exec plug-in), a
// password, a client certificate. Thread rule: one thread.
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "../access.hpp"

namespace tfd::resolve::kubernetes {

/// The output of a plug-in.
struct ExecStatus {
  Secret token;
  std::string certificate;
  Secret key;
  std::optional<std::chrono::system_clock::time_point> expires;
};

/// "2026-01-02T03:04:05Z", "…05.678+01:00". nullopt for anything else.
std::optional<std::chrono::system_clock::time_point> parse_rfc3339(std::string_view text);
/// KUBERNETES_EXEC_INFO.
std::string exec_info(const ExecEntry& exec, const ClusterEntry& cluster, const std::optional<std::string>& ca_pem);
/// The plug-in's stdout. kInvalidArgument: not an ExecCredential of the version asked for, or without credentials;
/// never quotes it.
Result<ExecStatus> parse_exec_status(std::string_view output, const ExecEntry& exec);
/// Runs it: its stderr is ours, its stdin /dev/null. kNotFound with its install hint; kPermissionDenied when it fails;
/// kFailedPrecondition where it must talk to somebody (interactiveMode Always); kDeadlineExceeded.
Result<ExecStatus> run_exec_plugin(const Access& access, const ResolverEnvironment& environment, Deadline deadline);

class Credentials {
 public:
  Credentials(const Access& access, const ResolverEnvironment& environment);
  /// Puts them into `request`, asked for anew where they have expired. Errors: which file can't be read, and those of
  /// run_exec_plugin().
  Result<void> apply(Request& request, Deadline deadline);
  /// The server refused them (401). False where there is no other way to get some.
  bool forget();
  /// "the token of user …", for messages.
  std::string describe() const;

 private:
  Result<void> prepare(Deadline deadline);
  const Access& access_;
  const ResolverEnvironment& environment_;
  std::shared_ptr<const Tls> tls_;
  std::optional<ExecStatus> exec_;
};

}  // namespace tfd::resolve::kubernetes
