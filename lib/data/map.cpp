// SPDX-License-Identifier: Apache-2.0
#include "transformations.hpp"

namespace tfd::data {
namespace {

bool fits(const tensor::Tensor& value, const FieldSpec& field) {
  if (value.dtype() != field.dtype || value.shape().size() != field.shape.size()) return false;
  for (std::size_t i = 0; i < field.shape.size(); ++i)
    if (field.shape[i] != -1 && field.shape[i] != value.shape()[i]) return false;
  return true;
}

// shared: by the dataset and its streams
using NamedFunction = std::shared_ptr<const std::pair<std::string, MapFunction>>;

class MapStream final : public RowStream {
 public:
  MapStream(RowStreamPtr input, NamedFunction function) : input_(std::move(input)), function_(std::move(function)) {}
  Result<std::optional<Row>> next() override {
    const std::optional<Row> row = TFD_TRY(input_->next());
    if (!row) return std::optional<Row>();
    const auto& [name, function] = *function_;
    Element mapped = TFD_TRY(function.call(to_element(*row)), "map '" + name + "'");
    if (mapped.size() != function.spec.size())
      return fail(Code::kInternal, "map '{}' made {} fields instead of {}", name, mapped.size(), function.spec.size());
    for (std::size_t i = 0; i < mapped.size(); ++i)
      if (!fits(mapped[i], function.spec[i]))
        return fail(Code::kInternal, "map '{}': field '{}' is {} instead of {}", name, function.spec[i].name,
                    format_spec(mapped[i].spec()), format_field(function.spec[i]));
    return Row{to_block(std::move(mapped)), 0};
  }
  Result<std::int64_t> skip(std::int64_t count) override { return input_->skip(count); }

 private:
  RowStreamPtr input_;
  NamedFunction function_;
};

class MapDataset final : public RowDataset {
 public:
  MapDataset(RowDatasetPtr input, std::string name, MapFunction function)
      : RowDataset(function.spec),
        input_(std::move(input)),
        function_(std::make_shared<const std::pair<std::string, MapFunction>>(std::move(name), std::move(function))) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<MapStream>(TFD_TRY(input_->rows(order)), function_);
  }
  std::optional<std::int64_t> cardinality() const override { return input_->cardinality(); }

 private:
  RowDatasetPtr input_;
  NamedFunction function_;
};

}  // namespace

RowDatasetPtr make_map(RowDatasetPtr input, std::string name, MapFunction function) {
  return std::make_shared<MapDataset>(std::move(input), std::move(name), std::move(function));
}

}  // namespace tfd::data
