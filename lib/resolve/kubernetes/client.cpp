// SPDX-License-Identifier: Apache-2.0
#include "client.hpp"

#include "tfd/base/text.hpp"

namespace tfd::resolve::kubernetes {
namespace {

constexpr std::chrono::seconds kLongestRequest{60};

Code code_of(int status) {
  switch (status) {
    case 400:
    case 422:
      return Code::kInvalidArgument;
    case 401:
    case 403:
      return Code::kPermissionDenied;
    case 404:
      return Code::kNotFound;
    case 410:
      return Code::kOutOfRange;
    case 408:
    case 429:
      return Code::kUnavailable;
    default:
      return status >= 500 ? Code::kUnavailable : Code::kUnknown;
  }
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    if (plain)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return out;
}

std::string status_message(std::string_view body) {
  if (const auto root = cluster::parse_json(body, "status"); root) {
    const cluster::JsonValue* message = root->find("message");
    if (message != nullptr && message->is(cluster::JsonValue::Kind::kString)) return printable(message->text);
  }
  return printable(body.substr(0, 200));
}

Client::Client(Access access, const ResolverEnvironment& environment)
    : access_(std::move(access)), environment_(environment), credentials_(access_, environment) {}

/// Once more with new credentials after a 401, where there can be new ones.
template <class Send>
Result<Response> Client::send(const std::string& path, Deadline deadline, Send&& send_request) {
  for (bool again = false;; again = true) {
    Request request{.url = access_.server + path};
    request.headers.emplace_back("Accept", "application/json");
    request.headers.emplace_back("User-Agent", "tfd-resolve");
    request.most_redirects = 0;
    TFD_TRY(credentials_.apply(request, deadline));
    Result<Response> response = send_request(request);
    if (!response) return fail(explain(std::move(response).error()));
    if (response->status != 401 || again || !credentials_.forget()) return response;
    environment_.log.info("{}: 401, trying with new credentials", access_.server);
  }
}

Result<cluster::JsonValue> Client::get(const std::string& path, std::string_view verb, std::string_view what,
                                       Deadline deadline) {
  const Deadline limit = deadline.earlier_of(Deadline::after(kLongestRequest));
  const Response response = TFD_TRY(send(path, limit, [&](const Request& request) {
    return fetch_with_retries(*environment_.fetcher, request, {}, environment_.pause, limit);
  }));
  if (response.status != 200) return fail(explain(response, verb, what));
  auto document = cluster::parse_json(response.body, access_.server);
  if (!document) return fail(Code::kDataLoss, "{}: its answer can't be read", std::move(document).error().message);
  return document;
}

Result<bool> Client::stream(const std::string& path, std::string_view what, Duration idle, const ChunkSink& sink,
                            Deadline deadline) {
  bool stopped = false;
  const auto guarded = [&](std::string_view chunk) {
    stopped = !sink(chunk);
    return !stopped;
  };
  const Response response = TFD_TRY(send(path, deadline, [&](const Request& request) {
    return environment_.fetcher->stream(request, idle, guarded, deadline);
  }));
  if (response.status != 200) return fail(explain(response, "watch", what));
  return !stopped;
}

Error Client::explain(const Response& response, std::string_view verb, std::string_view what) const {
  const std::string said = status_message(response.body);
  Error error{code_of(response.status), {}, {}};
  const std::string& server = access_.server;
  if (response.status == 401) {
    error.message = fmt::format("{}: 401, {} is refused: {} of {} may have expired, or be another cluster's", server,
                                credentials_.describe(), credentials_.describe(), access_.origin);
    if (!said.empty()) error.message += fmt::format(" ({})", said);
  } else if (response.status == 403) {
    error.message = fmt::format("{}: 403, not allowed to {} {}: {}", server, verb, what, said);
    error.message += fmt::format("\nhint: a Role or ClusterRole must let {} get, list and watch pods (and get jobs)",
                                 access_.origin);
    if (what.find("all namespaces") != std::string_view::npos && !access_.namespace_.empty())
      error.message += fmt::format(", or ask for one namespace alone: --namespace {}", access_.namespace_);
  } else {
    error.message = fmt::format("{}: {}, cannot {} {}: {}", server, response.status, verb, what, said);
  }
  return error;
}

/// No answer at all.
Error Client::explain(Error error) const {
  if (error.code == Code::kPermissionDenied && access_.tls.verify) {
    const ClusterEntry& cluster = access_.cluster;
    const std::string authority = !cluster.ca_data.empty()   ? "certificate-authority-data"
                                  : !cluster.ca_file.empty() ? cluster.ca_file
                                  : access_.tls.ca_pem       ? fmt::format("{}/ca.crt", kServiceAccount)
                                                       : "the system's authorities: it names no certificate-authority";
    error.message += fmt::format("\nhint: {} is to be verified by {}", access_.origin, authority);
    if (!access_.tls.server_name.empty())
      error.message += fmt::format(" and as tls-server-name {}", access_.tls.server_name);
  }
  return error;
}

}  // namespace tfd::resolve::kubernetes
