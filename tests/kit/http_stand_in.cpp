// SPDX-License-Identifier: Apache-2.0
//
// tfd-http-stand-in SCRIPT [LOG]: an HTTP server on 127.0.0.1 for tests in shell. It answers as the JSON file SCRIPT
// says, prints its URL on stdout as soon as it listens, and adds every request to LOG as a line of JSON
// ({"method", "target", "path", "query": {}, "headers": {}, "body", "connection"}, header names in lower case). It ends
// when its stdin does, or by SIGTERM: start it with a stdin that stays open. Built with the tests, not installed:
//
//   mkfifo commands; "$TFD_BUILD/tests/kit/tfd-http-stand-in" script.json requests.jsonl <commands >url & exec
//   9>commands until [ -s url ]; do …; done; url=$(<url) … exec 9>&-
//
// SCRIPT: {"routes": [ROUTE, …]}; the first that fits answers, none: 404. A ROUTE is
//   {"method": "GET",                       any if left out
//    "path": "/api/v1/pods",                `*` stands for anything
//    "query": {"labelSelector": "a=b", "continue": null},        decoded; null: must be absent; others are ignored
//    "headers": {"Authorization": "Bearer abc", "X": null},      likewise
//    "body": "a*b",                         of the request, `*` stands for anything
//    "replies": [REPLY, …]}                 one after the other, the last again and again
// A REPLY is
//   {"status": 200, "headers": {"Retry-After": "1"},
//    "json": {…} | "body": "text" | "body_file": "path",         with json also Content-Type: application/json
//    "cut_after": 10,                       so many bytes of the body, then the connection is closed
//    "delay_ms": 100,                       before the answer
//    "trickle_ms": 5,                       between single bytes of the body
//    "hang_up": true,                       closed without an answer
//    "silent": true,                        no answer, the connection stays open
//    "raw": "text",                         sent as it is instead of all that
//    "chunks": ["line\n", …], "then": "stay" | "close" | "cut",  a chunked answer, close if left out
//    "stream": "NAME"}                      a chunked answer that comes from stdin
// A line on stdin is {"stream": "NAME", "push": "text"}, {"stream": "NAME", "then": "close" | "cut"} (later lines about
// the NAME are for the next request that is answered so), or {"routes": […]}, which replaces the script.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>

#include "http_server.hpp"
#include "tfd/base/text.hpp"
#include "tfd/cluster/json_value.hpp"

using tfd::cluster::JsonValue;
using tfd::cluster::parse_json;
using namespace tfd::kit;

