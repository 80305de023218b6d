// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <memory>

#include "tfd/base/text.hpp"
#include "transfer.hpp"
#include "url.hpp"

namespace tfd::resolve::http {
namespace {

class Url {
 public:
  explicit Url(const Curl& curl) : curl_(curl), handle_(curl.url()) {}
  ~Url() { curl_.url_cleanup(handle_); }
  Url(const Url&) = delete;
  Url& operator=(const Url&) = delete;
  bool set(CURLUPart part, const char* text, unsigned flags = 0) {
    return curl_.url_set(handle_, part, text, flags) == CURLUE_OK;
  }
  std::string get(CURLUPart part, unsigned flags = 0) const {
    char* text = nullptr;
    if (curl_.url_get(handle_, part, &text, flags) != CURLUE_OK) return "";
    std::string out(text);
    ::explicit_bzero(text, out.size());
    curl_.free(text);
    return out;
  }

 private:
  const Curl& curl_;
  CURLU* handle_;
};

std::string without_brackets(std::string host) {
  if (host.starts_with('[') && host.ends_with(']')) return host.substr(1, host.size() - 2);
  return host;
}

}  // namespace

std::string Target::authority() const {
  const std::string name = host.find(':') != std::string::npos ? "[" + host + "]" : host;
  return port == (scheme == "https" ? 443 : 80) ? name : fmt::format("{}:{}", name, port);
}

Result<Target> parse_target(const Curl& curl, const std::string& url, const Target* base) {
  Url parsed(curl);
  if (base != nullptr && !parsed.set(CURLUPART_URL, base->url.c_str()))
    return fail(Code::kInternal, "{}: no longer a URL", url_for_messages(base->url));
  // A text without a scheme isn't taken for a URL, since libcurl would guess one (ftp.…).
  if (!parsed.set(CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME))
    return fail(Code::kInvalidArgument, "'{}' is not a URL", url_for_messages(url));
  Target out;
  out.scheme = parsed.get(CURLUPART_SCHEME);
  if (out.scheme != "http" && out.scheme != "https")
    return fail(Code::kInvalidArgument, "'{}' is not an http or https URL", url_for_messages(url));
  out.user = parsed.get(CURLUPART_USER, CURLU_URLDECODE);
  out.password = Secret(parsed.get(CURLUPART_PASSWORD, CURLU_URLDECODE));
  parsed.set(CURLUPART_USER, nullptr);
  parsed.set(CURLUPART_PASSWORD, nullptr);
  parsed.set(CURLUPART_OPTIONS, nullptr);
  parsed.set(CURLUPART_FRAGMENT, nullptr);
  out.host = without_brackets(parsed.get(CURLUPART_HOST));
  for (char& c : out.host)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const std::string port = parsed.get(CURLUPART_PORT, CURLU_DEFAULT_PORT);
  std::from_chars(port.data(), port.data() + port.size(), out.port);
  out.url = parsed.get(CURLUPART_URL);
  const std::string query = parsed.get(CURLUPART_QUERY);
  out.path_and_query = parsed.get(CURLUPART_PATH) + (query.empty() ? "" : "?" + query);
  if (out.host.empty() || out.port <= 0 || out.url.empty())
    return fail(Code::kInvalidArgument, "'{}' is not a URL", url_for_messages(url));
  return out;
}

Result<void> check_proxy(const Curl& curl, const std::string& proxy) {
  if (proxy.empty()) return {};
  constexpr std::array<std::string_view, 6> kSchemes{"http", "https", "socks4", "socks4a", "socks5", "socks5h"};
  Url parsed(curl);
  const std::string url = proxy.find("://") == std::string::npos ? "http://" + proxy : proxy;
  if (!parsed.set(CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME) || parsed.get(CURLUPART_HOST).empty())
    return fail(Code::kInvalidArgument, "the proxy '{}' is not a URL", url_for_messages(proxy));
  const std::string scheme = parsed.get(CURLUPART_SCHEME);
  for (const std::string_view known : kSchemes)
    if (scheme == known) return {};
  return fail(Code::kInvalidArgument, "the proxy '{}' is neither http, https nor socks", url_for_messages(proxy));
}

}  // namespace tfd::resolve::http
