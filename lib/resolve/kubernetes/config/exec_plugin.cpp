// SPDX-License-Identifier: Apache-2.0
//
// Exec credential plug-ins. Source: client.authentication.k8s.io v1 and v1beta1.
#include <algorithm>
#include <cstdio>

#include "credentials.hpp"
#include "tfd/base/text.hpp"
#include "tfd/cluster/json_value.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/process/job.hpp"

namespace tfd::resolve::kubernetes {
namespace {

using cluster::JsonValue;

constexpr std::size_t kMostOutput = std::size_t{1} << 20;
constexpr std::chrono::seconds kLongest{60};

std::string base64(std::string_view bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) {
      return i + k < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[i + k])) : 0U;
    };
    const unsigned bits = at(0) << 16 | at(1) << 8 | at(2);
    for (int k = 0; k < 4; ++k)
      out += i + static_cast<std::size_t>(k) <= bytes.size() ? kAlphabet[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

JsonValue text_value(std::string text) {
  JsonValue out{.kind = JsonValue::Kind::kString};
  out.text = std::move(text);
  return out;
}

JsonValue bool_value(bool value) {
  JsonValue out{.kind = JsonValue::Kind::kBool};
  out.boolean = value;
  return out;
}

std::string text_of(const JsonValue* value) {
  return value != nullptr && value->is(JsonValue::Kind::kString) ? value->text : std::string();
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> parse_rfc3339(std::string_view text) {
  using namespace std::chrono;
  int y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0, used = 0;
  const std::string copy(text);
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2d%*1[Tt ]%2d:%2d:%2d%n", &y, &mo, &d, &h, &mi, &s, &used) != 6 || used == 0)
    return std::nullopt;
  const year_month_day date{year(y), month(static_cast<unsigned>(mo)), day(static_cast<unsigned>(d))};
  if (!date.ok() || h > 23 || mi > 59 || s > 60) return std::nullopt;
  std::string_view rest = text.substr(static_cast<std::size_t>(used));
  if (rest.starts_with('.'))  // fractions don't matter here
    rest.remove_prefix(std::min(rest.find_first_not_of("0123456789", 1), rest.size()));
  int offset = 0;
  if (rest != "Z" && rest != "z") {
    int hours = 0, minutes = 0;
    const std::string zone(rest);
    if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') ||
        std::sscanf(zone.c_str() + 1, "%2d:%2d", &hours, &minutes) != 2)
      return std::nullopt;
    offset = (hours * 60 + minutes) * (zone[0] == '-' ? -1 : 1);
  }
  // The clock counts nanoseconds, and differences must fit too: distant times are clamped.
  constexpr sys_seconds kFirst{seconds(-6'000'000'000)}, kLast{seconds(6'000'000'000)};
  return std::clamp<sys_seconds>(sys_days(date) + hours(h) + minutes(mi) + seconds(s) - minutes(offset), kFirst, kLast);
}

std::string exec_info(const ExecEntry& exec, const ClusterEntry& entry, const std::optional<std::string>& ca_pem) {
  JsonValue spec{.kind = JsonValue::Kind::kObject};
  if (exec.provide_cluster_info) {
    JsonValue info{.kind = JsonValue::Kind::kObject};
    info.set("server", text_value(entry.server));
    if (!entry.tls_server_name.empty()) info.set("tls-server-name", text_value(entry.tls_server_name));
    if (entry.insecure_skip_tls_verify) info.set("insecure-skip-tls-verify", bool_value(true));
    if (ca_pem) info.set("certificate-authority-data", text_value(base64(*ca_pem)));
    if (!entry.proxy_url.empty()) info.set("proxy-url", text_value(entry.proxy_url));
    if (auto config = cluster::parse_json(entry.exec_extension, "config"); config)
      info.set("config", std::move(*config));
    spec.set("cluster", std::move(info));
  }
  spec.set("interactive", bool_value(false));
  JsonValue root{.kind = JsonValue::Kind::kObject};
  root.set("kind", text_value("ExecCredential"));
  root.set("apiVersion", text_value(exec.api_version));
  root.set("spec", std::move(spec));
  std::string out;
  append_json(out, root);
  return out;
}

Result<ExecStatus> parse_exec_status(std::string_view output, const ExecEntry& exec) {
  const std::string what = fmt::format("credential plug-in {}", printable(exec.command));
  const auto root = cluster::parse_json(output, what);
  if (!root) return fail(Code::kInvalidArgument, "{}: its output isn't JSON", what);  // and may hold a secret
  if (text_of(root->find("kind")) != "ExecCredential")
    return fail(Code::kInvalidArgument, "{}: its output isn't an ExecCredential", what);
  if (const std::string version = text_of(root->find("apiVersion")); version != exec.api_version)
    return fail(Code::kInvalidArgument, "{}: it speaks '{}', the kubeconfig asks for {}", what, printable(version),
                exec.api_version);
  const JsonValue* status = root->find("status");
  ExecStatus out;
  if (status != nullptr) {
    out.token = Secret(text_of(status->find("token")));
    out.certificate = text_of(status->find("clientCertificateData"));
    out.key = Secret(text_of(status->find("clientKeyData")));
    if (const std::string when = text_of(status->find("expirationTimestamp")); !when.empty()) {
      out.expires = parse_rfc3339(when);
      if (!out.expires)
        return fail(Code::kInvalidArgument, "{}: status.expirationTimestamp: '{}' isn't a time", what, printable(when));
    }
  }
  if (out.certificate.empty() != out.key.empty())
    return fail(Code::kInvalidArgument, "{}: status has only one of clientCertificateData and clientKeyData", what);
  if (out.token.empty() && out.certificate.empty())
    return fail(Code::kInvalidArgument, "{}: status has neither a token nor a client certificate", what);
  return out;
}

Result<ExecStatus> run_exec_plugin(const Access& access, const ResolverEnvironment& environment, Deadline deadline) {
  const ExecEntry& exec = *access.user.exec;
  const std::string what = fmt::format("credential plug-in {} of {}", printable(exec.command), access.origin);
  if (exec.interactive_mode == "Always")
    return fail(Code::kFailedPrecondition,
                "{}: it needs to ask the user (interactiveMode Always), which it can't do under tfd", what);
  const Deadline limit = deadline.earlier_of(Deadline::after(kLongest));
  Environment env = environment.env;
  for (const auto& [name, value] : exec.env) env.set(name, value);
  env.set("KUBERNETES_EXEC_INFO", exec_info(exec, access.cluster, access.tls.ca_pem));
  process::ChildOptions options{.argv = {exec.command}, .environment = std::move(env)};
  options.argv.insert(options.argv.end(), exec.args.begin(), exec.args.end());
  auto job = process::Job::start({.child = std::move(options), .pipes_errors = false});
  if (!job) {
    Error error = std::move(job).error();
    if (error.code == Code::kNotFound && !exec.install_hint.empty())
      error.message += fmt::format("; {}", printable(exec.install_hint));
    return fail(std::move(error).within(what));
  }
  const auto output = process::read_all(job->out.get(), limit, kMostOutput);
  if (!output) return fail(Error(output.error()).within(what));  // the job is killed
  const auto status = TFD_TRY(job->wait(limit), what);
  if (status.code != 0) return fail(Code::kPermissionDenied, "{}: it {}", what, describe(status));
  return parse_exec_status(*output, exec);
}

}  // namespace tfd::resolve::kubernetes
