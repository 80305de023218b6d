#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Google Cloud in memory: a metadata server, APIs, files and a clock that only pauses move. Thread rule: one thread.
//
//   GoogleWorld world;
//   world.put("https://tpu.googleapis.com/v2/projects/p/locations/z/nodes/t", 200, R"({"state": "READY"})");
//   auto tpu = make_tpu_resolver({.tpu = {{"t"}}, .zone = "z", .project = "p"}, world.environment, world.soon());
//   CHECK(world.asked() == std::vector<std::string>{"GET …"});
#include <map>
#include <string>
#include <vector>

#include "tfd/resolve/resolver_environment.hpp"

namespace tfd::resolve {

class GoogleWorld {
 public:
  static constexpr const char* kMetadata = "http://metadata.google.internal/computeMetadata/v1/";
  static constexpr const char* kApi = "https://tpu.googleapis.com/v2/";

  ResolverEnvironment environment;
  std::vector<Request> requests;
  std::map<std::string, std::string> files;
  std::vector<Duration> pauses;
  std::vector<std::string> said;  // the log
  std::chrono::system_clock::time_point now{std::chrono::seconds(1'700'000'000)};
  /// Whether there is a metadata server at all: without one its name isn't known.
  bool on_google_cloud = true;

  GoogleWorld() {
    environment.fetcher = std::make_unique<Twin>(*this);
    environment.devices = [](Deadline) -> Result<std::vector<std::string>> {
      return fail(Code::kNotFound, "no TPU plug-in");
    };
    environment.load_file = [this](const std::string& path) -> Result<std::string> {
      const auto found = files.find(path);
      if (found == files.end()) return fail(Code::kNotFound, "cannot open {}: no such file or directory", path);
      return found->second;
    };
    environment.now = [this] { return now; };
    environment.pause = [this](Duration pause, Deadline) {
      pauses.push_back(pause);
      now += std::chrono::duration_cast<std::chrono::system_clock::duration>(pause);
      return true;
    };
    environment.log =
        Log("resolve", [this](LogLevel, std::string_view, std::string_view text) { said.emplace_back(text); });
    environment.hostname = "host";
    files["/token"] = "tok-file\n";
    environment.env.set("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", "/token");
  }
  GoogleWorld(const GoogleWorld&) = delete;
  GoogleWorld& operator=(const GoogleWorld&) = delete;

  static Deadline soon() { return Deadline::after(std::chrono::seconds(20)); }

  /// The next answer to this URL; the last one again and again.
  void put(const std::string& url, int status, std::string body,
           std::vector<std::pair<std::string, std::string>> headers = {}) {
    Response response{.status = status, .headers = std::move(headers), .body = std::move(body)};
    if (url.rfind(kMetadata, 0) == 0) response.headers.emplace_back("Metadata-Flavor", "Google");
    answers_[url].push_back(response);
  }
  void put_error(const std::string& url, Code code, const std::string& text) {
    answers_[url].push_back(fail(code, "{}", text));
  }
  void put_metadata(const std::string& path, std::string body) { put(kMetadata + path, 200, std::move(body)); }
  void put_node(const std::string& path, std::string body) { put(std::string(kApi) + path, 200, std::move(body)); }

  /// "GET https://…", in order.
  std::vector<std::string> asked() const {
    std::vector<std::string> out;
    for (const Request& request : requests) out.push_back(request.method + " " + request.url);
    return out;
  }
  std::vector<std::string> asked_below(const std::string& prefix) const {
    std::vector<std::string> out;
    for (const Request& request : requests)
      if (request.url.rfind(prefix, 0) == 0) out.push_back(request.url.substr(prefix.size()));
    return out;
  }

 private:
  class Twin : public Fetcher {
   public:
    explicit Twin(GoogleWorld& world) : world_(world) {}
    Result<Response> fetch(const Request& request, Deadline) override {
      world_.requests.push_back(request);
      auto& answers = world_.answers_;
      const auto found = answers.find(request.url);
      if (found == answers.end() && request.url.rfind(kMetadata, 0) == 0) {
        if (!world_.on_google_cloud)
          return fail(Code::kNotFound, "GET {}: no host metadata.google.internal", request.url);
        return Response{.status = 404, .headers = {{"metadata-flavor", "Google"}}, .body = "not found"};
      }
      if (found == answers.end()) return Response{.status = 404, .body = R"({"error": {"message": "nothing here"}})"};
      const Result<Response> answer = found->second.front();
      if (found->second.size() > 1) found->second.erase(found->second.begin());
      return answer;
    }
    Result<Response> stream(const Request&, Duration, const ChunkSink&, Deadline) override {
      return fail(Code::kUnimplemented, "no streams here");
    }

   private:
    GoogleWorld& world_;
  };

  std::map<std::string, std::vector<Result<Response>>> answers_;
};

/// The cluster as JSON and the task, or the error.
inline std::string shown(const Result<cluster::ClusterConfig>& config) {
  if (!config) return "error: " + config.error().message;
  const std::string task = config->task ? cluster::format_task(*config->task) : "-";
  return cluster::cluster_spec_to_json(config->cluster) + " " + task;
}

}  // namespace tfd::resolve
