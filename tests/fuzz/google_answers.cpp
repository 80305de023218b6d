// SPDX-License-Identifier: Apache-2.0
//
// Answers of Google's APIs, and credentials files.
#include "checks.hpp"
#include "google/credentials_file.hpp"
#include "google/tpu_node.hpp"
#include "targets.hpp"
#include "tfd/base/text.hpp"
#include "tfd/resolve/gce.hpp"

namespace tfd::fuzz {
namespace {

using namespace resolve;

/// A metadata server with a token, and an API that gives the pieces one after the other; then nobody answers.
class Scripted final : public Fetcher {
 public:
  explicit Scripted(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}

  Result<Response> fetch(const Request& request, Deadline) override {
    if (request.url.find("metadata.google.internal") != std::string::npos)
      return Response{.status = 200,
                      .headers = {{"Metadata-Flavor", "Google"}},
                      .body = R"({"access_token": "t", "expires_in": 3600})"};
    if (next_ == pieces_.size()) return fail(Code::kUnavailable, "GET: no connection");
    return Response{.status = 200, .body = pieces_[next_++]};
  }
  Result<Response> stream(const Request&, Duration, const ChunkSink&, Deadline) override {
    return fail(Code::kUnavailable, "GET: no connection");
  }

 private:
  std::vector<std::string> pieces_;
  std::size_t next_ = 0;
};

std::chrono::system_clock::time_point fixed_now() {
  return std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
}

ResolverEnvironment make_world(std::vector<std::string> pieces) {
  return {.env = {},
          .fetcher = std::make_unique<Scripted>(std::move(pieces)),
          .gpus = [] { return std::optional<int>(); },
          .devices = [](Deadline) -> Result<std::vector<std::string>> { return fail(Code::kUnimplemented, "none"); },
          .load_file = [](const std::string&) -> Result<std::string> { return fail(Code::kNotFound, "no such file"); },
          .now = fixed_now,
          .pause = [](Duration, Deadline) { return false; },
          .hostname = "host",
          .log = {}};
}

/// Lines "---" separate the answers.
std::vector<std::string> split_answers(std::string_view bytes) {
  std::vector<std::string> pieces(1);
  for (const std::string& line : split(bytes, '\n')) {
    if (line == "---")
      pieces.emplace_back();
    else
      pieces.back() += line + '\n';
  }
  return pieces;
}

}  // namespace

void tpu_node(std::string_view bytes) {
  const auto root = cluster::parse_json(bytes, "the answer");
  if (!root) return expect_readable(root.error());
  const auto answer = google::parse_node(*root, "projects/p/locations/z/nodes/t", 8470);
  if (!answer) return expect_readable(answer.error());
  for (const Compat compat : {Compat::kNone, Compat::kTensorflow}) {
    if (const auto usable = google::check_usable(*answer, compat, Log{}); !usable) expect_readable(usable.error());
    const auto recent = google::has_recent_symptom(answer->node.symptoms, {"OUT_OF_MEMORY"}, fixed_now(), compat);
    if (!recent) expect_readable(recent.error());
  }
}

void gce_pages(std::string_view bytes) {
  for (const Compat compat : {Compat::kNone, Compat::kTensorflow}) {
    const ResolverEnvironment world = make_world(split_answers(bytes));
    GceOptions options;
    options.project = "p";
    options.zone = "z";
    options.instance_group = "g";
    options.port = 8470;
    options.compat = compat;
    const auto resolver = make_gce_resolver(options, world);
    expect(resolver.has_value(), "the options are right");
    const auto config = (*resolver)->resolve(Deadline::after(std::chrono::seconds(5)));
    if (config)
      expect_rendered(*config);
    else
      expect_readable(config.error());
  }
}

void token(std::string_view bytes) {
  const auto parsed = google::parse_token(std::string(bytes), "the token", fixed_now());
  if (!parsed) return expect_readable(parsed.error());
  expect(!parsed->text.empty(), "a token isn't empty");
}

void credentials_file(std::string_view bytes) {
  const auto parsed = google::parse_credentials(Secret(std::string(bytes)), "key.json");
  if (!parsed) return expect_readable(parsed.error());
  expect(!(*parsed)->describe().empty(), "credentials have a name");
}

}  // namespace tfd::fuzz
