#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pipelines of the golden sets, in tfd's words, and their elements. Thread rule: plain values.
#include <filesystem>

#include "sets.hpp"
#include "tfd/strategy/strategy.hpp"

namespace tfd::vectors {

/// The files that a case is about, while it runs.
class TextFiles {
 public:
  TextFiles();
  TextFiles(const TextFiles&) = delete;
  TextFiles& operator=(const TextFiles&) = delete;
  ~TextFiles() { std::filesystem::remove_all(directory_); }

  /// [[name, lines], …] as their paths.
  Json write(const Json& files) const;

 private:
  std::filesystem::path directory_;
};

/// A case's pipeline; texts are padded to one size where they are batched.
Result<data::Plan> read_plan(const Json& pipeline, const TextFiles& files);
/// With the functions that pipelines map by: "add 100".
data::DatasetContext context();

/// Numbers as nested lists; the bytes of texts, padded to one size, as texts.
Json value_of(const tensor::Tensor& tensor, std::int64_t first = 0);
/// An element of one field is its value, of several a list of them.
Json value_of(const data::Element& element);

}  // namespace tfd::vectors
