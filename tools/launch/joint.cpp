// SPDX-License-Identifier: Apache-2.0
#include "joint.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tfd/base/file.hpp"
#include "tfd/base/text.hpp"
#include "tfd/launch/listen.hpp"
#include "tfd/launch/placement.hpp"
#include "tfd/launch/processors.hpp"
#include "tfd/process/host_names.hpp"
#include "tfd/task/key.hpp"

namespace tfd::tool_launch {
namespace {

Result<void> check_exposure(const JointChoice& choice, const cluster::Address& at, bool has_key) {
  if (has_key || choice.insecure) return {};
  const bool is_local =
      cluster::is_loopback(at) && (choice.advertise.empty() || cluster::is_loopback({choice.advertise, 0}));
  if (is_local) return {};
  return fail(Code::kPermissionDenied,
              "launchers meet at {}, where other hosts can connect, and there is no key\nhint: make one with tfd-serve "
              "--generate-key, and give it to all hosts; or use --insecure if you trust all of them",
              cluster::format_address(at));
}

/// Listens where the launchers meet, if that is this host, and no other launcher of it does already.
Result<std::optional<launch::Listener>> find_listener(const cluster::Address& at, const launch::LocalLookup& lookup) {
  const auto own = lookup(at.host);
  if (!own) return std::nullopt;
  auto listener = launch::listen_on({.host = *own, .port = at.port});
  if (listener) return std::optional(std::move(*listener));
  if (listener.error().code == Code::kSystem) return std::nullopt;
  return fail(std::move(listener).error());
}

/// Waits until the name of the rendezvous resolves: a pod's own does a few seconds after its start, and it would take
/// the rendezvous for another host's until then.
Result<void> wait_until_known(const std::string& host, const JointChoice& choice, cli::Io& io) {
  const auto say = [&io](const std::string& line) {
    if (!io.quiet) (void)io.err.write("tfd-launch: " + line + "\n");
  };
  TFD_TRY(process::wait_for_host(host, {.deadline = Deadline::after(choice.join), .say = say}), "--rendezvous");
  return {};
}

Result<std::optional<task::FoundKey>> find_key(const JointChoice& choice, cli::Io& io) {
  if (choice.preamble == nullptr) return task::find_key(choice.key_file, {}, io.env);
  if (!choice.preamble->key) return std::nullopt;
  return task::FoundKey{.path = "", .key = *choice.preamble->key};
}

/// Tells the tfd-launch that started this one the port, which the others need.
Result<void> announce(cluster::Address& at, const std::optional<launch::Listener>& listener) {
  if (!listener)
    return fail(Code::kFailedPrecondition, "{} isn't a name or an address of this host, by which others reach it",
                printable(at.host));
  at.port = listener->address.port;
  const std::string text = format_announcement(at.port);
  if (::write(STDOUT_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
  return fail_errno(errno, "cannot write to stdout");
}

/// Reserves a port for each task, at the address that others reach this host by.
Result<rendezvous::Joining> bring(const JointChoice& choice, const cluster::Address& at, bool holds,
                                  const launch::LocalLookup& lookup, std::vector<launch::Listener>& reserved) {
  rendezvous::Joining joining{.host = choice.advertise, .addresses = {}, .same = choice.same};
  if (joining.host.empty()) joining.host = holds ? at.host : TFD_TRY(launch::address_towards(at));
  const std::string bind = lookup(joining.host).value_or("0.0.0.0");  // else something in between translates it
  for (int i = 0; i < choice.tasks; ++i) {
    launch::Listener listener = TFD_TRY(launch::reserve_port({.host = bind, .port = 0}));
    joining.addresses.push_back(cluster::format_address({joining.host, listener.address.port}));
    reserved.push_back(std::move(listener));
  }
  return joining;
}

Result<std::vector<launch::Member>> members_of(const cluster::Address& at, const rendezvous::Plan& plan,
                                               const Environment& base, Duration silence) {
  cluster::ClusterConfig config;
  std::vector<cluster::TaskId> here;
  int ranks = 0;
  for (const std::string& address : plan.addresses) config.cluster.add_task("worker", ranks++, address);
  for (const int rank : plan.own) here.push_back({"worker", rank});
  auto members = TFD_TRY(launch::describe_members(config, here, base));
  // A group is a launcher: two that one host has are two.
  for (std::size_t i = 0; i < members.size(); ++i) {
    Environment& env = members[i].environment;
    env.set("LOCAL_RANK", std::to_string(i));
    env.set("LOCAL_WORLD_SIZE", std::to_string(members.size()));
    env.set("GROUP_RANK", std::to_string(plan.node));
    env.set("GROUP_WORLD_SIZE", std::to_string(plan.nodes));
    env.set("TFD_WORKERS", plan.most > 0 ? fmt::format("{}:{}", plan.least, plan.most) : std::to_string(ranks));
    env.set("TFD_RENDEZVOUS", cluster::format_address(at));
    set_silence(env, silence);
  }
  return members;
}

/// The environment that all tasks have. The launchers' key is theirs, too: at its path, or in a file that is there as
/// long as `own_key`. On a host that a tfd-launch was brought to by ssh, commands beside it are found.
Result<Environment> environment_of_tasks(const JointChoice& choice, const std::optional<task::FoundKey>& key,
                                         std::optional<task::RunKey>& own_key, const Environment& env) {
  Environment out = launch::shared_environment(env, choice.tasks);
  if (key && key->path.empty()) own_key.emplace(TFD_TRY(task::RunKey::make(env, key->key)));
  if (key) out.set("TFD_KEY_FILE", own_key ? own_key->path() : key->path);
  if (choice.preamble != nullptr)
    out.set("PATH", env.get("PATH") + ":" + std::filesystem::path(own_executable()).parent_path().string());
  return out;
}

}  // namespace

void set_silence(Environment& env, Duration silence) {
  if (silence != JointChoice().silence) env.set("TFD_SILENCE", format_duration(silence));
}

Result<JointOptions> make_joint(const JointChoice& choice, cli::Io& io) {
  cluster::Address at = TFD_TRY(cli::as_usage(cluster::parse_address(choice.rendezvous), "--rendezvous"));
  if (at.port == 0 && choice.preamble == nullptr)
    return fail(Code::kUsage, "--rendezvous: launchers can't meet at port 0");
  const auto key = TFD_TRY(find_key(choice, io));
  TFD_TRY(check_exposure(choice, at, key.has_value()));
  const launch::LocalLookup lookup = TFD_TRY(launch::make_local_lookup());
  if (!lookup(at.host)) TFD_TRY(wait_until_known(at.host, choice, io));
  JointOptions joint{.rendezvous = {.at = at, .bring = {}}, .tasks = choice.tasks};
  rendezvous::RendezvousOptions& options = joint.rendezvous;
  options.listener = TFD_TRY(find_listener(at, lookup));
  const bool holds = options.listener.has_value();
  if (!holds) options.own_address = lookup(at.host).value_or("");
  if (at.port == 0) TFD_TRY(announce(at, options.listener));
  options.at = at;
  io.log.for_room("launch").info("{} the rendezvous at {}", holds ? "holding" : "asking", choice.rendezvous);
  // The ports are held as long as this function exists; shared since std::function copies.
  options.bring = [choice, at, holds, lookup, reserved = std::make_shared<std::vector<launch::Listener>>()] {
    return bring(choice, at, holds, lookup, *reserved);
  };
  options.agreement = {.bounds = choice.bounds,
                       .max_failures = choice.max_failures,
                       .join = choice.join,
                       .settle = choice.settle,
                       .grace = choice.grace};
  options.silence = choice.silence;
  options.make_endpoint = TFD_TRY(task::endpoints_under(key, io.env));
  options.log = io.log.for_room("rendezvous");
  const auto own_key = std::make_shared<std::optional<task::RunKey>>();  // with the function, which needs it as long
  Environment base = TFD_TRY(environment_of_tasks(choice, key, *own_key, io.env));
  joint.members = [at, base = std::move(base), own_key, silence = choice.silence](const rendezvous::Plan& plan) {
    return members_of(at, plan, base, silence);
  };
  return joint;
}

}  // namespace tfd::tool_launch
