// SPDX-License-Identifier: Apache-2.0
//
// The fetcher against TLS: certificates made by openssl, a server by Python's ssl in front of the twin.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "http_server.hpp"
#include "tfd/base/file.hpp"
#include "tfd/process/child.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/resolve/fetcher.hpp"

using namespace tfd;
using namespace tfd::kit;
using namespace tfd::resolve;
using namespace std::chrono_literals;

namespace {

/// A folder of certificates: two authorities, servers that are right, named otherwise and expired, a client.
class Certificates {
 public:
  Certificates() {
    std::string path = (std::filesystem::temp_directory_path() / "tfd-tls-XXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    directory_ = path;
    const auto child = process::Child::start({.argv = {"sh", "-euc", kScript},
                                              .environment = Environment::of_process(),
                                              .directory = path,
                                              .stderr_fd = -1});
    REQUIRE(child);
    REQUIRE(const_cast<process::Child&>(*child).wait(soon())->code == 0);
  }
  ~Certificates() { std::filesystem::remove_all(directory_); }
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;
  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string pem(const std::string& name) const { return *load_file(path(name)); }

 private:
  static constexpr const char* kScript = R"(
    key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key"; }
    authority() { key "$1"; openssl req -x509 -new -key "$1.key" -subj "/CN=$1" -days 2 -out "$1.pem"; }
    authority ca
    authority other-ca
    mkdir db && : >db/index && echo 01 >db/serial
    printf '%s\n' '[ca]' 'default_ca = c' '[c]' 'database = db/index' 'serial = db/serial' 'new_certs_dir = db' \
      'default_md = sha256' 'policy = p' 'copy_extensions = copy' 'unique_subject = no' '[p]' 'commonName = supplied' >ca.cnf
    sign() {  # NAME SUBJECT-ALTERNATIVE-NAME START END
      key "$1"
      openssl req -new -key "$1.key" -subj "/CN=$1" -addext "subjectAltName=$2" -out "$1.csr"
      openssl ca -batch -config ca.cnf -cert ca.pem -keyfile ca.key -in "$1.csr" -out "$1.pem" -notext \
        -startdate "$3" -enddate "$4"
    }
    sign right IP:127.0.0.1,DNS:inside.example 20200101000000Z 20991231000000Z
    sign named DNS:else.example 20200101000000Z 20991231000000Z
    sign expired IP:127.0.0.1 20200101000000Z 20200201000000Z
    sign client DNS:client 20200101000000Z 20991231000000Z
  )";
  std::filesystem::path directory_;
};

const Certificates& certificates() {
  static const Certificates made;  // once, for openssl takes its time
  return made;
}

/// TLS in front of a server.
class Front {
 public:
  Front(const HttpServer& server, const std::string& name, bool wants_client = false) {
    process::Pipe out = std::move(*process::make_pipe());
    process::Pipe in = std::move(*process::make_pipe());
    std::vector<std::string> argv{"python3", TFD_TLS_FRONT, certificates().path(name + ".pem"),
                                  certificates().path(name + ".key"), std::to_string(server.port())};
    if (wants_client) argv.push_back(certificates().path("ca.pem"));
    auto child = process::Child::start({.argv = argv,
                                        .environment = Environment::of_process(),
                                        .stdin_fd = in.read.get(),
                                        .stdout_fd = out.write.get(),
                                        .stderr_fd = -1});
    REQUIRE(child);
    child_.emplace(std::move(*child));
    stdin_ = std::move(in.write);
    std::string port;
    for (char c = 0; ::read(out.read.get(), &c, 1) == 1 && c != '\n';) port += c;
    port_ = port;
    REQUIRE_FALSE(port_.empty());
  }
  std::string url(const std::string& path = "/", const std::string& host = "127.0.0.1") const {
    return "https://" + host + ":" + port_ + path;
  }
  const std::string& port() const { return port_; }

