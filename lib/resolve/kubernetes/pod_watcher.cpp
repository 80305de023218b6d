// SPDX-License-Identifier: Apache-2.0
#include "pod_watcher.hpp"

#include <algorithm>
#include <tuple>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::resolve::kubernetes {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kPage = 500;
constexpr std::size_t kMostPods = 1'000'000;
constexpr std::size_t kLongestEvent = std::size_t{8} << 20;  // etcd holds no object above 1.5 MiB
constexpr seconds kLongestWatch{300};
constexpr seconds kSilence{120};  // bookmarks come every minute
constexpr seconds kPollEvery{5};
constexpr seconds kLongestRest{10};

/// Whole lines of a stream that comes in pieces.
class Lines {
 public:
  /// False when a line is too long.
  template <class F>
  bool feed(std::string_view chunk, F&& line) {
    while (!chunk.empty()) {
      const std::size_t end = chunk.find('\n');
      if (end == std::string_view::npos) {
        held_.append(chunk);
        return held_.size() <= kLongestEvent;
      }
      if (held_.empty()) {
        line(chunk.substr(0, end));
      } else {
        held_.append(chunk.substr(0, end));
        line(std::string_view(held_));
        held_.clear();
      }
      chunk.remove_prefix(end + 1);
    }
    return true;
  }

 private:
  std::string held_;
};

/// Whether asking again may help: the server is away, or has too much to do.
bool is_transient(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded || error.code == Code::kNotFound ||
         error.code == Code::kDataLoss;
}

/// The key of a pod, also of an incomplete one without a UID.
std::string key_of(const Pod& pod) { return pod.uid.empty() ? pod.namespace_ + '/' + pod.name : pod.uid; }

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

PodWatcher::PodWatcher(Client& client, const ResolverEnvironment& environment, std::string selector,
                       std::optional<std::string> namespace_name, bool in_pages)
    : client_(client),
      environment_(environment),
      selector_(std::move(selector)),
      namespace_(std::move(namespace_name)),
      in_pages_(in_pages) {}

std::string PodWatcher::path() const {
  return fmt::format("/api/v1/{}pods?labelSelector={}",
                     namespace_ ? fmt::format("namespaces/{}/", percent_encoded(*namespace_)) : "",
                     percent_encoded(selector_));
}

std::string PodWatcher::describe() const {
  return fmt::format("pods of {} in {}", printable(selector_),
                     namespace_ ? "namespace " + printable(*namespace_) : "all namespaces");
}

std::vector<Pod> PodWatcher::pods() const {
  std::vector<const Held*> held;
  held.reserve(pods_.size());
  for (const auto& [uid, one] : pods_) held.push_back(&one);
  std::sort(held.begin(), held.end(), [](const Held* a, const Held* b) {
    return std::tie(a->pod.name, a->order) < std::tie(b->pod.name, b->order);
  });
  std::vector<Pod> out;
  out.reserve(held.size());
  for (const Held* one : held) out.push_back(one->pod);
  return out;
}

Result<void> PodWatcher::list(Deadline deadline) {
  for (int attempt = 0;; ++attempt) {
    // A continue token lives only some minutes: from the start then, and at last in one piece.
    auto listed = list_pages(deadline, in_pages_ && attempt < 3);
    if (listed || listed.error().code != Code::kOutOfRange || attempt >= 3) return listed;
    environment_.log.info("{}: the list expired between two pages; listing again", describe());
  }
}

Result<void> PodWatcher::list_pages(Deadline deadline, bool in_pages) {
  std::map<std::string, Held> pods;
  std::string version, next;
  do {
    std::string query = path();
    if (in_pages) query += fmt::format("&limit={}", kPage);
    if (!next.empty()) query += "&continue=" + percent_encoded(next);
    PodPage page = TFD_TRY(read_pod_page(TFD_TRY(client_.get(query, "list", describe(), deadline))));
    for (Pod& pod : page.pods) {
      std::string key = key_of(pod);
      const std::size_t order = pods.size();
      pods.insert_or_assign(std::move(key), Held{std::move(pod), order});
    }
    if (pods.size() > kMostPods) return fail(Code::kResourceExhausted, "{}: more than {} pods", describe(), kMostPods);
    if (page.next == next && !next.empty())
      return fail(Code::kDataLoss, "{}: the API server gives the same page again and again", describe());
    version = page.resource_version;
    next = std::move(page.next);
  } while (!next.empty());
  pods_ = std::move(pods);
  resource_version_ = std::move(version);
  return {};
}

bool PodWatcher::apply(const WatchEvent& event) {
  if (!event.resource_version.empty()) resource_version_ = event.resource_version;
  const Pod& pod = event.pod;
  const std::string key = key_of(pod);
  if (event.kind == WatchEvent::Kind::kDeleted) return pods_.erase(key) > 0;
  if (event.kind != WatchEvent::Kind::kSet) return false;
  const auto [held, is_new] = pods_.try_emplace(key, Held{pod, pods_.empty() ? 0 : pods_.size()});
  if (!is_new && held->second.pod == pod) return false;
  held->second.pod = pod;
  return true;
}

