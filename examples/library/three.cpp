// SPDX-License-Identifier: Apache-2.0
//
// The first example of ClusterCoordinator's documentation, in C++: three SPEC PROGRAM
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "tfd/cluster/spec_json.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"
#include "tfd/coordinator/fetch.hpp"

using namespace tfd;

namespace {

Result<void> run(const std::string& spec, const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(spec).rdbuf();
  const auto config = TFD_TRY(cluster::cluster_config_from_json(text.str(), spec));
  const auto program = TFD_TRY(program::load_program(path, {}));
  const auto soon = Deadline::after(std::chrono::seconds(30));

  const auto coordinator = TFD_TRY(coordinator::ClusterCoordinator::connect(program, config, {}));
  const auto iterator = TFD_TRY(coordinator->create_per_worker_dataset("threes", soon));
  const auto value = TFD_TRY(coordinator->schedule({.function = "worker_fn", .args = {iterator}}));
  const auto structure = std::pair(std::string("fetched"), value);
  const auto [word, outcome] = TFD_TRY(coordinator::fetch(structure, soon));
  std::printf("%s %d\n", word.c_str(), outcome.results.at(0).as<std::int32_t>()[0]);
  return coordinator->join(soon);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  const auto done = run(argv[1], argv[2]);
  if (!done) std::fprintf(stderr, "three: %s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
