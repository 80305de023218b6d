// SPDX-License-Identifier: Apache-2.0
#include "tfd/resolve/spec_source.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "check.hpp"
#include "tfd/base/text.hpp"
#include "tfd/resolve/detect.hpp"
#include "tfd/resolve/resolver.hpp"

namespace tfd::resolve {
namespace {

using MaybeConfig = Result<std::optional<cluster::ClusterConfig>>;

constexpr std::array<std::string_view, 4> kNotHere{"local", "simple", "gce", "union"};

MaybeConfig read_from(InputReader& input, const std::string& name, Deadline deadline, const Log& log) {
  const auto text = TFD_TRY(input.next_document(
      deadline, [&] { log.warning("waiting for a cluster spec on {} (as from tfd-resolve or tfd-serve)", name); }));
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

Result<cluster::ClusterConfig> read_asked(const SpecSource& source, InputReader& input, const Environment& env,
                                          Deadline deadline, const Log& log) {
  const std::string asked = source.cluster.empty() ? "auto" : source.cluster;
  if (!source.jobs.empty() && !is_kind(asked))
    return fail(Code::kUsage, "--jobs: --cluster {} has its own jobs", printable(asked));
  if (asked == "none") return cluster::ClusterConfig{};
  if (is_kind(asked)) {
    const ResolverEnvironment around = make_resolver_environment(env, deadline, log);
    const auto resolver = TFD_TRY(make_kind_resolver(asked, around, {source.task, source.jobs}, deadline));
    return resolver->resolve(deadline);
  }
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

/// Reads the spec where there is no --cluster: from stdin, then TF_CONFIG.
MaybeConfig read_unasked(const SpecSource& source, InputReader& input, const Environment& env, Deadline deadline,
                         const Log& log) {
  if (source.required && process::is_data_source(input.fd())) {
    auto config = TFD_TRY(read_from(input, "stdin", deadline, log));
    if (config) return config;
  }
  if (env.has("TF_CONFIG")) return TFD_TRY(resolve_tf_config(env, {}));
  return std::nullopt;
}

}  // namespace

Result<cluster::ClusterConfig> find_spec(const SpecSource& source, InputReader& input, const Environment& env,
                                         Deadline deadline, const Log& log) {
  std::optional<cluster::ClusterConfig> config;
  if (!source.cluster.empty() || !source.jobs.empty()) {
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
