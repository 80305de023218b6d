// SPDX-License-Identifier: Apache-2.0
#include "metadata_server.hpp"

#include <algorithm>

#include "tfd/base/text.hpp"

namespace tfd::resolve::google {
namespace {

constexpr std::chrono::seconds kFirstAnswer{3};  // same machine: a slower answer means that it is missing
constexpr std::string_view kFlavor = "Metadata-Flavor";

bool is_host_text(std::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' ||
           c == '_' || c == ':' || c == '[' || c == ']';
  });
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

}  // namespace

MetadataServer::MetadataServer(const ResolverEnvironment& environment) : environment_(environment) {
  host_ = environment.env.get("GCE_METADATA_HOST");
  if (host_.empty()) host_ = environment.env.get("GCE_METADATA_IP");
  if (host_.empty()) host_ = "metadata.google.internal";
}

Result<Response> MetadataServer::ask(std::string_view path, std::string_view what, Deadline deadline) {
  if (!is_host_text(host_))
    return fail(Code::kInvalidArgument, "GCE_METADATA_HOST: '{}' is not HOST or HOST:PORT", printable(host_));
  if (absent_) return fail(Error(*absent_).within(what));
  Request request{.url = fmt::format("http://{}/computeMetadata/v1/{}", host_, path),
                  .headers = {{std::string(kFlavor), "Google"}},
                  .most_bytes = std::size_t{1} << 20,
                  .most_redirects = 0};
  RetryPolicy policy;
  policy.most_attempts = answered_ ? 5 : 3;
  const Deadline patience = answered_ ? deadline : deadline.earlier_of(Deadline::after(kFirstAnswer));
  auto response = fetch_with_retries(*environment_.fetcher, request, policy, environment_.pause, patience);
  if (!response) {
    const Code code = response.error().code;
    if (code == Code::kUnimplemented || code == Code::kInvalidArgument) return fail(std::move(response).error());
    if (code == Code::kDeadlineExceeded && deadline.expired())
      return fail(std::move(response).error().within(fmt::format("{}: the metadata server {}", what, host_)));
    const std::string_view why = response.error().message;
    const std::string begin = fmt::format("GET {}: ", request.url);
    Error error{
        Code::kUnavailable,
        fmt::format("no metadata server here: {} ({})", host_, why.substr(why.rfind(begin, 0) == 0 ? begin.size() : 0)),
        {}};
    if (!answered_) absent_ = error;
    return fail(std::move(error).within(what));
  }
  const std::string* flavor = response->find_header(kFlavor);
  if (flavor == nullptr || *flavor != "Google") {
    Error error{Code::kUnavailable,
                fmt::format("{} is not a metadata server: its answer (status {}) has no Metadata-Flavor: Google", host_,
                            response->status),
                {}};
    absent_ = error;
    return fail(std::move(error).within(what));
  }
  answered_ = true;
  return response;
}

Result<std::optional<std::string>> MetadataServer::find(std::string_view path, std::string_view what,
                                                        Deadline deadline) {
  const Response response = TFD_TRY(ask(path, what, deadline));
  if (response.status == 200) return trimmed(response.body);
  if (response.status == 404) return std::nullopt;
  const bool refused = response.status == 401 || response.status == 403;
  return fail(refused ? Code::kPermissionDenied : Code::kUnavailable, "{}: the metadata server {} answered {} for {}",
              what, host_, response.status, path);
}

Result<std::string> MetadataServer::fetch(std::string_view path, std::string_view what, Deadline deadline) {
  auto found = TFD_TRY(find(path, what, deadline));
  if (!found) return fail(Code::kNotFound, "{}: the metadata server {} has no {}", what, host_, path);
  if (found->empty()) return fail(Code::kNotFound, "{}: {} of the metadata server {} is empty", what, path, host_);
  return *std::move(found);
}

Result<std::string> MetadataServer::fetch_zone(Deadline deadline) {
  const std::string zone = TFD_TRY(fetch("instance/zone", "zone", deadline));
  return zone.substr(zone.rfind('/') + 1);
}

Result<std::string> MetadataServer::fetch_project(Deadline deadline) {
  return fetch("project/project-id", "project", deadline);
}

}  // namespace tfd::resolve::google
