#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// HTTP requests, for the resolvers that ask an API. The real one is libcurl, loaded when the first request is made
// (curl_fetcher.cpp); tests have a memory twin. Responses are bounded, TLS is verified unless told otherwise, a
// redirect to another host loses the authorization, proxies are taken from the environment given (HTTPS_PROXY,
// http_proxy, ALL_PROXY, NO_PROXY, in lower case first; HTTP_PROXY in capitals isn't read, as with curl; metadata
// servers and loopback addresses are never asked through one). SSL_CERT_FILE names other authorities.
// Errors never hold a credential, and of a URL neither user info nor query.
// Thread rule: a Fetcher lives on one thread.
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/environment.hpp"
#include "tfd/base/error.hpp"
#include "tfd/resolve/secret.hpp"

namespace tfd::resolve {

struct Tls {
  std::optional<std::string> ca_pem = {};  // nullopt: the system's authorities
  std::string client_certificate_pem = {};
  Secret client_key_pem = {};
  bool verify = true;
  std::string server_name = {};  // to be verified (and sent) instead of the URL's host
};

struct Request {
  std::string method = "GET";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::optional<Secret> bearer = {};                         // Authorization: Bearer …, to the URL's host alone
  std::optional<std::pair<std::string, Secret>> basic = {};  // user, password
  Secret secret_body = {};                                   // sent instead of `body` where not empty
  std::shared_ptr<const Tls> tls = {};                       // shared by the requests of one client; null: defaults
  std::string proxy = {};                                    // overrides the environment's where not empty
  std::size_t most_bytes = std::size_t{64} << 20;            // of the response's body, else kResourceExhausted
  int most_redirects = 5;                                    // 0: a redirect is an answer like others
};

struct Response {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::string note = {};  // of fetch_with_retries, for messages: "tried 5 times"; empty after one attempt
  /// nullptr where there is none; `name` in any case.
  const std::string* find_header(std::string_view name) const;
};

/// Receives bytes of a streamed body, whole lines or not. Returning false ends the stream without an error.
using ChunkSink = std::function<bool(std::string_view)>;

class Fetcher {
 public:
  virtual ~Fetcher() = default;
  /// Any status is a Response. kUnavailable: no connection, or cut off in the middle; kDeadlineExceeded; kNotFound: the
  /// host's name isn't known; kPermissionDenied: its certificate isn't trusted (says why); kResourceExhausted: more
  /// than most_bytes; kInvalidArgument: not a URL, or not http(s); kUnimplemented: libcurl can't be loaded, says what
  /// to install; kFailedPrecondition: too many redirects; kPermissionDenied: a redirect from https to http, or of a
  /// secret body to another server. Each names the URL without its query, "GET https://host/path: …". A redirect to
  /// another host, port or scheme loses Authorization, cookies and the client certificate, for good. The first request
  /// that carries a secret forbids core dumps; an answer of 400 or more comes with the token and the password of its
  /// request replaced by ***.
  virtual Result<Response> fetch(const Request& request, Deadline deadline) = 0;
  /// The same with the body of a 2xx answer given to `sink` as it comes (Response::body stays empty), for watches:
  /// most_bytes doesn't count. `idle`: kUnavailable when nothing came for so long; zero: never. `sink` may fetch.
  virtual Result<Response> stream(const Request& request, Duration idle, const ChunkSink& sink, Deadline deadline) = 0;
};

/// A Fetcher by libcurl. It makes no connection and loads nothing before the first request.
std::unique_ptr<Fetcher> make_curl_fetcher(const Environment& env);
/// The version of the libcurl that it would load. kUnimplemented: there is none, or it is too old.
Result<std::string> find_curl();

/// Requests that may be repeated: 408, 429, 500, 502, 503, 504 and kUnavailable are tried again after `first_pause`,
/// then twice that, up to `longest_pause`, with full jitter, no sooner than Retry-After says, at most `most_attempts`
/// times and only as far as the deadline allows. The last answer is returned.
struct RetryPolicy {
  int most_attempts = 5;
  Duration first_pause = std::chrono::milliseconds(200);
  Duration longest_pause = std::chrono::seconds(10);
};
/// How to wait; tests have their own. False when the deadline came first.
using Pause = std::function<bool(Duration, Deadline)>;
Pause real_pause();
Result<Response> fetch_with_retries(Fetcher& fetcher, const Request& request, const RetryPolicy& policy,
                                    const Pause& pause, Deadline deadline);

}  // namespace tfd::resolve
