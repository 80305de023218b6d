// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "../check.hpp"
#include "choose.hpp"
#include "owners.hpp"
#include "pod_watcher.hpp"
#include "selectors.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/base/wait_report.hpp"
#include "tfd/cluster/address.hpp"

namespace tfd::resolve {
namespace {

using namespace kubernetes;
using std::chrono::seconds;

constexpr seconds kTurn{2};  // of each selector, where several are watched

const std::pair<std::string, std::vector<std::string>> kDefaultSelector{"worker", {"job-name=tensorflow"}};

class KubernetesResolver : public Resolver {
 public:
  KubernetesResolver(KubernetesOptions options, Access access, const ResolverEnvironment& environment)
      : options_(std::move(options)),
        environment_(environment),
        client_(std::move(access), environment),
        owners_(client_, environment) {
    if (options_.selectors.empty()) options_.selectors.push_back(kDefaultSelector);
    const bool in_pages = options_.compat != Compat::kTensorflow;  // which lists all at once
    std::vector<std::string> all;
    for (const auto& [job, selectors] : options_.selectors) all.insert(all.end(), selectors.begin(), selectors.end());
    joined_ = is_tensorflow() ? keep_apart(all) : join_selectors(all);
    for (const Joint& request : joined_.requests)
      watchers_.emplace_back(client_, environment_, request.selector, options_.namespace_, in_pages);
  }

  Result<cluster::ClusterConfig> resolve(Deadline deadline) override {
    const Deadline limit = options_.wait ? deadline.earlier_of(Deadline::after(*options_.wait)) : deadline;
    if (!watched_) TFD_TRY(list(limit));
    watched_ = false;
    View view = TFD_TRY(look(limit));
    if (options_.wait) TFD_TRY(wait_until_complete(view, limit));
    last_ = view.awaited.empty() ? describe_view(view) : "";
    if (!view.awaited.empty())
      return fail(incomplete(view, options_.wait ? Code::kDeadlineExceeded : Code::kFailedPrecondition));
    return make_config(view);
  }

  Result<bool> wait_change(Deadline deadline) override {
    if (!listed_) return true;
    watched_ = TFD_TRY(watch_all(deadline, [this] {
      if (!knows_owners()) return true;
      const auto view = look_again();
      return !view || (view->awaited.empty() ? describe_view(*view) : "") != last_;
    }));
    return watched_;
  }

 private:
  /// The pods at one moment.
  struct View {
    std::vector<std::pair<std::string, std::vector<Pod>>> tasks;
    std::vector<std::string> awaited;
  };

  Result<void> list(Deadline limit) {
    owners_.forget();
    for (PodWatcher& watcher : watchers_) {
      while (true) {
        auto listed = watcher.list(limit);
        if (listed) break;
        // Whoever waits for pods waits for a server that isn't there yet too.
        const bool away = listed.error().code == Code::kUnavailable;
        if (!options_.wait || !away || !environment_.pause(seconds(1), limit) || limit.expired()) return listed;
        environment_.log.info("{}; trying again", listed.error().message);
      }
    }
    listed_ = true;
    return {};
  }

  bool knows_owners() const {
    return std::all_of(watchers_.begin(), watchers_.end(),
                       [this](const PodWatcher& watcher) { return is_tensorflow() || owners_.knows(watcher.pods()); });
  }
  bool is_tensorflow() const { return options_.compat == Compat::kTensorflow; }

  Result<View> look(Deadline limit) {
    if (!is_tensorflow())
      for (const PodWatcher& watcher : watchers_) TFD_TRY(owners_.learn(watcher.pods(), limit));
    return look_again();
  }

  /// Chooses the pods anew from what the watchers know.
  Result<View> look_again() const {
    View view;
    auto place = joined_.places.begin();
    for (const auto& [job, selectors] : options_.selectors) {
      std::vector<std::vector<Pod>> selected;
      for (std::size_t i = 0; i < selectors.size(); ++i) selected.push_back(pods_of(*place++));
      const auto asked = std::find_if(options_.jobs.begin(), options_.jobs.end(),
                                      [&job = job](const auto& entry) { return entry.first == job; });
      Choice choice;
      if (is_tensorflow())
        choice = choose_as_tensorflow(selected);
      else
        choice = TFD_TRY(choose_pods(job, selected, selectors, owners_.sizes(),
                                     asked == options_.jobs.end() ? std::nullopt : std::optional(asked->second),
                                     options_.address));
      for (std::string& line : choice.awaited) view.awaited.push_back(job + ": " + std::move(line));
      view.tasks.emplace_back(job, std::move(choice.tasks));
    }
    return view;
  }

  /// The pods of one selector.
  std::vector<Pod> pods_of(const std::pair<std::size_t, std::size_t>& place) const {
    std::vector<Pod> pods = watchers_[place.first].pods();
    const Joint& request = joined_.requests[place.first];
    std::erase_if(pods, [&](const Pod& pod) { return !request.takes(place.second, pod.labels); });
    return pods;
  }

  Result<void> wait_until_complete(View& view, Deadline limit) {
    WaitReport report;
    while (!view.awaited.empty() && !limit.expired()) {
      TFD_TRY(watch_all(limit.earlier_of(Deadline::at(report.next())), [this] {
        if (!knows_owners()) return true;
        const auto now = look_again();
        return !now || now->awaited.empty();
      }));
      view = TFD_TRY(look(limit.earlier_of(Deadline::after(seconds(10)))));
      if (!view.awaited.empty() && !limit.expired() && report.take_due())
        environment_.log.warning("{}", report.line(shorten(view.awaited)));
    }
    return {};
  }

