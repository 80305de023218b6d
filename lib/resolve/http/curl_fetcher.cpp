// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <strings.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <thread>

#include "curl_library.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/process/secrecy.hpp"
#include "tfd/resolve/fetcher.hpp"
#include "transfer.hpp"
#include "url.hpp"

namespace tfd::resolve {
namespace {

using http::Curl;
using http::Target;
using http::Transfer;

/// A server that closes while OpenSSL writes must not end the process. Blocked for this thread alone, and only while
/// libcurl works: a signal that was ignored or handled stays so.
class NoSigpipe {
 public:
  NoSigpipe() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    const timespec now{};
    while (!was_pending_ && ::sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) continue;
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_;
};

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool has_secret(const Request& request, const Target& target, const std::string& proxy) {
  return request.bearer || request.basic || !request.secret_body.empty() || !target.password.empty() ||
         (request.tls && !request.tls->client_key_pem.empty()) || proxy.find('@') != std::string::npos;
}

/// Removes credentials, which must not go to another host, port or scheme than the caller named.
void drop_credentials(Request& request) {
  request.bearer.reset();
  request.basic.reset();
  std::erase_if(request.headers, [](const auto& header) {
    constexpr std::array<const char*, 3> kNames{"authorization", "cookie", "proxy-authorization"};
    return std::any_of(kNames.begin(), kNames.end(),
                       [&](const char* name) { return ::strcasecmp(name, header.first.c_str()) == 0; });
  });
  if (!request.tls) return;
  Tls tls = *request.tls;
  tls.client_certificate_pem.clear();
  tls.client_key_pem = Secret();
  tls.server_name.clear();
  request.tls = std::make_shared<const Tls>(std::move(tls));
}

/// 303, and POST by 301 and 302, become GET, as browsers and curl do.
void change_method(Request& request, int status) {
  const bool becomes_get = status == 303 ? request.method != "HEAD" : status < 303 && request.method == "POST";
  if (!becomes_get) return;
  request.method = "GET";
  request.body.clear();
  request.secret_body = Secret();
  std::erase_if(request.headers,
                [](const auto& header) { return ::strcasecmp("content-type", header.first.c_str()) == 0; });
}

/// A refusal is quoted in messages: it must not contain the refused text.
void hide_credentials(const Request& request, const Target& target, std::string& body) {
  const auto hide = [&](const Secret& secret) {
    constexpr std::string_view kHidden = "***";
    if (secret.empty()) return;
    for (std::size_t at = 0; (at = body.find(secret.reveal(), at)) != std::string::npos; at += kHidden.size())
      body.replace(at, secret.reveal().size(), kHidden);
  };
  if (request.bearer) hide(*request.bearer);
  if (request.basic) hide(request.basic->second);
  hide(target.password);
}

class CurlFetcher final : public Fetcher {
 public:
  explicit CurlFetcher(const Environment& env) : env_(env) {}
  ~CurlFetcher() override {
    const NoSigpipe quiet;
    if (multi_ != nullptr) curl_->multi_cleanup(multi_);
  }
  CurlFetcher(const CurlFetcher&) = delete;
  CurlFetcher& operator=(const CurlFetcher&) = delete;

  Result<Response> fetch(const Request& request, Deadline deadline) override {
    return follow(request, Duration::zero(), nullptr, deadline);
  }
  Result<Response> stream(const Request& request, Duration idle, const ChunkSink& sink, Deadline deadline) override {
    return follow(request, idle, &sink, deadline);
  }

 private:
  Result<void> load();
  Result<Response> follow(const Request& request, Duration idle, const ChunkSink* sink, Deadline deadline);
  Result<void> redirect(Request& request, Target& target, const Response& response) const;
  Result<Response> ask(const Request& request, const Target& target, Duration idle, const ChunkSink* sink,
                       Deadline deadline);
  Result<bool> step(Transfer& transfer, Duration idle, const ChunkSink* sink, Deadline deadline);
  CURLMcode wait(int most_ms);
  void read_messages();