namespace {

[[noreturn]] void die(const std::string& message) {
  std::cerr << "tfd-http-stand-in: " << message << '\n';
  std::exit(64);
}

std::string load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) die("cannot open " + path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string text_of(const JsonValue& object, std::string_view key, const std::string& fallback = "") {
  const JsonValue* found = object.find(key);
  return found != nullptr ? found->text : fallback;
}

/// Whether each named value exists, or is missing where null is said.
template <class Get>
bool fits(const JsonValue* wanted, const Get& get) {
  if (wanted == nullptr) return true;
  for (std::size_t i = 0; i < wanted->keys.size(); ++i) {
    const std::optional<std::string> value = get(wanted->keys[i]);
    if (wanted->items[i].is(JsonValue::Kind::kNull) ? value.has_value() : value != wanted->items[i].text) return false;
  }
  return true;
}

class Script {
 public:
  void set_routes(const JsonValue& script, const std::string& source) {
    const JsonValue* routes = script.find("routes");
    if (routes == nullptr || !routes->is(JsonValue::Kind::kArray)) die(source + ": no list of routes");
    for (const JsonValue& route : routes->items)
      if (const JsonValue* replies = route.find("replies"); replies == nullptr || replies->items.empty())
        die(source + ": a route without replies");
    const std::lock_guard lock(mutex_);
    routes_ = routes->items;
    used_.assign(routes_.size(), 0);
  }

  HttpReply answer(const HttpRequest& request) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < routes_.size(); ++i) {
      if (!matches(routes_[i], request)) continue;
      const std::vector<JsonValue>& replies = routes_[i].find("replies")->items;
      return make_reply(replies[std::min(used_[i]++, replies.size() - 1)]);
    }
    return {.status = 404, .body = "no route for " + request.method + " " + request.target + "\n"};
  }

  void command(const std::string& line) {
    const auto value = parse_json(line, "stdin");
    if (!value) die(value.error().message);
    if (value->find("routes") != nullptr) return set_routes(*value, "stdin");
    const std::lock_guard lock(mutex_);
    std::vector<NamedStream>& streams = streams_[text_of(*value, "stream")];
    if (streams.empty() || streams.back().ended) streams.emplace_back();
    NamedStream& last = streams.back();
    if (const JsonValue* push = value->find("push")) last.stream->push(push->text);
    const std::string then = text_of(*value, "then");
    if (then == "close") last.stream->close();
    if (then == "cut") last.stream->cut();
    last.ended = !then.empty();
  }

 private:
  static bool matches(const JsonValue& route, const HttpRequest& request) {
    const auto query = [&](const std::string& name) { return request.query(name); };
    const auto header = [&](const std::string& name) {
      return request.has_header(name) ? std::optional(request.header(name)) : std::nullopt;
    };
    return text_of(route, "method", request.method) == request.method &&
           tfd::matches_glob(text_of(route, "path", "*"), request.path()) && fits(route.find("query"), query) &&
           fits(route.find("headers"), header) && tfd::matches_glob(text_of(route, "body", "*"), request.body);
  }

  HttpReply make_reply(const JsonValue& from) {
    const auto number = [&](std::string_view key) { return std::stol("0" + text_of(from, key)); };
    const auto flag = [&](std::string_view key) { return from.find(key) != nullptr && from.find(key)->boolean; };
    HttpReply out{.hang_up = flag("hang_up"), .silent = flag("silent")};
    if (from.find("status") != nullptr) out.status = static_cast<int>(number("status"));
    if (const JsonValue* headers = from.find("headers"))
      for (std::size_t i = 0; i < headers->keys.size(); ++i)
        out.headers.emplace_back(headers->keys[i], headers->items[i].text);
    out.body = text_of(from, "body");
    if (from.find("body_file") != nullptr) out.body = load(text_of(from, "body_file"));
    if (const JsonValue* json = from.find("json")) {
      append_json(out.body, *json);
      out.headers.emplace_back("Content-Type", "application/json");
    }
    if (from.find("cut_after") != nullptr) out.cut_after = number("cut_after");
    out.delay = std::chrono::milliseconds(number("delay_ms"));
    out.trickle = std::chrono::milliseconds(number("trickle_ms"));
    if (const JsonValue* raw = from.find("raw")) out.raw = raw->text;
    if (from.find("stream") != nullptr) out.stream = take_stream(text_of(from, "stream"));
    if (const JsonValue* chunks = from.find("chunks")) {
      out.stream = std::make_shared<HttpStream>();
      for (const JsonValue& chunk : chunks->items) out.stream->push(chunk.text);
      const std::string then = text_of(from, "then", "close");
      if (then == "close") out.stream->close();
      if (then == "cut") out.stream->cut();
    }
    return out;
  }

  /// The oldest of that name that answers nobody yet.
  std::shared_ptr<HttpStream> take_stream(const std::string& name) {
    std::vector<NamedStream>& streams = streams_[name];
    const auto found = std::find_if(streams.begin(), streams.end(), [](const NamedStream& s) { return !s.taken; });
    NamedStream& stream = found != streams.end() ? *found : streams.emplace_back();
    stream.taken = true;
    return stream.stream;
  }

  struct NamedStream {
    std::shared_ptr<HttpStream> stream = std::make_shared<HttpStream>();  // shared with the answer that comes from it
    bool taken = false;
    bool ended = false;
  };
  std::mutex mutex_;
  std::vector<JsonValue> routes_;
  std::vector<std::size_t> used_;                            // how often each has answered
  std::map<std::string, std::vector<NamedStream>> streams_;  // of each name in the order in which they answer
};

std::string as_json(const HttpRequest& request) {
  const auto text = [](const std::string& value) {
    JsonValue out{.kind = JsonValue::Kind::kString};
    out.text = value;
    return out;
  };
  JsonValue out{.kind = JsonValue::Kind::kObject};
  out.set("method", text(request.method));
  out.set("target", text(request.target));
  out.set("path", text(request.path()));
  JsonValue query{.kind = JsonValue::Kind::kObject};
  if (const std::size_t mark = request.target.find('?'); mark != std::string::npos)
    for (const std::string& pair : tfd::split(request.target.substr(mark + 1), '&')) {
      const std::string name = percent_decoded(pair.substr(0, pair.find('=')));
      query.set(name, text(request.query(name).value_or("")));
    }
  out.set("query", query);
  JsonValue headers{.kind = JsonValue::Kind::kObject};
  for (auto [name, value] : request.headers) {
    for (char& c : name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    headers.set(name, text(value));
  }
  out.set("headers", headers);
  out.set("body", text(request.body));
  JsonValue connection{.kind = JsonValue::Kind::kInteger};
  connection.text = std::to_string(request.connection);
  out.set("connection", connection);
  std::string line;
  append_json(line, out);
  return line + '\n';
}

/// Obeys commands until stdin ends or a signal comes.
void obey(Script& script, int signal_fd) {
  std::string rest;
  for (;;) {
    pollfd fds[2] = {{STDIN_FILENO, POLLIN, 0}, {signal_fd, POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0 || fds[1].revents != 0) return;
    char buffer[4096];
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (got <= 0) return;
    rest.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1))
      if (end > 0) script.command(rest.substr(0, end));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) die("usage: tfd-http-stand-in SCRIPT [LOG]");
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);  // before there are threads
  const int signal_fd = ::signalfd(-1, &signals, SFD_CLOEXEC);

  Script script;
  const auto parsed = parse_json(load(argv[1]), argv[1]);
  if (!parsed) die(parsed.error().message);
  script.set_routes(*parsed, argv[1]);
  std::ofstream log;
  if (argc == 3) log.open(argv[2], std::ios::app);
  HttpServer server([&](const HttpRequest& request) {
    if (log.is_open()) log << as_json(request) << std::flush;
    return script.answer(request);
  });
  std::cout << server.url() << std::endl;
  obey(script, signal_fd);
  server.stop();
  return 0;
}