  /// One connection at a time: several requests have their turns. Nothing is missed meanwhile, for each goes on from
  /// the version where it stopped.
  Result<bool> watch_all(Deadline deadline, const std::function<bool()>& enough) {
    if (watchers_.size() == 1) return watchers_.front().watch(deadline, enough);
    while (!deadline.expired()) {
      next_ = (next_ + 1) % watchers_.size();
      if (TFD_TRY(watchers_[next_].watch(deadline.earlier_of(Deadline::after(kTurn)), enough))) return true;
    }
    return false;
  }

  static std::string shorten(const std::vector<std::string>& lines) {
    constexpr std::size_t kMost = 5;
    std::vector<std::string> some(lines.begin(),
                                  lines.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, lines.size())));
    if (lines.size() > kMost) some.push_back(fmt::format("{} more", lines.size() - kMost));
    return fmt::format("{}", fmt::join(some, "; "));
  }

  Error incomplete(const View& view, Code code) const {
    if (code == Code::kDeadlineExceeded)
      return {
          code, fmt::format("kubernetes: after {}: {}", format_duration(*options_.wait), shorten(view.awaited)), {}};
    return {
        code,
        fmt::format("kubernetes: {}\nhint: --wait DURATION waits for pods that don't exist yet", shorten(view.awaited)),
        {}};
  }

  /// All that make_config() looks at.
  std::string describe_view(const View& view) const {
    std::string out;
    for (const auto& [job, pods] : view.tasks) {
      out += job + '\n';
      for (const Pod& pod : pods)
        out += fmt::format("{} {} {}\n", pod.uid, pod.name, pod_host(pod, options_.address).value_or(""));
    }
    return out;
  }

  Result<cluster::ClusterConfig> make_config(const View& view) const {
    cluster::ClusterConfig config;
    config.resolver = "kubernetes";
    config.rpc_layer = options_.rpc_layer;
    config.environment = "";
    std::vector<std::string> namespaces;
    for (const auto& [job, pods] : view.tasks) {
      config.cluster.add_job(job);
      for (std::size_t i = 0; i < pods.size(); ++i) {
        const auto address = is_tensorflow() ? PodAddress::kHostIp : options_.address;
        const std::string host = TFD_TRY(pod_host(pods[i], address), "kubernetes");
        config.cluster.add_task(job, static_cast<int>(i), fmt::format("{}:{}", url_host(host), options_.port));
        if (std::find(namespaces.begin(), namespaces.end(), pods[i].namespace_) == namespaces.end())
          namespaces.push_back(pods[i].namespace_);
      }
    }
    config.task = options_.task;
    config.no_task_reason = "TensorFlow's resolver doesn't know its task; give --task JOB:INDEX";
    if (!is_tensorflow()) {
      if (!options_.task) find_task(view, config);
      if (namespaces.size() > 1)
        environment_.log.warning("the pods are in several namespaces ({}): --namespace selects one",
                                 join_words(namespaces));
      TFD_TRY(detail::check_config(config), "kubernetes");
    }
    if (config.task && config.cluster.has_task(*config.task))
      config.master = cluster::format_url(config.rpc_layer.value_or(""),
                                          TFD_TRY(config.cluster.task_address(config.task->job, config.task->index)));
    return config;
  }

  void find_task(const View& view, cluster::ClusterConfig& config) const {
    std::vector<Pod> all;
    for (const PodWatcher& watcher : watchers_) {
      auto pods = watcher.pods();
      all.insert(all.end(), std::make_move_iterator(pods.begin()), std::make_move_iterator(pods.end()));
    }
    OwnTask own = find_own_task(view.tasks, all, environment_, client_.access().namespace_);
    config.task = std::move(own.task);
    config.no_task_reason = std::move(own.reason);
  }

  KubernetesOptions options_;
  const ResolverEnvironment& environment_;
  Client client_;
  Owners owners_;
  Joined joined_;
  std::vector<PodWatcher> watchers_;  // one a request of joined_
  std::size_t next_ = 0;
  bool listed_ = false;
  bool watched_ = false;  // the watchers are as wait_change() left them, a moment ago
  std::string last_;      // what resolve() last saw; empty: nothing complete
};

Result<void> check_options(const KubernetesOptions& options) {
  for (const auto& [job, count] : options.jobs) {
    const bool selected = std::any_of(options.selectors.begin(), options.selectors.end(),
                                      [&job = job](const auto& entry) { return entry.first == job; }) ||
                          (options.selectors.empty() && job == kDefaultSelector.first);
    if (!selected)
      return fail(Code::kInvalidArgument, "kubernetes: no selector for job '{}': --selector {}=LABELS", printable(job),
                  printable(job));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Resolver>> make_kubernetes_resolver(KubernetesOptions options,
                                                           const ResolverEnvironment& environment) {
  TFD_TRY(check_options(options));
  Access access = TFD_TRY(load_access(options, environment), "kubernetes");
  return std::make_unique<KubernetesResolver>(std::move(options), std::move(access), environment);
}

}  // namespace tfd::resolve
