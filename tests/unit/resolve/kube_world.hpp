#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A world with a Kubernetes API in it: pods by label, pages, watches from a resource version on, and the faults a test
// wants. A test's work for "meanwhile" happens when a watch has nothing more to say. Thread rule: one thread.
#include <doctest/doctest.h>
#include <poll.h>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tfd/resolve/kubernetes.hpp"

namespace tfd::resolve {

inline bool says(const std::string& text, std::string_view part) {
  CAPTURE(text);
  CAPTURE(part);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

inline constexpr const char* kKubeconfigText =
    "clusters: [{name: c, cluster: {server: 'https://api.test:6443/', certificate-authority-data: Q0E=}}]\n"
    "users: [{name: u, user: {token: tok}}]\n"
    "contexts: [{name: x, context: {cluster: c, user: u, namespace: mine}}]\n"
    "current-context: x\n";

struct FakePod {
  std::string name;
  std::string phase = "Running";
  std::string ip = "10.0.0.1";
  std::map<std::string, std::string> labels = {{"job-name", "a"}};
  std::string more_metadata = {};  // ", \"deletionTimestamp\": …"
  std::string more_spec = {};
  std::string more_status = {};
  std::string namespace_ = "mine";
  std::string created = "2026-01-01T00:00:00Z";
  std::string host_ip = "192.168.0.1";
};

class KubeWorld {
 public:
  KubeWorld() {
    files["/home/u/.kube/config"] = kKubeconfigText;
    environment.env.set("HOME", "/home/u");
    environment.fetcher = std::make_unique<FakeFetcher>(*this);
    environment.load_file = [this](const std::string& path) -> Result<std::string> {
      const auto found = files.find(path);
      if (found == files.end()) return fail(Code::kNotFound, "cannot open {}: no such file or directory", path);
      return found->second;
    };
    environment.now = [] { return std::chrono::system_clock::now(); };
    environment.pause = [this](Duration, Deadline deadline) {
      ++pauses;
      do_something();
      return !deadline.expired();
    };
    environment.hostname = "here";
    environment.log =
        Log("resolve", [this](LogLevel, std::string_view, std::string_view text) { log += std::string(text) + '\n'; });
  }
  KubeWorld(const KubeWorld&) = delete;
  KubeWorld& operator=(const KubeWorld&) = delete;

  void put(const FakePod& pod) {
    const bool known = pods.contains(pod.name);
    pods[pod.name] = pod;
    add_event(known ? "MODIFIED" : "ADDED", pod);
  }
  void erase(const std::string& name) {
    add_event("DELETED", pods.at(name));
    pods.erase(name);
  }
  /// Events up to now are forgotten: a watch from before gets 410.
  void compact() { compacted = version; }

  static Deadline soon() { return Deadline::after(std::chrono::seconds(20)); }

  ResolverEnvironment environment;
  std::map<std::string, std::string> files;
  std::map<std::string, FakePod> pods;                                  // by name, as the API lists them
  std::map<std::string, std::string> objects;                           // path -> JSON: Jobs and so on
  std::deque<std::function<Result<Response>(const Request&)>> instead;  // of the next answers, watches too
  std::deque<std::function<void()>> meanwhile;
  std::deque<std::string> watch_lines;  // raw lines for the next watch
  std::vector<Request> requests;
  std::string log;
  int pauses = 0;
  int version = 100;
  int compacted = 0;

  static Response answer(int status, std::string body) { return {.status = status, .body = std::move(body)}; }
  static std::string status_object(int code, const std::string& reason, const std::string& message) {
    return fmt::format(R"({{"kind": "Status", "status": "Failure", "message": "{}", "reason": "{}", "code": {}}})",
                       message, reason, code);
  }

 private:
  struct Event {
    int version;
    std::string line;
    FakePod pod;
  };

  class FakeFetcher : public Fetcher {
   public:
    explicit FakeFetcher(KubeWorld& world) : world_(world) {}
    Result<Response> fetch(const Request& request, Deadline) override { return world_.fetch(request); }
    Result<Response> stream(const Request& request, Duration, const ChunkSink& sink, Deadline deadline) override {
      return world_.stream(request, sink, deadline);
    }

   private:
    KubeWorld& world_;
  };

  static std::string json_of(const FakePod& pod, int version) {
    std::string labels;
    for (const auto& [key, value] : pod.labels)
      labels += fmt::format(R"({}"{}": "{}")", labels.empty() ? "" : ", ", key, value);
    return fmt::format(
        R"({{"metadata": {{"name": "{0}", "namespace": "{1}", "uid": "uid-{0}-{2}", "resourceVersion": "{3}", )"
        R"("creationTimestamp": "{2}", "labels": {{{4}}}{5}}}, "spec": {{"nodeName": "n1"{6}}}, )"
        R"("status": {{"phase": "{7}", "podIP": "{8}", "hostIP": "{9}"{10}}}}})",
        pod.name, pod.namespace_, pod.created, version, labels, pod.more_metadata, pod.more_spec, pod.phase, pod.ip,
        pod.host_ip, pod.more_status);
  }
  void add_event(const std::string& type, const FakePod& pod) {
    ++version;
    events.push_back(
        {version, fmt::format("{{\"type\": \"{}\", \"object\": {}}}\n", type, json_of(pod, version)), pod});
  }
  bool do_something() {
    if (meanwhile.empty()) return false;
    const auto action = std::move(meanwhile.front());
    meanwhile.pop_front();
    action();
    return true;
  }

  static std::string decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        out += text[i];
        continue;
      }
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    }
    return out;
  }
  static std::string query_of(const std::string& url, const std::string& name) {
    std::size_t at = url.find('?' + name + '=');
    if (at == std::string::npos) at = url.find('&' + name + '=');
    if (at == std::string::npos) return {};
    at += name.size() + 2;
    return decoded(std::string_view(url).substr(at, url.find('&', at) - at));
  }
  /// "a=b,c=d", and the namespace of the path.
  static bool matches(const FakePod& pod, const std::string& url) {
    const std::size_t at = url.find("/namespaces/");
    if (at != std::string::npos && url.substr(at + 12, url.find('/', at + 12) - at - 12) != pod.namespace_)
      return false;
    std::string selector = query_of(url, "labelSelector");
    while (!selector.empty()) {
      const std::size_t open = selector.find(" in ("), equals = selector.find('=');
      if (open < equals) {  // a in (b,c)
        const std::size_t close = selector.find(')');
        const auto label = pod.labels.find(selector.substr(0, open));
        const std::string values = ',' + selector.substr(open + 5, close - open - 5) + ',';
        if (label == pod.labels.end() || values.find(',' + label->second + ',') == std::string::npos) return false;
        selector.erase(0, close + 2);
        continue;
      }
      const std::size_t comma = std::min(selector.find(','), selector.size());
      const auto label = pod.labels.find(selector.substr(0, equals));
      if (label == pod.labels.end() || label->second != selector.substr(equals + 1, comma - equals - 1)) return false;
      selector.erase(0, comma + 1);
    }
    return true;
  }

  Result<Response> fetch(const Request& request) {
    requests.push_back(request);
    if (!instead.empty()) {
      const auto reply = std::move(instead.front());
      instead.pop_front();
      return reply(request);
    }
    const std::string path = request.url.substr(std::string("https://api.test:6443").size());
    if (path.find("/pods?") == std::string::npos) {
      const auto found = objects.find(path);
      if (found != objects.end()) return answer(200, found->second);
      return answer(404, status_object(404, "NotFound", "not found"));
    }
    const std::string limit = query_of(request.url, "limit"), from = query_of(request.url, "continue");
    const std::size_t most = limit.empty() ? pods.size() : std::stoul(limit);
    std::string items, next;
    std::size_t count = 0;
    for (const auto& [name, pod] : pods) {
      if (!matches(pod, request.url) || name <= from) continue;
      if (count == most) break;
      items += (items.empty() ? "" : ", ") + json_of(pod, version);
      ++count;
      next = name;
    }
    if (count < most || next == pods.rbegin()->first) next.clear();
    return answer(
        200, fmt::format(
                 R"({{"kind": "PodList", "metadata": {{"resourceVersion": "{}", "continue": "{}"}}, "items": [{}]}})",
                 version, next, items));
  }

  Result<Response> stream(const Request& request, const ChunkSink& sink, Deadline deadline) {
    requests.push_back(request);
    if (!instead.empty()) {
      const auto reply = std::move(instead.front());
      instead.pop_front();
      return reply(request);
    }
    int from = std::stoi(query_of(request.url, "resourceVersion"));
    while (true) {
      if (!watch_lines.empty()) {
        const std::string line = std::move(watch_lines.front());
        watch_lines.pop_front();
        // The line comes in two pieces, as the network may cut it.
        if (!sink(line.substr(0, line.size() / 2)) || !sink(line.substr(line.size() / 2))) return answer(200, "");
        continue;
      }
      if (from < compacted) {
        const std::string gone = status_object(410, "Expired", "too old resource version");
        sink(fmt::format("{{\"type\": \"ERROR\", \"object\": {}}}\n", gone));
        return answer(200, "");
      }
      for (std::size_t i = 0; i < events.size(); ++i) {
        const Event event = events[i];
        if (event.version <= from) continue;
        from = event.version;
        if (matches(event.pod, request.url) && !sink(event.line)) return answer(200, "");
      }
      if (do_something()) continue;
      ::poll(nullptr, 0, deadline.poll_ms());  // nothing more will happen: the deadline comes
      return fail(Code::kDeadlineExceeded, "GET {}: timed out", request.url.substr(0, request.url.find('?')));
    }
  }

  std::vector<Event> events;
};

}  // namespace tfd::resolve
