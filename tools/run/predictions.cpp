// SPDX-License-Identifier: Apache-2.0
#include "predictions.hpp"

#include "tfd/base/file.hpp"
#include "tfd/base/text.hpp"
#include "tfd/strategy/values.hpp"
#include "tfd/tensor/json.hpp"
#include "tfd/tensor/npy.hpp"

namespace tfd::run {
namespace {

/// One prediction as JSON: the row of a single result, or a list of rows.
std::string line_of(const std::vector<tensor::Tensor>& results, std::int64_t row) {
  std::string out;
  for (const tensor::Tensor& result : results) {
    if (!out.empty()) out += ", ";
    tensor::Shape shape(result.shape().begin() + 1, result.shape().end());
    tensor::append_json(result.slice_rows(row, 1).reshaped(std::move(shape)), out);
  }
  return (results.size() == 1 ? out : "[" + out + "]") + "\n";
}

}  // namespace

Result<Predictions> Predictions::make(std::string output, std::function<Result<void>(std::string_view)> write_line) {
  const Kind kind = output.empty()               ? Kind::kLines
                    : output.ends_with(".npy")   ? Kind::kNpy
                    : output.ends_with(".jsonl") ? Kind::kJsonl
                                                 : Kind::kLines;
  if (kind == Kind::kLines && !output.empty())
    return fail(Code::kUsage, "--output {}: the name must end in .npy or .jsonl", printable(output));
  return Predictions(kind, std::move(output), std::move(write_line));
}

Result<void> Predictions::add(const std::vector<tensor::Tensor>& results) {
  const std::int64_t rows = results.front().shape()[0];
  count_ += rows;
  if (kind_ == Kind::kNpy) {
    if (results.size() > 1)
      return fail(Code::kInvalidArgument,
                  "--output {}: an .npy file has one tensor, but the function has {} results; "
                  "write .jsonl",
                  printable(output_), results.size());
    batches_.push_back(results.front());
    return {};
  }
  std::string lines;
  for (std::int64_t row = 0; row < rows; ++row) lines += line_of(results, row);
  if (kind_ == Kind::kLines) return write_line_(lines);
  lines_ += lines;
  return {};
}

Result<void> Predictions::finish() {
  if (kind_ == Kind::kJsonl) return save_file(output_, lines_);
  if (kind_ == Kind::kLines) return {};
  if (batches_.empty())
    return fail(Code::kInvalidArgument, "--output {}: the data have no example", printable(output_));
  const auto all = strategy::gather(strategy::DistributedValue::per_replica(std::move(batches_)), 0);
  return tensor::save_npy(output_, TFD_TRY(all, "the results of the batches"));
}

}  // namespace tfd::run
