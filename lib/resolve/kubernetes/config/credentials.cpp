// SPDX-License-Identifier: Apache-2.0
#include "credentials.hpp"

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::resolve::kubernetes {
namespace {

constexpr std::chrono::seconds kEarly{30};  // so that a token about to expire isn't sent

/// A token file may end in a newline, a header may not.
std::string trimmed(std::string text) {
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.pop_back();
  return text;
}

}  // namespace

Credentials::Credentials(const Access& access, const ResolverEnvironment& environment)
    : access_(access), environment_(environment) {}

Result<void> Credentials::prepare(Deadline deadline) {
  const UserEntry& user = access_.user;
  if (user.exec && exec_ && exec_->expires && environment_.now() + kEarly >= *exec_->expires) {
    exec_.reset();
    tls_.reset();
  }
  if (user.exec && !exec_) exec_ = TFD_TRY(run_exec_plugin(access_, environment_, deadline));
  if (tls_) return {};
  // One Tls for all requests: a new one would mean a new connection.
  Tls tls = access_.tls;
  if (exec_ && !exec_->certificate.empty()) {
    tls.client_certificate_pem = exec_->certificate;
    tls.client_key_pem = exec_->key;
  } else {
    const std::string what = fmt::format("the client certificate of {}", access_.origin);
    tls.client_certificate_pem = user.certificate_data;
    if (tls.client_certificate_pem.empty() && !user.certificate_file.empty())
      tls.client_certificate_pem = TFD_TRY(environment_.load_file(user.certificate_file), what);
    tls.client_key_pem = user.key_data;
    if (tls.client_key_pem.empty() && !user.key_file.empty())
      tls.client_key_pem = Secret(TFD_TRY(environment_.load_file(user.key_file), what));
    if (tls.client_certificate_pem.empty() != tls.client_key_pem.empty())
      return fail(Code::kInvalidArgument, "{}: {} is missing", what,
                  tls.client_key_pem.empty() ? "client-key" : "client-certificate");
  }
  tls_ = std::make_shared<const Tls>(std::move(tls));
  return {};
}

Result<void> Credentials::apply(Request& request, Deadline deadline) {
  TFD_TRY(prepare(deadline));
  const UserEntry& user = access_.user;
  request.tls = tls_;
  request.proxy = access_.cluster.proxy_url;
  if (!user.as.empty()) {
    request.headers.emplace_back("Impersonate-User", user.as);
    if (!user.as_uid.empty()) request.headers.emplace_back("Impersonate-Uid", user.as_uid);
    for (const std::string& group : user.as_groups) request.headers.emplace_back("Impersonate-Group", group);
  }
  if (exec_ && !exec_->token.empty()) {
    request.bearer = exec_->token;
  } else if (!user.token_file.empty()) {
    // Read each time: it is replaced before it expires (a pod's lives an hour).
    auto token = environment_.load_file(user.token_file);
    if (token)
      request.bearer = Secret(trimmed(std::move(*token)));
    else if (!user.token.empty())
      request.bearer = user.token;
    else
      return fail(std::move(token).error().within(fmt::format("the token of {}", access_.origin)));
  } else if (!user.token.empty()) {
    request.bearer = user.token;
  } else if (!user.username.empty()) {
    request.basic = {user.username, user.password};
  }
  return {};
}

bool Credentials::forget() {
  if (!access_.user.token_file.empty()) return true;
  if (!access_.user.exec) return false;
  exec_.reset();
  tls_.reset();
  return true;
}

std::string Credentials::describe() const {
  const UserEntry& user = access_.user;
  if (user.exec) return fmt::format("what {} gave", printable(user.exec->command));
  if (!user.token_file.empty()) return fmt::format("the token in {}", printable(user.token_file));
  if (!user.token.empty()) return "its token";
  if (!user.username.empty()) return "its password";
  if (!user.certificate_data.empty() || !user.certificate_file.empty()) return "its client certificate";
  return "no credentials";
}

}  // namespace tfd::resolve::kubernetes
