// SPDX-License-Identifier: Apache-2.0
//
// tensor_slices: rows that the pipeline itself holds.
#include "sources.hpp"

#include "table.hpp"

namespace tfd::data {
namespace {

class SlicesDataset final : public RowDataset {
 public:
  SlicesDataset(ElementSpec spec, std::vector<tensor::Tensor> columns) : RowDataset(std::move(spec)) {
    auto table = std::make_shared<Table>();
    length_ = columns.front().shape()[0];
    table->blocks.push_back(std::make_shared<Block>(Block{std::move(columns)}));
    table_ = std::move(table);
  }
  Result<RowStreamPtr> rows(const Order&) const override { return stream_table(table_); }
  std::optional<std::int64_t> cardinality() const override { return length_; }

 private:
  TablePtr table_;
  std::int64_t length_ = 0;
};

}  // namespace

RowDatasetPtr make_tensor_slices(ElementSpec spec, std::vector<tensor::Tensor> columns) {
  return std::make_shared<SlicesDataset>(std::move(spec), std::move(columns));
}

}  // namespace tfd::data
