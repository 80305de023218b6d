#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The subject of tfd-data: a pipeline in a file, or a dataset of a program. Thread rule: main thread.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tfd/cli/tool.hpp"
#include "tfd/data/plan.hpp"

namespace tfd::data_tool {

struct Request {
  std::string file;     // or "-"
  std::string dataset;  // of a program
  std::vector<std::string> overrides = {};
  std::string data_root = {};
};

struct Subject {
  data::Plan plan;
  /// Makes the dataset as a worker does, from `plan` or a rewritten plan of the same sources and functions.
  std::function<Result<std::shared_ptr<const data::Dataset>>(const data::Plan&)> make;
};

/// The dataset opened as a single worker sees it: unsharded.
struct OpenSubject {
  std::shared_ptr<const data::Dataset> dataset;
  bool is_endless = false;
};
/// Opens the subject. Errors of making the dataset.
Result<OpenSubject> open(const Subject& subject);

/// kNotFound, kInvalidArgument: "FILE: [1].batch.size: must be positive". `skipped` is called with each error that is
/// ignored.
Result<Subject> find_subject(Request request, std::function<void(const Error&)> skipped, const cli::Io& io);

}  // namespace tfd::data_tool
