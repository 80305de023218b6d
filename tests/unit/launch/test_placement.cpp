// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>

#include "tfd/launch/placement.hpp"

using namespace tfd;
using namespace tfd::launch;
using cluster::ClusterConfig;

namespace {

/// "here" and 127.0.0.1 are this host.
std::optional<std::string> lookup(const std::string& host) {
  if (host == "here") return "10.0.0.1";
  if (host == "127.0.0.1" || host == "::1") return host;
  return std::nullopt;
}

ClusterConfig config_of(std::initializer_list<std::pair<const char*, const char*>> tasks) {
  ClusterConfig config;
  for (const auto& [job, address] : tasks) {
    const auto* known = config.cluster.find_job(job);
    config.cluster.add_task(job, known == nullptr ? 0 : static_cast<int>(known->size()), address);
  }
  return config;
}

std::string text_of(const std::vector<Placed>& placed) {
  std::string out;
  for (const Placed& one : placed) out += cluster::format_task(one.id) + "@" + cluster::format_address(one.bind) + " ";
  return out;
}

}  // namespace

TEST_CASE("placement: without a task every worker and ps of this host, never chief or evaluator") {
  const auto config = config_of({{"chief", "here:1"},
                                 {"worker", "here:2"},
                                 {"worker", "there:3"},
                                 {"worker", "here:4"},
                                 {"ps", "here:5"},
                                 {"evaluator", "here:6"}});
  const Placement placement = place_tasks(config, lookup, "").value();
  CHECK(text_of(placement.served) == "worker:0@10.0.0.1:2 worker:2@10.0.0.1:4 ps:0@10.0.0.1:5 ");
  CHECK(placement.reserved.empty());
}

TEST_CASE("placement: a given task alone, on all interfaces where its address isn't local") {
  auto config = config_of({{"worker", "here:2"}, {"worker", "there:3"}, {"ps", "[fd00::9]:5"}});
  config.task = cluster::TaskId{"worker", 0};
  CHECK(text_of(place_tasks(config, lookup, "").value().served) == "worker:0@10.0.0.1:2 ");
  config.task = cluster::TaskId{"worker", 1};
  CHECK(text_of(place_tasks(config, lookup, "").value().served) == "worker:1@0.0.0.0:3 ");
  config.task = cluster::TaskId{"ps", 0};
  CHECK(text_of(place_tasks(config, lookup, "").value().served) == "ps:0@[::]:5 ");
}

TEST_CASE("placement: --bind replaces the host") {
  const auto config = config_of({{"worker", "here:2"}, {"ps", "there:5"}});
  CHECK(text_of(place_tasks(config, lookup, "127.0.0.1").value().served) == "worker:0@127.0.0.1:2 ");
}

TEST_CASE("placement: port 0 of a task that isn't started here is an error") {
  auto config = config_of({{"worker", "127.0.0.1:0"}, {"worker", "127.0.0.1:0"}});
  CHECK(place_tasks(config, lookup, "").value().served.size() == 2);
  config.task = cluster::TaskId{"worker", 0};
  const auto placement = place_tasks(config, lookup, "");
  REQUIRE(!placement);
  CHECK(placement.error().code == Code::kInvalidArgument);
  CHECK(placement.error().message == "cluster.worker[1]: port 0 means any free one, but worker:1 is not started here");
}

TEST_CASE("placement: a chief of this host with port 0 gets a port, though nobody serves it") {
  const Placement placement =
      place_tasks(config_of({{"chief", "127.0.0.1:0"}, {"worker", "127.0.0.1:0"}}), lookup, "").value();
  CHECK(text_of(placement.served) == "worker:0@127.0.0.1:0 ");
  CHECK(text_of(placement.reserved) == "chief:0@127.0.0.1:0 ");
}

TEST_CASE("placement: what can't be served is said") {
  auto config = config_of({{"chief", "here:1"}, {"worker", "there:3"}, {"ps", "yonder:4"}});
  const auto elsewhere = place_tasks(config, lookup, "");
  REQUIRE(!elsewhere);
  CHECK(elsewhere.error().code == Code::kFailedPrecondition);
  CHECK(elsewhere.error().message.starts_with(
      "no worker or ps of the cluster is on this host, only on there and yonder\nhint: "));

  config.task = cluster::TaskId{"chief", 0};
  CHECK(place_tasks(config, lookup, "").error().message ==
        "chief:0 is not served: only tasks of the jobs worker and ps are");
  config.task = cluster::TaskId{"worker", 7};
  CHECK(place_tasks(config, lookup, "").error().message.starts_with("no task worker:7 in the cluster"));

  CHECK(place_tasks(config_of({{"chief", "here:1"}}), lookup, "").error().message ==
        "the cluster has no worker and no ps: nothing to serve");
  CHECK(place_tasks(config_of({{"worker", "here:70000"}}), lookup, "").error().code == Code::kInvalidArgument);
}

TEST_CASE("placement: this host knows its own addresses") {
  const LocalLookup here = make_local_lookup().value();
  CHECK(here("127.0.0.1") == "127.0.0.1");
  CHECK(here("127.0.0.7") == "127.0.0.7");
  CHECK(here("localhost") == "127.0.0.1");
  CHECK(here("::1") == "::1");
  CHECK(here("0:0:0:0:0:0:0:1") == "::1");
  CHECK(!here("203.0.113.1"));  // TEST-NET-3: nobody's
  CHECK(!here("2001:db8::1"));
  CHECK(!here("no-such-host.invalid"));
  std::array<char, 256> name{};
  REQUIRE(::gethostname(name.data(), name.size() - 1) == 0);
  const auto own = here(name.data());
  REQUIRE(own);
  CHECK(!own->starts_with("127."));  // others reach it by this name
}
