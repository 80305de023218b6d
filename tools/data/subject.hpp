#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What tfd-data looks into: a pipeline in a file, or a dataset of a program. Thread rule: main thread.
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
  /// As a worker makes it; of another plan over the same sources and functions, too.
  std::function<Result<std::shared_ptr<const data::Dataset>>(const data::Plan&)> make;
};

/// What a worker has of it that sees all of the data.
struct OpenSubject {
  std::shared_ptr<const data::Dataset> dataset;
  bool is_endless = false;
};
/// Errors of making it.
Result<OpenSubject> open(const Subject& subject);

/// kNotFound, kInvalidArgument: "FILE: [1].batch.size: must be positive". `skipped`: what is called with each error
/// that is passed over.
Result<Subject> find_subject(const Request& request, std::function<void(const Error&)> skipped, const cli::Io& io);

}  // namespace tfd::data_tool
