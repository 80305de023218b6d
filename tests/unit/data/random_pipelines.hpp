#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pipelines drawn by a seed, and what they must give: every stage made of whole lists of elements, with no thought of
// blocks, streams or memory. Shuffles are taken as they are: as a permutation of a range.
#include <map>
#include <random>

#include "kit.hpp"

namespace tfd::data {

/// A field of an element: what can be compared.
struct Value {
  tensor::Shape shape;
  Numbers numbers;
  friend bool operator==(const Value&, const Value&) = default;
};
/// An element: its values by the names of fields.
using Values = std::map<std::string, Value>;
using Elements = std::vector<Values>;

/// The elements from here on, at most `most`.
Elements rest_of(Iterator& iterator, const ElementSpec& spec, std::size_t most = 100000);

/// Files that pipelines read, functions that they call: "keep" (whether the first number of the first field is even),
/// "double" (the first field, twice).
class PipelineWorld {
 public:
  PipelineWorld();
  DatasetContext context() const;
  const TemporaryDirectory& directory() const { return directory_; }

 private:
  TemporaryDirectory directory_;
};

/// A pipeline that makes a dataset; finite, of a few hundred elements at most.
nlohmann::ordered_json draw_pipeline(std::uint64_t seed, const PipelineWorld& world);

/// The expected elements. `pass`: Order's.
Elements reference_elements(const nlohmann::ordered_json& pipeline, const PipelineWorld& world, std::uint64_t pass = 0);

}  // namespace tfd::data
