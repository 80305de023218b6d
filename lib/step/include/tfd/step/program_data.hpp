#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Opens a program's dataset outside of a training, for inspection. Thread rule: functions without state.
#include <functional>
#include <memory>
#include <string>

#include "tfd/base/environment.hpp"
#include "tfd/base/error.hpp"
#include "tfd/data/dataset.hpp"
#include "tfd/function/function.hpp"
#include "tfd/program/program.hpp"

namespace tfd::step {

struct DataOptions {
  std::string data_root = {};  // relative data paths start here; empty: as the program says
  /// Makes the engine for maps and filters that are modules; called only if the dataset has some.
  std::function<Result<std::shared_ptr<function::Engine>>()> make_engine = {};
  Environment command_environment = {};
  std::function<void(const Error&)> skipped = {};  // data::DatasetContext's
};

/// Opens a dataset as a single worker sees it: unsharded. Only the functions that it calls are compiled. kNotFound: no
/// dataset of that name; errors of compiling and of data::instantiate().
Result<std::shared_ptr<const data::Dataset>> open_dataset(const program::Program& program, const std::string& name,
                                                          const DataOptions& options);

}  // namespace tfd::step
