// SPDX-License-Identifier: Apache-2.0
#include "stdin_examples.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tfd/base/text.hpp"
#include "tfd/resolve/spec_source.hpp"
#include "tfd/tensor/json.hpp"
#include "tfd/tensor/number.hpp"

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
    const nlohmann::json example = nlohmann::json::parse(tensor::plain_json(line), nullptr, false);
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

/// Numbers of rows that the function's modules take of the dataset, the largest first.
std::vector<std::int64_t> batch_sizes(const program::FunctionDef& function, const std::string& dataset) {
  std::set<std::int64_t, std::greater<>> sizes;
  for (const hlo::Module& module : function.modules)
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      const tensor::Shape& shape = module.signature.arguments[i].spec.shape;
      if (function.inputs[i].kind == program::InputKind::kDataset && function.inputs[i].name == dataset &&
          !shape.empty() && shape.front() > 0)
        sizes.insert(shape.front());
    }
  return {sizes.begin(), sizes.end()};
}

/// Numbers of rows that batches of the given sizes add up to, as far as `most`.
class Sums {
 public:
  /// `sizes`: the largest first, one at least.
  Sums(std::vector<std::int64_t> sizes, std::int64_t most) : sizes_(std::move(sizes)) {
    // Batches of other sizes, as many as the largest has rows, hold some that a few of the largest could replace.
    const std::int64_t enough = sizes_.size() > 1 ? sizes_[0] * sizes_[1] : 0;
    last_.resize(static_cast<std::size_t>(std::min(most, enough)) + 1);
    for (std::size_t rows = 1; rows < last_.size(); ++rows)
      for (std::size_t i = 1; i < sizes_.size() && last_[rows] == 0; ++i)
        if (const auto size = static_cast<std::size_t>(sizes_[i]); rows >= size && is_sum(rows - size))
          last_[rows] = sizes_[i];
  }

  /// How many batches of which size, the largest first; nullopt: none add up to it.
  std::optional<std::map<std::int64_t, std::int64_t, std::greater<>>> find(std::int64_t rows) const {
    std::int64_t left = rows % sizes_[0];
    while (left <= rows && left < std::ssize(last_) && !is_sum(static_cast<std::size_t>(left))) left += sizes_[0];
    if (left > rows || left >= std::ssize(last_)) return std::nullopt;
    std::map<std::int64_t, std::int64_t, std::greater<>> counts;
    if (rows > left) counts[sizes_[0]] = (rows - left) / sizes_[0];
    for (; left > 0; left -= last_[static_cast<std::size_t>(left)]) ++counts[last_[static_cast<std::size_t>(left)]];
    return counts;
  }

 private:
  bool is_sum(std::size_t rows) const { return rows == 0 || last_[rows] > 0; }

  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> last_;  // for each sum of sizes other than the largest, one of them; 0: it is none
};

/// An error that names the nearest numbers of lines that could be evaluated.
Error wrong_number(std::int64_t lines, const std::vector<std::int64_t>& sizes, const Sums& sums,
                   const program::FunctionDef& function) {
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  std::vector<std::string> taken, near;
  std::ranges::transform(sizes, std::back_inserter(taken), text);
  std::int64_t below = lines - 1, above = lines + 1;
  while (below > 0 && !sums.find(below)) --below;
  while (!sums.find(above)) ++above;
  if (below > 0) near.push_back(text(below));
  near.push_back(text(above));
  return fail(Code::kInvalidArgument,
              "stdin has {}, and '{}' takes batches of {}, which don't add up to that: {} lines would do (for any "
              "number, export it for any batch size: tfd-export(1))",
              counted(static_cast<std::uint64_t>(lines), "line"), function.name, fmt::join(taken, " or "),
              fmt::join(near, " or "))
      .value();
}

/// Batches of stages that read the lines.
Result<nlohmann::ordered_json> batched(const nlohmann::ordered_json& source, std::int64_t lines,
                                       const program::FunctionDef& function, const std::string& dataset) {
  const auto batch_of = [](std::int64_t size) { return nlohmann::ordered_json{{"batch", {{"size", size}}}}; };
  if (function.modules.any_size() != nullptr)
    return nlohmann::ordered_json{source, batch_of(static_cast<std::int64_t>(kMostRows))};
  const auto sizes = batch_sizes(function, dataset);
  if (sizes.empty()) return nlohmann::ordered_json{source, batch_of(1)};
  const Sums sums(sizes, lines + sizes.front());
  const auto counts = sums.find(lines);
  if (!counts) return fail(wrong_number(lines, sizes, sums, function));
  nlohmann::ordered_json pipeline, others = nlohmann::ordered_json::array();
  std::int64_t done = 0;
  for (const auto& [size, count] : *counts) {
    nlohmann::ordered_json part{
        source, {{"skip", {{"count", done}}}}, {{"take", {{"count", size * count}}}}, batch_of(size)};
    (done == 0 ? pipeline : others.emplace_back()) = std::move(part);
    done += size * count;
  }
  if (!others.empty()) pipeline.push_back({{"concatenate", std::move(others)}});
  return pipeline;
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

Result<std::string> pipeline_of_lines(const std::string& path, std::int64_t lines, const program::Program& program,
                                      const program::FunctionDef& function, const std::string& dataset) {
  if (lines == 0) return fail(Code::kInvalidArgument, "stdin is empty: there is nothing to evaluate");
  nlohmann::ordered_json fields;
  const data::FieldSpec* mask = nullptr;
  for (const data::FieldSpec& field : program.dataset_specs.at(dataset)) {
    const bool is_read = std::ranges::any_of(function.inputs, [&](const program::InputBinding& input) {
      return input.kind == program::InputKind::kDataset && input.name == dataset && input.field == field.name;
    });
    if (!is_read || field.shape.empty()) continue;
    if (field.is_mask) {
      mask = &field;
      continue;
    }
    fields[field.name] = {{"dtype", field.is_text ? std::string_view("string") : tensor::dtype_name(field.dtype)}};
    if (field.shape.size() > 1 && !field.is_text)
      fields[field.name]["shape"] = std::vector<std::int64_t>(field.shape.begin() + 1, field.shape.end());
  }
  const nlohmann::ordered_json source{{"jsonl", {{"path", path}, {"fields", fields}}}};
  if (mask == nullptr) return TFD_TRY(batched(source, lines, function, dataset)).dump();
  const auto sizes = batch_sizes(function, dataset);
  const std::int64_t size = sizes.empty() ? static_cast<std::int64_t>(kMostRows) : sizes.front();
  const nlohmann::ordered_json pipeline{source,
                                        {{"batch", {{"size", size}, {"pad_remainder", true}, {"mask", mask->name}}}}};
  return pipeline.dump();
}

}  // namespace tfd::run
