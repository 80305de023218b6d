#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One request and its answer, without redirects, in libcurl's terms; parsed URLs. Thread rule: one thread.
#include <array>
#include <map>
#include <optional>
#include <string>

#include "curl_library.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/resolve/fetcher.hpp"

namespace tfd::resolve::http {

/// A URL as libcurl itself reads it, so that the checked URL is the requested one.
struct Target {
  std::string url;  // without user, password and fragment
  std::string scheme;
  std::string host;  // an IPv6 address without brackets
  int port = 0;
  std::string path_and_query;
  std::string user;
  Secret password;

  bool same_origin(const Target& other) const {
    return scheme == other.scheme && host == other.host && port == other.port;
  }
  /// The host and the port, as a Host header has them.
  std::string authority() const;
};
/// kInvalidArgument. `base`: what a relative one is relative to.
Result<Target> parse_target(const Curl& curl, const std::string& url, const Target* base = nullptr);

/// Checks a value of CURLOPT_PROXY. kInvalidArgument without naming user or password; empty for none.
Result<void> check_proxy(const Curl& curl, const std::string& proxy);

/// Certificates and keys never lie on a disk: a libcurl that can't take them from memory (older than 7.71 or 7.77)
/// reads them from files that are memory. They stay until the end, and the same contents have the same path: by paths
/// libcurl knows what it may share.
class PemFiles {
 public:
  /// Empty: the system gives no memory.
  std::string path_of(const std::string& pem);

 private:
  std::map<std::array<std::byte, 32>, process::Fd> files_;  // by digest
};

class Transfer {
 public:
  /// Everything given is borrowed until the end. `proxy`: empty for none; `authorities`: a file, empty: libcurl's own.
  Transfer(const Curl& curl, PemFiles& files, const Request& request, const Target& target, std::string proxy,
           bool is_stream);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// kInvalidArgument for what can't be sent, kUnimplemented for what this libcurl can't.
  Result<void> prepare(const std::string& authorities);
  CURL* easy() const { return easy_; }
  /// The error, given how it ended; nullopt if it succeeded.
  std::optional<Error> error_of(CURLcode code) const;
  /// How far it came, for a message about a deadline.
  std::string progress() const;

  std::optional<CURLcode> ended = {};  // set by whoever reads libcurl's messages
  Response response = {};
  std::string chunk = {};  // of a stream: received bytes not yet handed on
  Clock::time_point last_activity = Clock::now();

 private:
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  bool take_header(std::string_view line);
  bool take_body(std::string_view bytes);
  Result<void> prepare_method();
  Result<void> prepare_headers();
  Result<void> prepare_tls(const std::string& authorities);
  template <class Value>
  bool set(CURLoption option, Value value) {
    return curl_.easy_setopt(easy_, option, value) == CURLE_OK;
  }
  bool set_pem(CURLoption blob_option, CURLoption file_option, const std::string& pem);
  bool add_line(curl_slist*& list, const std::string& line);
  std::string detail(CURLcode code) const;
  long os_error() const;

  const Curl& curl_;
  PemFiles& files_;
  const Request& request_;
  const Target& target_;
  std::string proxy_;
  bool is_stream_;
  CURL* easy_ = nullptr;
  curl_slist* headers_ = nullptr;
  curl_slist* connect_to_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> message_{};
  std::size_t header_bytes_ = 0;
  std::size_t body_bytes_ = 0;
  bool too_large_ = false;
  bool header_too_large_ = false;
};

}  // namespace tfd::resolve::http
