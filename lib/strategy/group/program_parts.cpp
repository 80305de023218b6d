// SPDX-License-Identifier: Apache-2.0
#include "program_parts.hpp"

#include <nlohmann/json.hpp>

#include "tfd/base/sha256.hpp"
#include "tfd/base/text.hpp"
#include "tfd/group/group.hpp"

namespace tfd::strategy {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kDigits = 16;       // of a digest
constexpr std::size_t kMostParts = 5000;  // of a document; one with more has no parts

std::string digest_of(const std::string& text) {
  Sha256 hash;
  hash.add(text);
  return hash.hex().substr(0, kDigits);
}

/// Adds the leaves of the document: "datasets.train[0].range", "1000".
void add_leaves(const Json& json, const std::string& path, group::AgreementParts& parts) {
  if (parts.size() > kMostParts) return;
  if (!json.is_structured() || json.empty()) {
    parts.emplace_back(path, json.dump());
    return;
  }
  std::size_t index = 0;
  for (const auto& [key, value] : json.items()) {
    const std::string step = json.is_array() ? fmt::format("[{}]", index++) : path.empty() ? key : "." + key;
    add_leaves(value, path + step, parts);
  }
}

}  // namespace

std::string agreement_of(const program::Program& program) {
  program::Program whole = program;
  for (const auto& [name, plan] : program.whole_datasets) whole.datasets[name] = plan;
  auto document = Json::parse(whole.document());
  if (program.train && program.train->checkpoint && document["train"]["checkpoint"].is_object())
    document["train"]["checkpoint"].erase("dir");  // each may have its own
  group::AgreementParts parts;
  add_leaves(document, "", parts);
  if (parts.size() > kMostParts) parts.clear();
  std::string all = document.dump();
  for (const auto& [name, content] : program.files) {
    const std::string digest = digest_of(content);
    all += "\n" + name + "\n" + digest;
    parts.emplace_back(name, fmt::format("{}, SHA-256 {}", counted(content.size(), "byte"), digest));
  }
  return group::format_parts(parts, digest_of(all));
}

}  // namespace tfd::strategy
