#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Keys that people write in the wrong place, as in --set lr=0.1 or train.batch_size=32: the program itself says where
// what they mean is. Thread rule: pure functions.
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "node.hpp"

namespace tfd::program {

/// A place in the program: "datasets.train[3].batch.size" has the keys datasets, train, batch and size.
struct Place {
  std::string path;
  std::vector<std::string> keys;
  bool is_value = true;  // no object, and no list
};
/// Visits what the optimizer, the datasets and the training of the program `root` have, and could have.
void visit_places(const Node& root, const std::function<void(const Place&)>& visit);

/// ", did you mean 'datasets.train[3].batch.size' or 'datasets.test[1].batch.size'?": where the optimizer, the datasets
/// or the training of the program `root` has the setting that the key at `path` means: a key of that name, or with it
/// as its last words (batch_size is batch.size), or a near one, or one that it abbreviates (lr). Empty if nowhere.
std::string elsewhere_text(const Node& root, std::string_view key, std::string_view path);

/// expect_object(); where no known key is near an unknown one, the error says where else in `root` it is.
Result<void> expect_keys(const Node& node, std::span<const std::string_view> known, const Node& root);

}  // namespace tfd::program
