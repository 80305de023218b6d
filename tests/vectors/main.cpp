// SPDX-License-Identifier: Apache-2.0
//
// tfd-vectors [DIR]: every golden set (*.json) of a folder, through the library. Prints a line a set; 1 if any case
// failed.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "sets.hpp"

#ifndef TFD_GOLDEN_DIR
#define TFD_GOLDEN_DIR "tests/golden"
#endif

namespace {

using tfd::vectors::Json;

/// Further cases of a set, from the same source: tests/vectors/*_more.py make them.
constexpr std::string_view kMore = "_more";

struct Count {
  int passed = 0;
  int failed = 0;
};

Count run_set(const std::string& name, const tfd::vectors::RunCase& run_case, const Json& cases) {
  Count count;
  for (const Json& test : cases) {
    tfd::vectors::Report report;
    const std::string label = name + ": " + test.at("name").get<std::string>();
    std::string thrown;
    try {
      run_case(test.at("input"), test.at("expected"), report);
    } catch (const std::exception& error) {  // the case has another form than the set's adapter knows
      thrown = error.what();
    }
    if (!report.missing().empty()) {
      std::cout << label << ": not implemented: " << report.missing() << '\n';
      continue;
    }
    for (const std::string& difference : report.differences()) std::cout << label << ": " << difference << '\n';
    if (!thrown.empty()) std::cout << label << ": " << thrown << '\n';
    ++(report.differences().empty() && thrown.empty() ? count.passed : count.failed);
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path folder(argc > 1 ? argv[1] : TFD_GOLDEN_DIR);
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  if (error || files.empty()) {
    std::cerr << "tfd-vectors: no sets in " << folder.string() << '\n';
    return 65;
  }
  std::sort(files.begin(), files.end());

  tfd::vectors::Sets sets;
  for (auto table : {tfd::vectors::cluster_sets(), tfd::vectors::resolver_sets(), tfd::vectors::slurm_sets(),
                     tfd::vectors::union_sets(), tfd::vectors::kubernetes_sets(), tfd::vectors::coordinator_sets(),
                     tfd::vectors::optimizer_sets(), tfd::vectors::linear_sets(), tfd::vectors::google_sets(),
                     tfd::vectors::variable_sets(), tfd::vectors::ps_v1_sets(), tfd::vectors::tpu_sets(),
                     tfd::vectors::strategy_sets(), tfd::vectors::input_sets(), tfd::vectors::multi_worker_sets(),
                     tfd::vectors::multi_worker_cluster_sets(), tfd::vectors::multi_worker_training_sets()})
    sets.merge(table);
  bool all_passed = true;
  for (const auto& file : files) {
    std::ifstream in(file);
    const Json document = Json::parse(in, nullptr, false);
    if (!document.is_object() || !document.contains("cases")) {
      std::cout << file.filename().string() << ": not a set\n";
      all_passed = false;
      continue;
    }
    const std::string name = document.value("set", file.stem().string());
    const auto found = sets.find(name.ends_with(kMore) ? name.substr(0, name.size() - kMore.size()) : name);
    if (found == sets.end()) {
      std::cout << name << ": not implemented\n";
      continue;
    }
    const Count count = run_set(name, found->second, document.at("cases"));
    std::cout << name << ": " << count.passed << " passed, " << count.failed << " failed\n";
    all_passed = all_passed && count.failed == 0;
  }
  return all_passed ? 0 : 1;
}