 private:
  std::optional<process::Child> child_;
  process::Fd stdin_;
  std::string port_;
};

HttpReply ok(const HttpRequest& request) { return {.body = "ok " + request.header("Host")}; }

Result<Response> ask(const std::string& url, Tls tls, const Environment& env = {}) {
  return make_curl_fetcher(env)->fetch(
      {.url = url, .bearer = Secret("hunter2"), .tls = std::make_shared<const Tls>(std::move(tls))}, soon());
}

std::string why(const Result<Response>& response, Code code) {
  REQUIRE_FALSE(response);
  CHECK(response.error().code == code);
  CHECK(response.error().message.find("hunter2") == std::string::npos);
  return response.error().message;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("tls: a server of the authority given is trusted, of another one not") {
  HttpServer server(ok);
  const Front front(server, "right");
  const auto trusted = ask(front.url(), {.ca_pem = certificates().pem("ca.pem")});
  REQUIRE_MESSAGE(trusted, trusted.error().message);
  CHECK(trusted->body == "ok 127.0.0.1:" + front.port());
  const std::string other =
      why(ask(front.url("/p?k=hunter2"), {.ca_pem = certificates().pem("other-ca.pem")}), Code::kPermissionDenied);
  CHECK(other.starts_with("GET " + front.url("/p") + ": the server isn't trusted: "));
  CHECK(has(other, "unable to get local issuer certificate"));
  CHECK(has(why(ask(front.url(), {}), Code::kPermissionDenied), "unable to get local issuer certificate"));
  CHECK(ask(front.url(), {.verify = false})->status == 200);
  CHECK(has(why(ask(front.url(), {.ca_pem = "no certificate"}), Code::kInvalidArgument), "is not PEM"));
  Environment env;
  env.set("SSL_CERT_FILE", certificates().path("ca.pem"));
  CHECK(ask(front.url(), {}, env)->status == 200);
  CHECK(server.requests().size() == 3);  // those that weren't trusted got nothing
}

TEST_CASE("tls: a certificate for another name, unless that is the name asked for") {
  HttpServer server(ok);
  const Front front(server, "named");
  const std::string ca = certificates().pem("ca.pem");
  CHECK(has(why(ask(front.url(), {.ca_pem = ca}), Code::kPermissionDenied), "127.0.0.1"));
  CHECK(server.requests().empty());
  const auto named = ask(front.url("/p?a=b"), {.ca_pem = ca, .server_name = "else.example"});
  REQUIRE_MESSAGE(named, named.error().message);
  CHECK(named->body == "ok 127.0.0.1:" + front.port());
  CHECK(server.requests().at(0).target == "/p?a=b");
  CHECK(has(why(ask(front.url(), {.ca_pem = ca, .server_name = "third.example"}), Code::kPermissionDenied),
            "third.example"));
  CHECK(why(ask(front.url(), {.ca_pem = ca, .server_name = "a/b"}), Code::kInvalidArgument) != "");
}

TEST_CASE("tls: an expired certificate") {
  HttpServer server(ok);
  const Front front(server, "expired");
  CHECK(has(why(ask(front.url(), {.ca_pem = certificates().pem("ca.pem")}), Code::kPermissionDenied), "has expired"));
}

TEST_CASE("tls: a client certificate from memory, missing, and broken") {
  HttpServer server(ok);
  const Front front(server, "right", true);
  const std::string ca = certificates().pem("ca.pem");
  const std::string certificate = certificates().pem("client.pem");
  const std::string key = certificates().pem("client.key");
  const auto known =
      ask(front.url(), {.ca_pem = ca, .client_certificate_pem = certificate, .client_key_pem = Secret(key)});
  REQUIRE_MESSAGE(known, known.error().message);
  CHECK(known->status == 200);
  CHECK(has(why(ask(front.url(), {.ca_pem = ca}), Code::kPermissionDenied), "certificate"));
  const Tls broken{.ca_pem = ca, .client_certificate_pem = "hunter2", .client_key_pem = Secret(key)};
  why(ask(front.url(), broken), Code::kInvalidArgument);
  const Tls mismatched{
      .ca_pem = ca, .client_certificate_pem = certificate, .client_key_pem = Secret(certificates().pem("right.key"))};
  const std::string message = why(ask(front.url(), mismatched), Code::kInvalidArgument);
  CHECK_FALSE(has(message, "PRIVATE"));
}

TEST_CASE("tls: a connection is shared only by those who trust and are the same") {
  HttpServer server(ok);
  const Front front(server, "right", true);
  const auto fetcher = make_curl_fetcher({});
  const auto shared = [&](Tls tls) {
    return fetcher->fetch({.url = front.url(), .tls = std::make_shared<const Tls>(std::move(tls))}, soon());
  };
  Tls known{.ca_pem = certificates().pem("ca.pem"),
            .client_certificate_pem = certificates().pem("client.pem"),
            .client_key_pem = Secret(certificates().pem("client.key"))};
  Tls careless = known;
  careless.ca_pem.reset();
  careless.verify = false;
  Tls other = known;
  other.ca_pem = certificates().pem("other-ca.pem");
  Tls anonymous{.ca_pem = known.ca_pem};
  CHECK(shared(careless));
  CHECK_FALSE(shared(other));
  CHECK(shared(known));
  CHECK(shared(known));
  CHECK_FALSE(shared(anonymous));
  const auto seen = server.requests();
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].connection != seen[1].connection);
  CHECK(seen[1].connection == seen[2].connection);
}

TEST_CASE("tls: through a proxy's tunnel, which sees no token") {
  HttpServer server(ok);
  const Front front(server, "right");
  HttpServer proxy([&](const HttpRequest&) -> HttpReply { return {.tunnel_to = "127.0.0.1:" + front.port()}; });
  Environment env;
  env.set("https_proxy", proxy.url());
  const auto through = ask("https://inside.example/x", {.ca_pem = certificates().pem("ca.pem")}, env);
  REQUIRE_MESSAGE(through, through.error().message);
  CHECK(through->body == "ok inside.example");
  CHECK(proxy.requests().at(0).target == "inside.example:443");
  CHECK_FALSE(proxy.requests().at(0).has_header("Authorization"));
  CHECK(server.requests().at(0).header("Authorization") == "Bearer hunter2");
}

TEST_CASE("tls: a redirect from https to http is refused") {
  HttpServer plain(ok);
  HttpServer server([&](const HttpRequest&) -> HttpReply {
    return {.status = 302, .headers = {{"Location", plain.url() + "/x?code=hunter2"}}};
  });
  const Front front(server, "right");
  const std::string message = why(ask(front.url(), {.ca_pem = certificates().pem("ca.pem")}), Code::kPermissionDenied);
  CHECK(message == "GET " + front.url() + ": redirects from https to http, to " + plain.url() + "/x");
  CHECK(plain.requests().empty());
}
