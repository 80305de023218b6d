// SPDX-License-Identifier: Apache-2.0
#include "transfer.hpp"

#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "tfd/base/sha256.hpp"
#include "tfd/base/text.hpp"
#include "tfd_version.hpp"
#include "url.hpp"

namespace tfd::resolve::http {
namespace {

constexpr std::size_t kMostHeaderBytes = std::size_t{256} << 10;

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

/// A token of RFC 9110: the name of a header or a method.
bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("!#$%&'*+-.^_`|~", c) != nullptr;
  });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::strchr(" \t\r\n", text.front()) != nullptr) text.remove_prefix(1);
  while (!text.empty() && std::strchr(" \t\r\n", text.back()) != nullptr) text.remove_suffix(1);
  return text;
}

void free_wiped(const Curl& curl, curl_slist* list) {
  for (curl_slist* node = list; node != nullptr; node = node->next)
    ::explicit_bzero(node->data, std::strlen(node->data));
  curl.slist_free_all(list);
}

}  // namespace

std::string PemFiles::path_of(const std::string& pem) {
  Sha256 digest;
  digest.add(pem);
  process::Fd& file = files_[digest.digest()];
  if (!file) {
    process::Fd fresh(::memfd_create("tfd-pem", MFD_CLOEXEC));
    if (!fresh || ::write(fresh.get(), pem.data(), pem.size()) != static_cast<ssize_t>(pem.size())) return {};
    file = std::move(fresh);
  }
  return fmt::format("/proc/self/fd/{}", file.get());
}

Transfer::Transfer(const Curl& curl, PemFiles& files, const Request& request, const Target& target, std::string proxy,
                   bool is_stream)
    : curl_(curl),
      files_(files),
      request_(request),
      target_(target),
      proxy_(std::move(proxy)),
      is_stream_(is_stream),
      easy_(curl.easy_init()) {}

Transfer::~Transfer() {
  if (easy_ != nullptr) curl_.easy_cleanup(easy_);
  free_wiped(curl_, headers_);
  free_wiped(curl_, connect_to_);
  ::explicit_bzero(proxy_.data(), proxy_.size());
}

bool Transfer::add_line(curl_slist*& list, const std::string& line) {
  curl_slist* const longer = curl_.slist_append(list, line.c_str());
  if (longer != nullptr) list = longer;
  return longer != nullptr;
}

Result<void> Transfer::prepare(const std::string& authorities) {
  if (easy_ == nullptr) return fail(Code::kResourceExhausted, "libcurl has no memory");
  bool done = set(CURLOPT_ERRORBUFFER, message_.data()) && set(CURLOPT_PRIVATE, static_cast<void*>(this)) &&
              set(CURLOPT_NOSIGNAL, 1L) && set(CURLOPT_FOLLOWLOCATION, 0L) &&
              set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1)) && set(CURLOPT_TCP_KEEPALIVE, 1L) &&
              set(CURLOPT_USERAGENT, "tfd/" TFD_VERSION) && set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) &&
              set(CURLOPT_HEADERFUNCTION, &Transfer::on_header) && set(CURLOPT_HEADERDATA, static_cast<void*>(this)) &&
              set(CURLOPT_WRITEFUNCTION, &Transfer::on_body) && set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  // Both set, even to nothing: else libcurl looks into the environment by itself.
  done = done && set(CURLOPT_PROXY, proxy_.c_str()) && set(CURLOPT_NOPROXY, "");
  if (!set(CURLOPT_PROTOCOLS_STR, "http,https"))  // before 7.85
    done = done &&
           set(static_cast<CURLoption>(CURLOPTTYPE_LONG + 181), static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  set(static_cast<CURLoption>(CURLOPTTYPE_LONG + 322), 1L);  // CURLOPT_QUICK_EXIT of 7.87: don't wait for getaddrinfo
  if (!done) return fail(Code::kUnimplemented, "this libcurl lacks an option that is needed");
  TFD_TRY(prepare_method());
  TFD_TRY(prepare_headers());
  return prepare_tls(authorities);
}

Result<void> Transfer::prepare_method() {
  const std::string& body = request_.secret_body.empty() ? request_.body : request_.secret_body.reveal();
  if (!is_token(request_.method))
    return fail(Code::kInvalidArgument, "'{}' is not a method", printable(request_.method));
  bool done = true;
  if (request_.method == "HEAD") {
    done = set(CURLOPT_NOBODY, 1L);
  } else if (request_.method == "GET" && body.empty()) {
    done = set(CURLOPT_HTTPGET, 1L);
  } else {
    if (!body.empty() || request_.method == "POST" || request_.method == "PUT" || request_.method == "PATCH")
      done = set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size())) &&
             set(CURLOPT_POSTFIELDS, body.c_str());  // borrowed
    done = done && set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  }
  if (!done) return fail(Code::kResourceExhausted, "libcurl refuses the body");
  return {};
}

