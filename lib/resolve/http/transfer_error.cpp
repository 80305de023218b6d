// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <system_error>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "transfer.hpp"
#include "url.hpp"

namespace tfd::resolve::http {
namespace {

void replace_all(std::string& text, const std::string& what) {
  if (what.empty()) return;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += 3) text.replace(at, what.size(), "…");
}

std::string lower_first(std::string text) {
  const bool abbreviation = text.size() > 1 && text[1] >= 'A' && text[1] <= 'Z';
  if (!text.empty() && !abbreviation && text[0] >= 'A' && text[0] <= 'Z')
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

}  // namespace

/// libcurl's words, or where it has none those for the code, without anything secret that they might quote.
std::string Transfer::detail(CURLcode code) const {
  std::string text = message_.front() != '\0' ? message_.data() : curl_.easy_strerror(code);
  if (request_.bearer) replace_all(text, request_.bearer->reveal());
  if (request_.basic) replace_all(text, request_.basic->second.reveal());
  replace_all(text, target_.password.reveal());
  if (!proxy_.empty() && proxy_.find('@') != std::string::npos) replace_all(text, proxy_);
  if (const std::size_t mark = target_.path_and_query.find('?'); mark != std::string::npos)
    replace_all(text, target_.path_and_query.substr(mark));
  while (!text.empty() && (text.back() == '.' || text.back() == '\n')) text.pop_back();
  return lower_first(printable(text));
}

long Transfer::os_error() const {
  long error = 0;
  curl_.easy_getinfo(easy_, CURLINFO_OS_ERRNO, &error);
  return error;
}

std::string Transfer::progress() const {
  double connected = 0;
  curl_.easy_getinfo(easy_, CURLINFO_PRETRANSFER_TIME, &connected);
  if (header_bytes_ > 0) return fmt::format("the answer didn't end in time, after {} bytes", body_bytes_);
  return connected > 0 ? "no answer in time" : "no connection in time";
}

std::optional<Error> Transfer::error_of(CURLcode code) const {
  const auto error = [](Code kind, std::string message) { return Error{kind, std::move(message), {}}; };
  const std::string where = proxy_.empty() ? target_.authority() : "the proxy " + url_for_messages(proxy_);
  switch (code) {
    case CURLE_OK:
      return std::nullopt;
    case CURLE_COULDNT_RESOLVE_HOST:
      return error(Code::kNotFound, fmt::format("cannot resolve host '{}'", printable(target_.host)));
    case CURLE_COULDNT_RESOLVE_PROXY:
      return error(Code::kNotFound, fmt::format("cannot resolve {}", where));
    case CURLE_COULDNT_CONNECT: {
      const long number = os_error();
      const std::string why = number != 0 ? std::generic_category().message(static_cast<int>(number)) : detail(code);
      return error(Code::kUnavailable, fmt::format("cannot connect to {}: {}", where, lower_first(why)));
    }
    case CURLE_PROXY:
      return error(Code::kUnavailable, fmt::format("{} doesn't connect: {}", where, detail(code)));
    case CURLE_PEER_FAILED_VERIFICATION:
      return error(Code::kPermissionDenied, fmt::format("the server isn't trusted: {}", detail(code)));
    case CURLE_SSL_CACERT_BADFILE:
      return error(Code::kInvalidArgument, detail(code));
    case CURLE_SSL_CERTPROBLEM:  // we hand both over from memory, so libcurl's words name neither
      return error(Code::kInvalidArgument, fmt::format("the client's certificate or its key isn't PEM, or they don't "
                                                       "belong together: {}",
                                                       detail(code)));
    case CURLE_OPERATION_TIMEDOUT:
      return error(Code::kDeadlineExceeded, progress());
    case CURLE_WRITE_ERROR:
      if (header_too_large_) return error(Code::kResourceExhausted, "the answer's headers are too large");
      if (too_large_)
        return error(Code::kResourceExhausted,
                     fmt::format("the answer is larger than {}", format_bytes(Bytes{request_.most_bytes})));
      return error(Code::kResourceExhausted, "no memory for the answer");
    case CURLE_OUT_OF_MEMORY:
      return error(Code::kResourceExhausted, "libcurl has no memory, or a header is too large");
    case CURLE_UNSUPPORTED_PROTOCOL:  // the URL's is known to be right
      return error(Code::kUnavailable, fmt::format("the answer isn't HTTP: {}", detail(code)));
    case CURLE_URL_MALFORMAT:
      return error(Code::kInvalidArgument, detail(code));
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
      return error(Code::kUnavailable, header_bytes_ == 0
                                           ? "the connection was closed without an answer"
                                           : fmt::format("the answer was cut off after {} bytes", body_bytes_));
    default:
      break;
  }
  // TLS says no: what the server's alert or OpenSSL complain about is a certificate, mostly ours.
  const std::string text = detail(code);
  const bool is_tls = code == CURLE_SSL_CONNECT_ERROR || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR;
  if (is_tls && text.find("alert") != std::string::npos &&
      (text.find("certificate") != std::string::npos || text.find("unknown ca") != std::string::npos ||
       text.find("handshake failure") != std::string::npos))
    return error(Code::kPermissionDenied, fmt::format("the server refused our certificate, or requires one: {}", text));
  if (body_bytes_ > 0)
    return error(Code::kUnavailable, fmt::format("the answer was cut off after {} bytes: {}", body_bytes_, text));
  return error(Code::kUnavailable, text);
}

}  // namespace tfd::resolve::http
