// SPDX-License-Identifier: Apache-2.0
#include "credentials.hpp"

#include <optional>

#include "credentials_file.hpp"
#include "tfd/base/text.hpp"
#include "tfd/cluster/address.hpp"
#include "tfd/process/secrecy.hpp"

namespace tfd::resolve::google {
namespace {

constexpr std::chrono::seconds kEarly{60};  // a token is renewed so long before it expires

/// Nobody says when it expires: until an API refuses it.
class TokenFile final : public Credentials {
 public:
  explicit TokenFile(Secret token) : token_(std::move(token)) {}
  std::string describe() const override { return "the token"; }
  Result<AccessToken> exchange(const ResolverEnvironment&, Deadline) const override {
    return AccessToken{token_, std::chrono::system_clock::time_point::max()};
  }

 private:
  Secret token_;
};

class MetadataCredentials final : public Credentials {
 public:
  explicit MetadataCredentials(MetadataServer& metadata) : metadata_(metadata) {}
  std::string describe() const override { return "the service account"; }
  Result<AccessToken> exchange(const ResolverEnvironment& environment, Deadline deadline) const override {
    constexpr std::string_view kPath = "instance/service-accounts/default/token";
    auto body = metadata_.find(kPath, "access token", deadline);
    if (!body) return fail(std::move(body).error());
    if (!*body)
      return fail(Code::kPermissionDenied, "the metadata server {} has no service account for this machine",
                  metadata_.host());
    return parse_token(std::move(**body), "metadata server " + metadata_.host(), environment.now());
  }

 private:
  MetadataServer& metadata_;
};

class Source final : public TokenSource {
 public:
  Source(std::string file, MetadataServer& metadata, const ResolverEnvironment& environment)
      : file_(std::move(file)), metadata_(metadata), environment_(environment) {}

  Result<Secret> fetch_token(Deadline deadline) override {
    if (!credentials_) TFD_TRY(find_credentials());
    const auto now = environment_.now();
    if (token_ && (token_->expires == std::chrono::system_clock::time_point::max() || now + kEarly < token_->expires))
      return token_->text;
    token_.reset();
    auto token = credentials_->exchange(environment_, deadline);
    if (!token && searched_ && token.error().code == Code::kUnavailable)
      return fail(Code::kFailedPrecondition, "no Google credentials: {}; {}", join_words(looked_at_),
                  token.error().message);
    if (!token) return fail(std::move(token).error().within("Google credentials (" + origin_ + ")"));
    searched_ = false;  // the metadata server answers
    token_ = *std::move(token);
    return token_->text;
  }
  void forget() override { token_.reset(); }
  const std::string& origin() const override { return origin_; }

 private:
  Result<void> find_credentials() {
    TFD_TRY(process::forbid_core_dumps());
    const Environment& env = environment_.env;
    if (!file_.empty()) return load(file_, file_);
    if (const auto path = env.get("GOOGLE_APPLICATION_CREDENTIALS"); !path.empty())
      return load(path, "GOOGLE_APPLICATION_CREDENTIALS=" + path);
    looked_at_.push_back("GOOGLE_APPLICATION_CREDENTIALS is unset");
    if (const auto path = env.get("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE"); !path.empty()) return load_token(path);
    std::string folder = env.get("CLOUDSDK_CONFIG");
    if (folder.empty() && !env.get("HOME").empty()) folder = env.get("HOME") + "/.config/gcloud";
    if (!folder.empty()) {
      const std::string path = folder + "/application_default_credentials.json";
      auto text = environment_.load_file(path);
      if (text) return parse(Secret(*std::move(text)), path);
      if (text.error().code != Code::kNotFound) return fail(std::move(text).error().within("Google credentials"));
      looked_at_.push_back(path + " does not exist");
    }
    searched_ = true;
    origin_ = "the service account of this machine";
    credentials_ = std::make_unique<MetadataCredentials>(metadata_);
    return {};
  }

  Result<void> load(const std::string& path, const std::string& source) {
    auto text = environment_.load_file(path);
    if (!text) return fail(std::move(text).error().within("Google credentials"));
    return parse(Secret(*std::move(text)), source);
  }

  Result<void> load_token(const std::string& path) {
    auto text = environment_.load_file(path);
    if (!text) return fail(std::move(text).error().within("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE"));
    const Secret whole(*std::move(text));
    const std::string& all = whole.reveal();
    const std::size_t begin = all.find_first_not_of(" \t\r\n"), end = all.find_last_not_of(" \t\r\n");
    if (begin == std::string::npos || all.find_first_of(" \t\r\n", begin) <= end)
      return fail(Code::kInvalidArgument, "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE: {} doesn't hold one access token", path);
    origin_ = "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE=" + path;
    credentials_ = std::make_unique<TokenFile>(Secret(all.substr(begin, end - begin + 1)));
    return {};
  }

  Result<void> parse(const Secret& text, const std::string& source) {
    credentials_ = TFD_TRY(parse_credentials(text, source));
    origin_ = credentials_->describe() + " of " + source;
    return {};
  }

  std::string file_;
  MetadataServer& metadata_;
  const ResolverEnvironment& environment_;
  std::unique_ptr<Credentials> credentials_;
  std::vector<std::string> looked_at_;
  bool searched_ = false;  // nothing was found, so the metadata server is the last resort
  std::string origin_;
  std::optional<AccessToken> token_;
};

}  // namespace

std::unique_ptr<TokenSource> make_token_source(std::string credentials_file, MetadataServer& metadata,
                                               const ResolverEnvironment& environment) {
  return std::make_unique<Source>(std::move(credentials_file), metadata, environment);
}

Result<void> check_credentials_url(std::string_view url, std::string_view what) {
  const auto refused = [&] {
    const std::string_view shown = url.substr(0, url.find_first_of("?#"));
    return fail(Code::kInvalidArgument, "{}: '{}' is not an https URL: credentials are only sent over https", what,
                printable(shown.find('@') == std::string_view::npos ? shown : "(with user info)"));
  };
  const std::size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) return refused();
  const std::string_view scheme = url.substr(0, scheme_end);
  const std::string_view authority =
      url.substr(scheme_end + 3, url.find_first_of("/?#", scheme_end + 3) - scheme_end - 3);
  if (authority.empty() || authority.find_first_of("@\\") != std::string_view::npos) return refused();
  if (scheme == "https") return {};
  if (scheme != "http") return refused();
  auto address = cluster::parse_address(authority);
  if (!address) address = cluster::parse_address(std::string(authority) + ":80");
  if (!address || !cluster::is_loopback(*address)) return refused();
  return {};
}

}  // namespace tfd::resolve::google