Result<void> Transfer::prepare_headers() {
  bool has_type = false;
  bool done = add_line(headers_, "Expect:");  // no second of waiting for "100 Continue"
  for (const auto& [name, value] : request_.headers) {
    if (!is_token(name) || has_control(value))
      return fail(Code::kInvalidArgument, "'{}' is not a header, or its value holds a control character",
                  printable(name));
    has_type = has_type || ::strcasecmp(name.c_str(), "Content-Type") == 0;
    const std::string_view sent = trimmed(value);
    done = done && add_line(headers_, sent.empty() ? name + ";" : fmt::format("{}: {}", name, sent));
  }
  if (!has_type) done = done && add_line(headers_, "Content-Type:");
  if (request_.bearer) {
    if (request_.bearer->empty() || has_control(request_.bearer->reveal()))
      return fail(Code::kInvalidArgument, "the token is empty or holds a control character");
    std::string line = "Authorization: Bearer " + request_.bearer->reveal();
    done = done && add_line(headers_, line);
    ::explicit_bzero(line.data(), line.size());
  } else if (request_.basic) {
    done = done && set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC)) &&
           set(CURLOPT_USERNAME, request_.basic->first.c_str()) &&
           set(CURLOPT_PASSWORD, request_.basic->second.reveal().c_str());
  } else if (!target_.user.empty() || !target_.password.empty()) {
    done = done && set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC)) &&
           set(CURLOPT_USERNAME, target_.user.c_str()) && set(CURLOPT_PASSWORD, target_.password.reveal().c_str());
  }

  std::string url = target_.url;
  if (target_.scheme == "https" && request_.tls && !request_.tls->server_name.empty()) {
    // libcurl sends and verifies the URL's host: make that the wanted name, and say where it really is.
    const std::string& name = request_.tls->server_name;
    if (name.find_first_of("/?#@\\[]: ") != std::string::npos || has_control(name))
      return fail(Code::kInvalidArgument, "'{}' is not a server's name", printable(name));
    const std::string host = target_.host.find(':') != std::string::npos ? "[" + target_.host + "]" : target_.host;
    url = fmt::format("https://{}:{}{}", name, target_.port, target_.path_and_query);
    done = done && add_line(connect_to_, fmt::format("{}:{}:{}:{}", name, target_.port, host, target_.port)) &&
           set(CURLOPT_CONNECT_TO, connect_to_) && add_line(headers_, "Host: " + target_.authority());
  }
  done = done && set(CURLOPT_URL, url.c_str()) && set(CURLOPT_HTTPHEADER, headers_);
  if (!done) return fail(Code::kResourceExhausted, "libcurl refuses the headers");
  return {};
}

Result<void> Transfer::prepare_tls(const std::string& authorities) {
  if (!authorities.empty()) set(CURLOPT_CAINFO, authorities.c_str());
  if (!request_.tls || target_.scheme != "https") return {};
  const Tls& tls = *request_.tls;
  bool done = set(CURLOPT_SSL_VERIFYPEER, tls.verify ? 1L : 0L) && set(CURLOPT_SSL_VERIFYHOST, tls.verify ? 2L : 0L);
  if (tls.ca_pem && tls.verify) {
    // An empty list would mean libcurl's own.
    if (tls.ca_pem->find("-----BEGIN") == std::string::npos)
      return fail(Code::kInvalidArgument, "the certificate authority is not PEM");
    done = done && set(CURLOPT_CAPATH, static_cast<const char*>(nullptr)) &&
           set_pem(CURLOPT_CAINFO_BLOB, CURLOPT_CAINFO, *tls.ca_pem);
  }
  if (!tls.client_certificate_pem.empty())
    done = done && set(CURLOPT_SSLCERTTYPE, "PEM") &&
           set_pem(CURLOPT_SSLCERT_BLOB, CURLOPT_SSLCERT, tls.client_certificate_pem);
  if (!tls.client_key_pem.empty())
    done = done && set(CURLOPT_SSLKEYTYPE, "PEM") &&
           set_pem(CURLOPT_SSLKEY_BLOB, CURLOPT_SSLKEY, tls.client_key_pem.reveal());
  if (!done)
    return fail(Code::kUnimplemented, "this libcurl can't take certificates from memory: one with OpenSSL can");
  return {};
}

bool Transfer::set_pem(CURLoption blob_option, CURLoption file_option, const std::string& pem) {
  curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_COPY};
  if (set(blob_option, &blob)) return true;
  const std::string path = files_.path_of(pem);
  return !path.empty() && set(file_option, path.c_str());
}

std::size_t Transfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  try {
    return static_cast<Transfer*>(self)->take_header({data, size * count}) ? size * count : 0;
  } catch (const std::exception&) {  // no memory: not through C
    return 0;
  }
}

std::size_t Transfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  try {
    return static_cast<Transfer*>(self)->take_body({data, size * count}) ? size * count : 0;
  } catch (const std::exception&) {
    return 0;
  }
}

bool Transfer::take_header(std::string_view line) {
  last_activity = Clock::now();
  header_bytes_ += line.size();
  header_too_large_ = header_bytes_ > kMostHeaderBytes;
  if (header_too_large_) return false;
  if (line.starts_with("HTTP/")) {  // of 100 Continue too: the last one counts
    response.headers.clear();
    return true;
  }
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos)
    response.headers.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  return true;
}

bool Transfer::take_body(std::string_view bytes) {
  last_activity = Clock::now();
  long status = 0;
  curl_.easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  body_bytes_ += bytes.size();
  if (is_stream_ && status >= 200 && status < 300) {
    chunk += bytes;
    return true;
  }
  too_large_ = bytes.size() > request_.most_bytes - response.body.size();
  if (!too_large_) response.body += bytes;
  return !too_large_;
}

}  // namespace tfd::resolve::http
