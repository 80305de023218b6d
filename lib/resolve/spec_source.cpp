// SPDX-License-Identifier: Apache-2.0
#include "tfd/resolve/spec_source.hpp"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "check.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/resolve/detect.hpp"
#include "tfd/resolve/resolver.hpp"

namespace tfd::resolve {
namespace {

using MaybeConfig = Result<std::optional<cluster::ClusterConfig>>;

constexpr Duration kPauseBeforeNotice = std::chrono::seconds(2);  // before a wait is said
constexpr std::array<std::string_view, 4> kNotHere{"local", "simple", "gce", "union"};

MaybeConfig read_from(InputReader& input, const std::string& name, Deadline deadline, const Log& log) {
  const auto text = TFD_TRY(input.next_document(deadline, [&](const WaitReport& report) {
    log.warning("{}", report.line(fmt::format("a cluster spec on {}, as from tfd-resolve or tfd-serve", name)));
  }));
  if (!text) return std::nullopt;
  return TFD_TRY(cluster::cluster_config_from_json(*text, name));
}

/// A FIFO too, as of <(tfd-resolve … | tfd-serve): one document is read, and the writer keeps its reader.
Result<cluster::ClusterConfig> read_file(const std::string& path, InputReader& input, Deadline deadline,
                                         const Log& log) {
  process::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, fmt::format("cannot open {}", printable(path)));
  InputReader reader(fd.get(), printable(path));
  auto config = TFD_TRY(read_from(reader, printable(path), deadline, log));
  if (!config) return fail(Code::kInvalidArgument, "{}: empty (expected a cluster spec)", printable(path));
  if (process::has_reader(fd.get()) || process::is_data_source(fd.get())) input.hold(std::move(fd));
  return std::move(*config);
}

/// A kind of cluster. Messages of its resolver name only options that the tool has.
Result<cluster::ClusterConfig> resolve_here(const std::string& asked, const SpecSource& source, const Environment& env,
                                            Deadline deadline, const Log& log) {
  std::string kind = asked;
  const auto worded = [&](std::string_view text) { return in_words_of_tool(text, kind, source.options); };
  const Log own("resolve", [&](LogLevel level, std::string_view, std::string_view text) {
    if (level == LogLevel::kError) log.error("{}", worded(text));
    if (level == LogLevel::kWarning) log.warning("{}", worded(text));
    if (level == LogLevel::kInfo) log.info("{}", worded(text));
    if (level == LogLevel::kDebug) log.debug("{}", worded(text));
  });
  const ResolverEnvironment around = make_resolver_environment(env, deadline, own);
  if (asked == "auto") kind = TFD_TRY(choose_kind(around));
  const auto ask = [&]() -> Result<cluster::ClusterConfig> {
    const auto resolver =
        TFD_TRY(make_kind_resolver(kind, around, {source.task, source.jobs, source.hostfile}, deadline));
    auto config = TFD_TRY(resolver->resolve(deadline));
    config.no_task_reason = worded(config.no_task_reason);
    return config;
  };
  return ask().map_error([&](Error error) {
    error.message = worded(error.message);
    return error;
  });
}

Result<cluster::ClusterConfig> read_asked(const SpecSource& source, InputReader& input, const Environment& env,
                                          Deadline deadline, const Log& log) {
  const std::string asked = !source.cluster.empty() ? source.cluster : source.hostfile.empty() ? "auto" : "mpi";
  if (!source.jobs.empty() && !is_kind(asked))
    return fail(Code::kUsage, "--jobs: --cluster {} has its own jobs", printable(asked));
  if (!source.hostfile.empty() && !is_kind(asked))
    return fail(Code::kUsage, "--hostfile: --cluster {} has its own hosts; --hostfile is for mpi", printable(asked));
  if (asked == "none") return cluster::ClusterConfig{};
  if (is_kind(asked)) return resolve_here(asked, source, env, deadline, log);
  if (asked == "-") {
    auto config = TFD_TRY(read_from(input, "stdin", deadline, log));
    if (!config) return fail(Code::kInvalidArgument, "stdin: empty (expected a cluster spec)");
    return std::move(*config);
  }
  if (std::find(kNotHere.begin(), kNotHere.end(), asked) != kNotHere.end())
    return fail(Code::kUsage,
                "--cluster {0}: tools can't find such a cluster by themselves: use tfd-resolve {0} … | (for a file of "
                "that name, ./{0})",
                asked);
  return read_file(asked, input, deadline, log);
}

bool is_readable_by(int fd, Deadline deadline) {
  pollfd wanted{fd, POLLIN, 0};
  while (true) {
    const int ready = ::poll(&wanted, 1, deadline.poll_ms());
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;  // a read says what is wrong
    if (deadline.expired()) return false;
  }
}

/// Whether stdin is to be read where TF_CONFIG names a cluster: not where nothing comes. Its writer may be a launcher,
/// which keeps it open.
bool has_input(const SpecSource& source, const InputReader& input, const Environment& env, Deadline deadline,
               const Log& log) {
  if (find_launched_tasks(env)) return false;
  if (is_readable_by(input.fd(), deadline.earlier_of(Deadline::after(std::min(source.patience, kPauseBeforeNotice)))))
    return true;
  if (source.patience > kPauseBeforeNotice) {
    log.warning("waiting for a cluster spec on stdin, {} at most: then the cluster is TF_CONFIG's",
                format_duration(source.patience));
    if (is_readable_by(input.fd(), deadline.earlier_of(Deadline::after(source.patience - kPauseBeforeNotice))))
      return true;
  }
  log.warning("no cluster spec on stdin: the cluster is TF_CONFIG's (--cluster - waits for one)");
  return false;
}

/// Reads the spec where there is no --cluster.
MaybeConfig read_unasked(const SpecSource& source, InputReader& input, const Environment& env, Deadline deadline,
                         const Log& log) {
  const bool has_config = names_cluster(env);
  if (source.required && process::is_data_source(input.fd()) && !(has_config && source.prefers_environment) &&
      (!has_config || has_input(source, input, env, deadline, log))) {
    auto config = TFD_TRY(read_from(input, "stdin", deadline, log));
    if (config) return config;
  }
  if (has_config) return TFD_TRY(resolve_tf_config(env, {}));
  return std::nullopt;
}

/// The option at the beginning of a text: "--hostfile"; empty: there is none.
std::string_view option_at(std::string_view text) {
  if (!text.starts_with("--") || text.size() < 3 || text[2] < 'a' || text[2] > 'z') return {};
  std::size_t end = 3;
  while (end < text.size() && ((text[end] >= 'a' && text[end] <= 'z') || text[end] == '-')) ++end;
  return text.substr(0, end);
}

}  // namespace