  Environment env_;
  std::optional<Curl> curl_;
  http::PemFiles files_;
  CURLM* multi_ = nullptr;  // keeps connections for the next request
};

Result<void> CurlFetcher::load() {
  if (!curl_) curl_ = TFD_TRY(http::load_curl());
  if (multi_ == nullptr) multi_ = curl_->multi_init();
  if (multi_ == nullptr) return fail(Code::kResourceExhausted, "libcurl has no memory");
  return {};
}

Result<Response> CurlFetcher::follow(const Request& asked, Duration idle, const ChunkSink* sink, Deadline deadline) {
  const auto named = [](const Request& request, const std::string& url) {
    return fmt::format("{} {}", printable(request.method), http::url_for_messages(url));
  };
  const std::string first = named(asked, asked.url);
  TFD_TRY(load(), first);
  Request request = asked;
  Target target = TFD_TRY(http::parse_target(*curl_, request.url), printable(asked.method));
  for (int redirects = 0;; ++redirects) {
    Response response = TFD_TRY(ask(request, target, idle, sink, deadline), named(request, target.url));
    const bool follows = is_redirect(response.status) && response.find_header("Location") != nullptr;
    if (!follows || asked.most_redirects == 0) return response;
    if (redirects >= asked.most_redirects)
      return fail(Code::kFailedPrecondition, "{}: more than {} redirects", first, asked.most_redirects);
    TFD_TRY(redirect(request, target, response), named(request, target.url));
  }
}

Result<void> CurlFetcher::redirect(Request& request, Target& target, const Response& response) const {
  const std::string location = *response.find_header("Location");
  const Result<Target> parsed = http::parse_target(*curl_, location, &target);
  if (!parsed) return fail(Code::kUnavailable, "redirects to an invalid URL: {}", parsed.error().message);
  Target next = *parsed;
  next.user.clear();  // a redirecting server must not choose our credentials
  next.password = Secret();
  const std::string where = http::url_for_messages(next.url);
  if (target.scheme == "https" && next.scheme == "http")
    return fail(Code::kPermissionDenied, "redirects from https to http, to {}", where);
  change_method(request, response.status);
  if (!next.same_origin(target)) {
    if (!request.secret_body.empty())
      return fail(Code::kPermissionDenied, "redirects a request that holds credentials to another server, {}", where);
    drop_credentials(request);
  } else if (!request.bearer && !request.basic) {
    next.user = target.user;
    next.password = target.password;
  }
  target = std::move(next);
  return {};
}

Result<Response> CurlFetcher::ask(const Request& request, const Target& target, Duration idle, const ChunkSink* sink,
                                  Deadline deadline) {
  std::string proxy = http::is_metadata_server(target.host) ? "" : request.proxy;
  if (proxy.empty()) proxy = http::find_proxy(env_, target.scheme, target.host, target.port);
  TFD_TRY(http::check_proxy(*curl_, proxy));
  if (has_secret(request, target, proxy)) TFD_TRY(process::forbid_core_dumps());
  Transfer transfer(*curl_, files_, request, target, proxy, sink != nullptr);
  TFD_TRY(transfer.prepare(env_.get("SSL_CERT_FILE")));
  curl_->multi_add_handle(multi_, transfer.easy());
  Result<bool> more = true;
  while (more && *more) more = step(transfer, idle, sink, deadline);
  {
    const NoSigpipe quiet;
    curl_->multi_remove_handle(multi_, transfer.easy());
  }
  if (!more) return fail(std::move(more.error()));
  long status = 0;
  curl_->easy_getinfo(transfer.easy(), CURLINFO_RESPONSE_CODE, &status);
  transfer.response.status = static_cast<int>(status);
  if (status >= 400) hide_credentials(request, target, transfer.response.body);
  return std::move(transfer.response);
}

/// Lets libcurl do what it can now and hands on received bytes; then waits. False when the request is done.
Result<bool> CurlFetcher::step(Transfer& transfer, Duration idle, const ChunkSink* sink, Deadline deadline) {
  {
    const NoSigpipe quiet;
    int running = 0;
    const CURLMcode code = curl_->multi_perform(multi_, &running);
    if (code != CURLM_OK) return fail(Code::kInternal, "libcurl: {}", curl_->multi_strerror(code));
  }
  read_messages();
  if (!transfer.chunk.empty()) {
    const std::string chunk = std::exchange(transfer.chunk, {});
    if (!(*sink)(chunk)) return false;
  }
  if (transfer.ended) {
    if (std::optional<Error> error = transfer.error_of(*transfer.ended)) return fail(std::move(*error));
    return false;
  }
  if (deadline.expired()) return fail(Code::kDeadlineExceeded, "{}", transfer.progress());
  Deadline wake = deadline;
  if (sink != nullptr && idle > Duration::zero()) {
    const Deadline quiet_until = Deadline::at(transfer.last_activity + idle);
    if (quiet_until.expired()) return fail(Code::kUnavailable, "no data for {}", format_duration(idle));
    wake = wake.earlier_of(quiet_until);
  }
  constexpr int kLongest = 60'000;  // libcurl shortens it to what its own timers need
  const int wait_ms = wake.poll_ms();
  const CURLMcode code = wait(wait_ms < 0 ? kLongest : std::min(wait_ms, kLongest));
  if (code != CURLM_OK) return fail(Code::kSystem, "libcurl: {}", curl_->multi_strerror(code));
  return true;
}

/// Waits until libcurl can do something, at most so long.
CURLMcode CurlFetcher::wait(int most_ms) {
  if (curl_->multi_poll != nullptr) return curl_->multi_poll(multi_, nullptr, 0, most_ms, nullptr);
  // The older one returns at once while there is nothing to wait for, as when a name is looked up.
  constexpr int kShort = 20;
  int ready = 0;
  const auto began = Clock::now();
  const CURLMcode code = curl_->multi_wait(multi_, nullptr, 0, most_ms, &ready);
  if (code == CURLM_OK && ready == 0 && Clock::now() - began < std::chrono::milliseconds(1))
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(most_ms, kShort)));
  return code;
}

/// Takes note of all transfers that have ended, not only of the one waited for: a sink may have started another one.
void CurlFetcher::read_messages() {
  int left = 0;
  while (const CURLMsg* const message = curl_->multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    Transfer* transfer = nullptr;
    curl_->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    if (transfer != nullptr) transfer->ended = message->data.result;
  }
}

}  // namespace

Result<std::string> find_curl() {
  return std::string(TFD_TRY(http::load_curl()).version_info(CURLVERSION_NOW)->version);
}

std::unique_ptr<Fetcher> make_curl_fetcher(const Environment& env) { return std::make_unique<CurlFetcher>(env); }

}  // namespace tfd::resolve
