// SPDX-License-Identifier: Apache-2.0
#include "stdin_examples.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tfd/base/text.hpp"
#include "tfd/resolve/spec_source.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::run {
namespace {

constexpr std::size_t kMostRows = 1024;
constexpr Duration kLook = std::chrono::milliseconds(200);

/// The row of a batch: without its first dimension.
Result<data::FieldSpec> row_of(const std::string& name, const tensor::TensorSpec& batch) {
  if (batch.shape.empty())
    return fail(Code::kInvalidArgument, "--dataset -: '{}' is a number, not a batch with a row for each example",
                printable(name));
  return data::FieldSpec{.name = name, .dtype = batch.dtype, .shape = {batch.shape.begin() + 1, batch.shape.end()}};
}

/// Rows of one spec as a batch.
tensor::Tensor batch_of(const std::vector<tensor::Tensor>& rows) {
  tensor::Shape shape = rows.front().shape();
  shape.insert(shape.begin(), static_cast<std::int64_t>(rows.size()));
  tensor::Tensor out = tensor::Tensor::uninitialized(rows.front().dtype(), std::move(shape));
  std::byte* to = out.mutable_data();
  for (const tensor::Tensor& row : rows) to = std::ranges::copy(row.bytes(), to).out;
  return out;
}

/// The field of some dataset of the program, as its batches have it; nullptr: none does.
const data::FieldSpec* field_in_datasets(const program::Program& program, const std::string& name) {
  for (const auto& [dataset, spec] : program.dataset_specs)
    for (const data::FieldSpec& field : spec)
      if (field.name == name) return &field;
  return nullptr;
}

class Lines final : public data::Iterator {
 public:
  Lines(int fd, const data::ElementSpec& fields, std::function<bool()> is_stopped)
      : input_(fd), fields_(fields), is_stopped_(std::move(is_stopped)) {}

  Result<std::optional<data::Element>> next() override {
    if (failed_) return fail(*failed_);
    std::vector<std::vector<tensor::Tensor>> columns(fields_.size());
    std::size_t rows = 0;
    for (; rows < kMostRows && !has_ended_; ++rows) {
      auto line = rows == 0 ? wait_for_line() : next_line(Deadline::after(Duration::zero()));
      if (!line && line.error().code == Code::kDeadlineExceeded) break;
      if (!TFD_TRY(line)) {
        has_ended_ = true;
        break;
      }
      if (auto added = add(**line, columns); !added) {  // after the answers to the lines before it
        failed_ = std::move(added).error().within(fmt::format("stdin:{}", line_number_));
        break;
      }
    }
    if (rows == 0 && failed_) return fail(*failed_);
    if (rows == 0) return std::nullopt;
    data::Element batch;
    for (const auto& column : columns) batch.push_back(batch_of(column));
    return batch;
  }

 private:
  /// The first line of a batch, for which it looks as long as nobody stops it.
  Result<std::optional<std::string>> wait_for_line() {
    for (;;) {
      auto line = next_line(Deadline::after(kLook));
      if (line || line.error().code != Code::kDeadlineExceeded) return line;
      if (is_stopped_ && is_stopped_()) return fail(Code::kCancelled, "interrupted");
    }
  }

  /// The next line that isn't empty.
  Result<std::optional<std::string>> next_line(Deadline deadline) {
    for (;;) {
      auto line = TFD_TRY(input_.next_line(deadline));
      if (line) ++line_number_;
      if (!line || line->find_first_not_of(" \t\r") != std::string::npos) return line;
    }
  }

  Result<void> add(const std::string& line, std::vector<std::vector<tensor::Tensor>>& columns) {
    const nlohmann::json example = nlohmann::json::parse(line, nullptr, false);
    if (!example.is_object()) return fail(Code::kInvalidArgument, "not a JSON object: an example is {}", shown());
    std::vector<tensor::Tensor> row;
    for (const data::FieldSpec& field : fields_) {
      const auto value = example.find(field.name);
      if (value == example.end())
        return fail(Code::kInvalidArgument, "'{}' is missing: an example is {}", printable(field.name), shown());
      row.push_back(TFD_TRY(tensor::tensor_from_json(*value, {field.dtype, field.shape}), printable(field.name)));
    }
    for (std::size_t i = 0; i < row.size(); ++i) columns[i].push_back(std::move(row[i]));
    return {};
  }

