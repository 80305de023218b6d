// SPDX-License-Identifier: Apache-2.0
#include "access.hpp"

#include "tfd/base/text.hpp"
#include "tfd/process/secrecy.hpp"

namespace tfd::resolve::kubernetes {
namespace {

/// A file that may be missing: nullopt.
Result<std::optional<Kubeconfig>> load_if_there(const std::string& path, const ResolverEnvironment& environment) {
  auto text = environment.load_file(path);
  if (!text && text.error().code == Code::kNotFound) return std::nullopt;
  if (!text) return fail(std::move(text).error());
  return TFD_TRY(parse_kubeconfig(*text, path));
}

bool is_loopback_host(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

/// Credentials go over TLS, or nowhere but to this machine (kubectl proxy).
Result<void> check_server(const Access& access) {
  const std::string_view server = access.server;
  if (server.starts_with("https://")) return {};
  if (!server.starts_with("http://"))
    return fail(Code::kInvalidArgument, "{}: server '{}' is not https://HOST[:PORT]", access.origin, printable(server));
  std::string_view host = server.substr(7);
  host = host.substr(0, host.find('/'));
  host = host.starts_with('[') ? host.substr(0, host.find(']') + 1) : host.substr(0, host.find(':'));
  const UserEntry& user = access.user;
  const bool anonymous = user.token.empty() && user.token_file.empty() && user.password.empty() && !user.exec;
  if (anonymous || is_loopback_host(host)) return {};
  return fail(Code::kFailedPrecondition,
              "{}: {} does not use TLS, so its credentials would be sent unencrypted: use https", access.origin,
              printable(server));
}

Result<Access> from_kubeconfig(const Kubeconfig& config, const KubernetesOptions& options,
                               const ResolverEnvironment& environment) {
  Chosen chosen = TFD_TRY(choose_context(config, options.context));
  Access access;
  access.origin = fmt::format("context '{}' of {}", printable(chosen.context), chosen.cluster.file);
  access.namespace_ = chosen.entry.namespace_.empty() ? "default" : chosen.entry.namespace_;
  access.cluster = std::move(chosen.cluster.value);
  access.user = std::move(chosen.user.value);
  access.server = access.cluster.server;
  while (access.server.ends_with('/')) access.server.pop_back();
  if (!access.user.auth_provider.empty())
    return fail(Code::kUnimplemented,
                "user '{}' of {}: auth-provider '{}' was removed from Kubernetes (1.26): use its exec plug-in instead",
                printable(chosen.user.name), chosen.user.file, printable(access.user.auth_provider));
  if (!access.cluster.ca_data.empty())
    access.tls.ca_pem = access.cluster.ca_data;
  else if (!access.cluster.ca_file.empty())
    access.tls.ca_pem = TFD_TRY(environment.load_file(access.cluster.ca_file),
                                fmt::format("the certificate authority of {}", access.origin));
  access.tls.server_name = access.cluster.tls_server_name;
  access.tls.verify = !access.cluster.insecure_skip_tls_verify;
  return access;
}

Result<Access> from_files(const std::vector<std::string>& paths, std::string_view named_by,
                          const KubernetesOptions& options, const ResolverEnvironment& environment) {
  Kubeconfig merged;
  for (const std::string& path : paths)
    if (auto config = TFD_TRY(load_if_there(path, environment))) merge_kubeconfig(merged, std::move(*config));
  if (merged.files.empty()) return fail(Code::kNotFound, "{} names {}: no such file", named_by, join_words(paths));
  return from_kubeconfig(merged, options, environment);
}

Result<Access> from_pod(const std::string& host, const ResolverEnvironment& environment) {
  const std::string folder(kServiceAccount);
  const std::string port = environment.env.get("KUBERNETES_SERVICE_PORT", "443");
  Access access;
  access.origin = "this pod's service account";
  access.server = fmt::format("https://{}:{}", url_host(host), port);
  access.tls.ca_pem = TFD_TRY(environment.load_file(folder + "/ca.crt"), access.origin);
  access.user.token_file = folder + "/token";
  if (const auto name = environment.load_file(folder + "/namespace")) access.namespace_ = *name;
  while (!access.namespace_.empty() && access.namespace_.back() <= ' ') access.namespace_.pop_back();
  return access;
}

Result<Access> find_access(const KubernetesOptions& options, const ResolverEnvironment& environment) {
  const Environment& env = environment.env;
  if (!options.kubeconfig.empty()) return from_files({options.kubeconfig}, "--kubeconfig", options, environment);

  std::vector<std::string> looked;
  if (const std::string list = env.get("KUBECONFIG"); !list.empty()) {
    std::vector<std::string> paths;
    for (std::string& path : split(list, ':'))
      if (!path.empty()) paths.push_back(std::move(path));
    if (!paths.empty()) return from_files(paths, "KUBECONFIG", options, environment);
  }
  looked.emplace_back("KUBECONFIG (not set)");

  const std::string host = env.get("KUBERNETES_SERVICE_HOST");
  const bool in_pod = !host.empty() && options.context.empty();
  const std::string token = std::string(kServiceAccount) + "/token";
  if (in_pod && environment.load_file(token)) return from_pod(host, environment);
  looked.push_back(host.empty()              ? "a pod's own configuration (KUBERNETES_SERVICE_HOST isn't set)"
                   : options.context.empty() ? fmt::format("a pod's own configuration (no {})", token)
                                             : "a pod's own configuration (it has no --context)");

  if (const std::string home = env.get("HOME"); !home.empty()) {
    const std::string path = home + "/.kube/config";
    if (auto config = TFD_TRY(load_if_there(path, environment))) return from_kubeconfig(*config, options, environment);
    looked.push_back(path + " (no such file)");
  } else {
    looked.emplace_back("~/.kube/config (HOME isn't set)");
  }
  return fail(Code::kFailedPrecondition, "no Kubernetes configuration: looked at {}; give --kubeconfig",
              join_words(looked));
}

}  // namespace

std::string url_host(const std::string& host) {
  return host.find(':') != std::string::npos && !host.starts_with('[') ? '[' + host + ']' : host;
}

Result<Access> load_access(const KubernetesOptions& options, const ResolverEnvironment& environment) {
  TFD_TRY(process::forbid_core_dumps());  // before the first file that may hold a credential is read
  Access access = TFD_TRY(find_access(options, environment));
  TFD_TRY(check_server(access));
  if (options.insecure_skip_tls_verify) access.tls.verify = false;
  if (!access.tls.verify) {
    access.tls.ca_pem.reset();
    environment.log.warning("{}: the identity of the API server {} is not verified", access.origin, access.server);
  }
  return access;
}

}  // namespace tfd::resolve::kubernetes