std::string in_words_of_tool(std::string_view message, std::string_view kind,
                             std::span<const std::string_view> options) {
  constexpr std::array<std::string_view, 2> kOthers{"mpirun's ", "srun "};
  const std::string owner = fmt::format("tfd-resolve {} ", kind == "env" ? "tf-config" : kind);
  std::string out;
  for (std::size_t at = 0; at < message.size();) {
    const bool begins = at == 0 || message[at - 1] == ' ' || message[at - 1] == '(';
    const std::string_view option = begins ? option_at(message.substr(at)) : std::string_view();
    const bool is_others = std::ranges::any_of(kOthers, [&](std::string_view one) { return out.ends_with(one); });
    if (!option.empty() && !is_others && std::ranges::find(options, option) == options.end()) out += owner;
    const std::size_t size = std::max<std::size_t>(option.size(), 1);
    out += message.substr(at, size);
    at += size;
  }
  return out;
}

Result<cluster::ClusterConfig> find_spec(const SpecSource& source, InputReader& input, const Environment& env,
                                         Deadline deadline, const Log& log) {
  std::optional<cluster::ClusterConfig> config;
  if (!source.cluster.empty() || !source.jobs.empty() || !source.hostfile.empty()) {
    config = TFD_TRY(read_asked(source, input, env, deadline, log));
    if (source.cluster == "none") return std::move(*config);
  } else {
    config = TFD_TRY(read_unasked(source, input, env, deadline, log));
  }
  if (!config) {
    if (!source.required) return cluster::ClusterConfig{};
    return fail(Code::kUsage, "no cluster spec: give --cluster FILE, pipe one in (tfd-resolve … |), or set TF_CONFIG");
  }
  if (source.task) {
    if (config->task != source.task) config->master.reset();  // it was another task's
    config->task = source.task;
  }
  TFD_TRY(detail::check_config(*config), "cluster spec");
  return std::move(*config);
}

}  // namespace tfd::resolve