  std::string shown() const {
    std::string text;
    for (const data::FieldSpec& field : fields_)
      text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", printable(field.name),
                          tensor::format_spec({field.dtype, field.shape}));
    return "{" + text + "}";
  }

  resolve::InputReader input_;
  const data::ElementSpec& fields_;  // the dataset's
  std::function<bool()> is_stopped_;
  std::int64_t line_number_ = 0;
  bool has_ended_ = false;
  std::optional<Error> failed_;  // of a line, told once those before it are answered
};

class LinesDataset final : public data::Dataset {
 public:
  LinesDataset(int fd, data::ElementSpec fields, std::function<bool()> is_stopped)
      : fd_(fd), fields_(std::move(fields)), batches_(fields_), is_stopped_(std::move(is_stopped)) {
    for (data::FieldSpec& field : batches_) field.shape.insert(field.shape.begin(), -1);
  }
  const data::ElementSpec& spec() const override { return batches_; }
  Result<std::unique_ptr<data::Iterator>> iterate(const data::Order&) const override {
    return std::make_unique<Lines>(fd_, fields_, is_stopped_);
  }
  std::optional<std::int64_t> cardinality() const override { return std::nullopt; }

 private:
  int fd_;
  data::ElementSpec fields_;   // of an example
  data::ElementSpec batches_;  // of a batch
  std::function<bool()> is_stopped_;
};

/// The most rows that its modules take.
std::int64_t largest_batch(const program::FunctionDef& function, const std::string& dataset) {
  if (function.modules.any_size() != nullptr) return static_cast<std::int64_t>(kMostRows);
  std::int64_t most = 1;
  for (const hlo::Module& module : function.modules)
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      const tensor::Shape& shape = module.signature.arguments[i].spec.shape;
      if (function.inputs[i].kind == program::InputKind::kDataset && function.inputs[i].name == dataset &&
          !shape.empty())
        most = std::max(most, shape.front());
    }
  return most;
}

}  // namespace

Result<data::ElementSpec> fields_of_arguments(const program::Program& program, const program::FunctionDef& function) {
  data::ElementSpec out;
  const hlo::Signature& signature = function.modules.front().signature;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const program::InputBinding& input = function.inputs[i];
    if (input.kind != program::InputKind::kArg && input.kind != program::InputKind::kKwarg) continue;
    const std::string name = input.field                                ? *input.field
                             : input.kind == program::InputKind::kKwarg ? input.name
                                                                        : signature.arguments[i].name;
    if (std::ranges::find(out, name, &data::FieldSpec::name) != out.end()) continue;
    tensor::TensorSpec spec = signature.arguments[i].spec;
    if (const data::FieldSpec* const ids = input.lookup.empty() ? nullptr : field_in_datasets(program, name))
      spec = {ids->dtype, ids->shape};
    else if (!input.lookup.empty())
      return fail(Code::kInvalidArgument, "--dataset -: no dataset of the program says what '{}' of '{}' is",
                  printable(name), function.name);
    out.push_back(TFD_TRY(row_of(name, spec)));
  }
  return out;
}

std::shared_ptr<const data::Dataset> batches_of_lines(int fd, data::ElementSpec fields,
                                                      std::function<bool()> is_stopped) {
  return std::make_shared<LinesDataset>(fd, std::move(fields), std::move(is_stopped));
}

std::string pipeline_of_lines(const std::string& path, const program::Program& program,
                              const program::FunctionDef& function, const std::string& dataset) {
  nlohmann::ordered_json fields;
  for (const data::FieldSpec& field : program.dataset_specs.at(dataset)) {
    const bool is_read = std::ranges::any_of(function.inputs, [&](const program::InputBinding& input) {
      return input.kind == program::InputKind::kDataset && input.name == dataset && input.field == field.name;
    });
    if (!is_read || field.shape.empty()) continue;
    fields[field.name] = {{"dtype", field.is_text ? std::string_view("string") : tensor::dtype_name(field.dtype)}};
    if (field.shape.size() > 1 && !field.is_text)
      fields[field.name]["shape"] = std::vector<std::int64_t>(field.shape.begin() + 1, field.shape.end());
  }
  const nlohmann::ordered_json pipeline{{{"jsonl", {{"path", path}, {"fields", fields}}}},
                                        {{"batch", {{"size", largest_batch(function, dataset)}}}}};
  return pipeline.dump();
}

}  // namespace tfd::run
