#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A node of the program document: a JSON value with its path, so that every error says where, and the words of other
// frameworks in it. Thread rule: a plain view; the document outlives it.
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tfd/base/error.hpp"
#include "tfd/tensor/json_object.hpp"

namespace tfd::program {

using Node = tensor::JsonValue;

/// Requires an object with only these keys; the error names the nearest known one, or the one that another framework's
/// word means.
Result<void> expect_object(const Node& node, std::span<const std::string_view> known);
inline Result<void> expect_object(const Node& node, std::initializer_list<std::string_view> known) {
  return expect_object(node, std::span(known.begin(), known.size()));
}

/// Puts `path` before an error of another room, whose message may go on with the path: "optimizer" and "adam.beta_3:
/// unknown key" -> "optimizer.adam.beta_3: unknown key"; "[3].batch.size: …" -> "datasets.train[3].batch.size: …"; else
/// "optimizer: …".
Error continue_path(const std::string& path, Error error);
/// The same for a part that another room reads.
template <class T>
Result<T> at_path(const std::string& path, Result<T> read) {
  if (read) return read;
  return fail(continue_path(path, std::move(read).error()));
}

/// Translates a word of another framework to a key, if that is among the known ones: "metric" for "monitor".
std::optional<std::string_view> find_synonym(std::string_view word, std::span<const std::string_view> known);

/// "dataset 'trian' is unknown, did you mean 'train'?", or, where nothing is near, "… is unknown (available: 'a' and
/// 'b')".
std::string unknown_text(std::string_view what, std::string_view name, std::span<const std::string> known);

}  // namespace tfd::program
