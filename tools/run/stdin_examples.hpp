#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// `tfd-run --dataset -`: examples that come as lines of JSON, {"FIELD": value, …}. Thread rule: one thread.
#include <functional>
#include <memory>
#include <string>

#include "tfd/data/dataset.hpp"
#include "tfd/program/program.hpp"

namespace tfd::run {

/// The fields of one example of the function's arguments, with the dtypes and shapes of its module's rows.
/// kInvalidArgument: one that isn't known by a name, or has no rows.
Result<data::ElementSpec> fields_of_arguments(const program::Program& program, const program::FunctionDef& function);

/// A dataset of the lines of `fd`, in batches of the lines that wait, at least one: answering each batch keeps no line
/// waiting. It is read once. Its errors name the line; kCancelled: `is_stopped`, which is asked while none comes.
std::shared_ptr<const data::Dataset> batches_of_lines(int fd, data::ElementSpec fields,
                                                      std::function<bool()> is_stopped);

/// A pipeline that reads `path`, which has `lines` lines, as the function's dataset, in batches that its modules take,
/// the largest ones first. kInvalidArgument: the sizes of its modules don't add up to as many, or there is no line.
Result<std::string> pipeline_of_lines(const std::string& path, std::int64_t lines, const program::Program& program,
                                      const program::FunctionDef& function, const std::string& dataset);

}  // namespace tfd::run