Result<PodWatcher::Ended> PodWatcher::watch_once(Deadline deadline, const std::function<bool()>& enough) {
  const auto left = std::chrono::ceil<seconds>(std::min<Duration>(deadline.remaining(), kLongestWatch));
  const std::string query =
      fmt::format("{}&watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}", path(),
                  percent_encoded(resource_version_), std::max<std::int64_t>(left.count(), 1));
  Lines lines;
  Ended ended = Ended::kByServer;
  std::optional<Error> wrong;
  const auto sink = [&](std::string_view chunk) {
    bool changed = false;
    const bool fits = lines.feed(chunk, [&](std::string_view line) {
      if (line.empty() || wrong || ended == Ended::kTooOld) return;
      const WatchEvent event = read_watch_event(line);
      if (event.kind == WatchEvent::Kind::kTooOld)
        ended = Ended::kTooOld;
      else if (event.kind == WatchEvent::Kind::kError)
        wrong = Error{Code::kUnavailable, fmt::format("{}: the watch says: {}", describe(), event.message), {}};
      else
        changed = apply(event) || changed;
      answered();
    });
    if (!fits) wrong = Error{Code::kDataLoss, fmt::format("{}: an event of the watch is too long", describe()), {}};
    if (changed && enough()) ended = Ended::kEnough;
    return ended == Ended::kByServer && !wrong;
  };
  const auto finished = client_.stream(query, describe(), kSilence, sink, deadline);
  if (ended != Ended::kByServer) return ended;
  if (wrong) return fail(std::move(*wrong));
  if (!finished) {
    // "Too large": the server lost its past (etcd was restored), so that ours is its future.
    const bool ahead = finished.error().message.find("Too large resource version") != std::string::npos;
    if (finished.error().code == Code::kOutOfRange || ahead) return Ended::kTooOld;
    return fail(finished.error());
  }
  return ended;
}

void PodWatcher::answered() {
  if (failures_ > 1) environment_.log.info("{}: watched again", describe());
  failures_ = 0;
}

/// Pauses before the next try, longer each time. False when the deadline came.
bool PodWatcher::rest(Deadline deadline) {
  const int doublings = std::min(failures_, 6);
  ++failures_;
  return environment_.pause(std::min<Duration>(milliseconds(200) * (1 << doublings), kLongestRest), deadline) &&
         !deadline.expired();
}

/// Lists until it succeeds.
Result<void> PodWatcher::relist(Deadline deadline) {
  while (true) {
    auto listed = list(deadline);
    if (listed || !is_transient(listed.error())) return listed;
    if (failures_ == 0) environment_.log.warning("{}; trying again", first_line(listed.error().message));
    if (!rest(deadline)) return listed;
  }
}

Result<bool> PodWatcher::watch(Deadline deadline, const std::function<bool()>& enough) {
  while (!deadline.expired()) {
    if (!may_watch_ || resource_version_.empty()) {
      if (!environment_.pause(kPollEvery, deadline)) return false;
      const auto listed = relist(deadline);
      if (!listed && is_transient(listed.error())) return false;
      if (!listed) return fail(listed.error());
      if (enough()) return true;
      continue;
    }
    const auto started = Clock::now();
    const auto ended = watch_once(deadline, enough);
    if (ended && *ended == Ended::kEnough) return true;
    if (ended && *ended == Ended::kTooOld) {
      environment_.log.info("{}: resource version {} is too old, listing them again", describe(), resource_version_);
      const auto listed = relist(deadline);
      if (!listed && is_transient(listed.error())) return false;  // the deadline; the next call comes here again
      if (!listed) return fail(listed.error());
      if (enough()) return true;
      continue;
    }
    if (deadline.expired()) break;
    if (!ended && ended.error().code == Code::kPermissionDenied &&
        ended.error().message.find(": 403, ") != std::string::npos) {
      environment_.log.warning("{}; listing them every {} instead", first_line(ended.error().message),
                               format_duration(kPollEvery));
      may_watch_ = false;
      continue;
    }
    if (!ended && !is_transient(ended.error())) return fail(ended.error());
    if (!ended) {
      // The first time it is just cut off, as idle connections are.
      if (failures_ == 1)
        environment_.log.warning("{}; watching again as soon as it answers", first_line(ended.error().message));
      else
        environment_.log.info("{}; watching again", first_line(ended.error().message));
      if (!rest(deadline)) break;
    } else if (Clock::now() - started >= seconds(1)) {
      answered();
    } else if (!rest(deadline)) {  // a server that ends every watch at once
      break;
    }
  }
  return false;
}

}  // namespace tfd::resolve::kubernetes
