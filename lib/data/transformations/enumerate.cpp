// SPDX-License-Identifier: Apache-2.0
#include "combine.hpp"
#include "transformations.hpp"

namespace tfd::data {
namespace {

class EnumerateStream final : public RowStream {
 public:
  EnumerateStream(RowStreamPtr input, std::int64_t start)
      : input_(std::move(input)), number_(static_cast<std::uint64_t>(start)) {}
  Result<std::optional<Row>> next() override {
    const std::optional<Row> row = TFD_TRY(input_->next());
    if (!row) return std::optional<Row>();
    auto block = std::make_shared<Block>();
    block->columns.push_back(tensor::Tensor::uninitialized(tensor::DType::kS64, {1}));
    *block->columns.back().mutable_as<std::uint64_t>() = number_++;
    append_fields(*row, *block);
    return Row{std::move(block), 0};
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    const std::int64_t done = TFD_TRY(input_->skip(count));
    number_ += static_cast<std::uint64_t>(done);
    return done;
  }

 private:
  RowStreamPtr input_;
  std::uint64_t number_;  // the unsigned twin: the number beyond the last may overflow
};

ElementSpec enumerated(const ElementSpec& spec, const std::string& field) {
  ElementSpec out{{field, tensor::DType::kS64, {}}};
  out.insert(out.end(), spec.begin(), spec.end());
  return out;
}

class EnumerateDataset final : public RowDataset {
 public:
  EnumerateDataset(RowDatasetPtr input, const Enumerate& enumerate)
      : RowDataset(enumerated(input->spec(), enumerate.field)), input_(std::move(input)), start_(enumerate.start) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<EnumerateStream>(TFD_TRY(input_->rows(order)), start_);
  }
  std::optional<std::int64_t> cardinality() const override { return input_->cardinality(); }

 private:
  RowDatasetPtr input_;
  std::int64_t start_;
};

}  // namespace

RowDatasetPtr make_enumerate(RowDatasetPtr input, const Enumerate& enumerate) {
  return std::make_shared<EnumerateDataset>(std::move(input), enumerate);
}

}  // namespace tfd::data
