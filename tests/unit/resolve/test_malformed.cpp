// SPDX-License-Identifier: Apache-2.0
//
// Random text of the right alphabet into every parser of foreign text: nothing but a value or an error comes out.
#include <doctest/doctest.h>

#include <random>

#include "tfd/cluster/cluster_config.hpp"
#include "tfd/resolve/hostlist.hpp"
#include "tfd/resolve/masters.hpp"

using namespace tfd;
using namespace tfd::resolve;

namespace {

constexpr unsigned kSeed = 20240607;

std::string random_text(std::mt19937& random, std::string_view alphabet, std::size_t longest) {
  std::string text(random() % (longest + 1), ' ');
  for (char& c : text) c = alphabet[random() % alphabet.size()];
  return text;
}

/// A few characters replaced, removed or doubled.
std::string mutated(std::mt19937& random, std::string text) {
  for (unsigned i = random() % 4; i > 0 && !text.empty(); --i) {
    const std::size_t at = random() % text.size();
    switch (random() % 4) {
      case 0:
        text[at] = static_cast<char>(random() % 256);
        break;
      case 1:
        text.erase(at, 1 + random() % 5);
        break;
      case 2:
        text.insert(at, text.substr(random() % text.size(), random() % 9));
        break;
      default:
        text[at] = "{}[]\",:0-1tn"[random() % 12];
    }
  }
  return text;
}

}  // namespace

TEST_CASE("malformed: hostlists give hosts that fold and expand again, or an error") {
  std::mt19937 random(kSeed);
  int expanded = 0;
  for (int i = 0; i < 30000; ++i) {
    const std::string text = random_text(random, "n1209-[],a.", 14);
    CAPTURE(text);
    for (const Compat compat : {Compat::kNone, Compat::kTensorflow}) {
      const auto hosts = expand_hostlist(text, compat);
      if (!hosts) {
        CHECK(hosts.error().code == Code::kInvalidArgument);
        continue;
      }
      if (hosts->size() > 1000) continue;
      ++expanded;
      CHECK(*expand_hostlist(fold_hostlist(*hosts), Compat::kNone) == *hosts);
    }
  }
  CHECK(expanded > 1000);
}

TEST_CASE("malformed: tasks per node and job counts") {
  std::mt19937 random(kSeed);
  for (int i = 0; i < 30000; ++i) {
    const auto counts = expand_tasks_per_node(random_text(random, "0129(x),", 12));
    if (counts) CHECK(counts->size() <= kMostHosts);
    (void)parse_job_counts(random_text(random, "ab=1,0-", 10));
  }
}

TEST_CASE("malformed: specs, and what TensorFlow would ask of them") {
  const std::string spec =
      R"({"cluster": {"worker": ["a:1", "b:2"], "ps": {"3": "c:3"}}, "task": {"type": "worker", "index": 1}, )"
      R"("rpc_layer": "grpc", "num_accelerators": {"GPU": 2}, "x": [1.5e3, null, "é\u00e9"]})";
  std::mt19937 random(kSeed);
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = mutated(random, spec);
    CAPTURE(text);
    const auto config = cluster::cluster_config_from_json(text, "spec");
    if (config) {
      ++read;
      const std::string written = cluster_config_to_json(*config);
      const auto again = cluster::cluster_config_from_json(written, "spec");
      REQUIRE(again);
      CHECK(cluster_config_to_json(*again) == written);
      (void)config->cluster.validate();
    }
    const TfConfigView view(text, {});
    (void)view.master({});
    (void)view.num_accelerators({}, {"worker", 1, {}});
  }
  CHECK(read > 1000);
}
