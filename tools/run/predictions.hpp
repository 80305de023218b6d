#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Output of `tfd-run --predict`: a row for each example. Thread rule: one thread.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::run {

class Predictions {
 public:
  /// Opens `output`: FILE.npy, FILE.jsonl, or empty for JSON lines through `write_line`. kUsage: another name.
  static Result<Predictions> make(std::string output, std::function<Result<void>(std::string_view)> write_line);

  /// Adds results, with one row per example. kInvalidArgument: several results for an .npy, or rows of another spec
  /// than before.
  Result<void> add(const std::vector<tensor::Tensor>& results);
  /// Completes the file, which is written atomically. Errors as save_file().
  Result<void> finish();
  /// Examples so far.
  std::int64_t count() const { return count_; }

 private:
  enum class Kind { kLines, kNpy, kJsonl };
  Predictions(Kind kind, std::string output, std::function<Result<void>(std::string_view)> write_line)
      : kind_(kind), output_(std::move(output)), write_line_(std::move(write_line)) {}

  Kind kind_;
  std::string output_;
  std::function<Result<void>(std::string_view)> write_line_;
  std::vector<tensor::Tensor> batches_;  // of an .npy
  std::string lines_;                    // of a .jsonl
  std::int64_t count_ = 0;
};

}  // namespace tfd::run
