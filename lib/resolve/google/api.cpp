// SPDX-License-Identifier: Apache-2.0
#include "api.hpp"

#include <algorithm>

#include "tfd/base/text.hpp"

namespace tfd::resolve::google {
namespace {

using cluster::JsonValue;

/// error.message of a Google answer, its first line.
std::string explain(const Response& response) {
  const auto root = cluster::parse_json(response.body, "answer");
  if (!root || !root->is(JsonValue::Kind::kObject)) return "";
  const JsonValue* error = root->find("error");
  if (error == nullptr || !error->is(JsonValue::Kind::kObject)) return "";
  const std::string message = text_member(*error, "message");
  return printable(std::string_view(message).substr(0, message.find('\n')).substr(0, 300));
}

bool is_part_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.' || c == ':';
}

}  // namespace

Api::Api(std::string name, const std::string& credentials_file, const ResolverEnvironment& environment)
    : name_(std::move(name)),
      environment_(environment),
      metadata_(environment),
      tokens_(make_token_source(credentials_file, metadata_, environment)) {}

Result<JsonValue> Api::get(const std::string& url, const std::string& what, Deadline deadline) {
  return send({.url = url}, what, true, deadline);
}

Result<JsonValue> Api::post(const std::string& url, const std::string& body, const std::string& what,
                            Deadline deadline) {
  return send({.method = "POST", .url = url, .headers = {{"Content-Type", "application/json"}}, .body = body}, what,
              true, deadline);
}

Result<JsonValue> Api::get_public(const std::string& url, const std::string& what, Deadline deadline) {
  return send({.url = url}, what, false, deadline);
}

Result<JsonValue> Api::send(Request request, const std::string& what, bool with_token, Deadline deadline) {
  TFD_TRY(check_credentials_url(request.url, what));
  request.headers.emplace_back("Accept", "application/json");
  Response response;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (with_token) request.bearer = TFD_TRY(tokens_->fetch_token(deadline), what);
    response =
        TFD_TRY(fetch_with_retries(*environment_.fetcher, request, RetryPolicy{}, environment_.pause, deadline), what);
    if (response.status != 401 || !with_token) break;
    tokens_->forget();  // revoked, or it expired sooner than it said
  }
  if (response.status != 200) return fail(refusal(response, what, with_token));
  auto root = cluster::parse_json(response.body, "answer");
  if (!root || !root->is(JsonValue::Kind::kObject))
    return fail(Code::kUnavailable, "{}: the answer of the {} is not a JSON object, or was cut off", what, name_);
  return *std::move(root);
}

Error Api::refusal(const Response& response, const std::string& what, bool with_token) const {
  const int status = response.status;
  const std::string said = explain(response);
  const std::string tail = said.empty() ? fmt::format("status {}", status) : fmt::format("{} ({})", said, status);
  if (status == 401)
    return {Code::kPermissionDenied,
            fmt::format("{}: the {} doesn't accept {}: {}", what, name_,
                        with_token ? "the token of " + tokens_->origin() : "this", tail),
            {}};
  if (status == 403)
    return {Code::kPermissionDenied,
            fmt::format("{}: {} is not permitted: {}", what, with_token ? tokens_->origin() : "the request", tail),
            {}};
  if (status == 404) return {Code::kNotFound, fmt::format("{}: not found: {}", what, tail), {}};
  if (status == 429) return {Code::kUnavailable, fmt::format("{}: too many requests: {}", what, tail), {}};
  if (status == 408 || status >= 500)
    return {Code::kUnavailable, fmt::format("{}: the {} failed: {}", what, name_, tail), {}};
  if (status >= 400) return {Code::kInvalidArgument, fmt::format("{}: {}", what, tail), {}};
  return {Code::kUnavailable, fmt::format("{}: the {} gave an unexpected answer: {}", what, name_, tail), {}};
}

Result<void> check_path_part(std::string_view text, std::string_view what) {
  if (text.empty()) return fail(Code::kInvalidArgument, "{}: empty", what);
  const bool fine = std::all_of(text.begin(), text.end(), is_part_character) && text.front() != '.';
  if (!fine) return fail(Code::kInvalidArgument, "{}: '{}' is not a name", what, printable(text));
  return {};
}

std::string text_member(const JsonValue& object, std::string_view key) {
  const JsonValue* found = object.find(key);
  return found != nullptr && found->is(JsonValue::Kind::kString) ? found->text : std::string();
}

}  // namespace tfd::resolve::google
