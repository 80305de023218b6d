// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

namespace tfd::data {
namespace {

class TableStream final : public RowStream {
 public:
  explicit TableStream(TablePtr table) : table_(std::move(table)) {}
  Result<std::optional<Row>> next() override {
    for (; block_ < table_->blocks.size(); ++block_, index_ = 0) {
      const BlockPtr& block = table_->blocks[block_];
      if (index_ < block->columns.front().shape()[0]) return Row{block, index_++};
    }
    return std::optional<Row>();
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    std::int64_t left = count;
    for (; left > 0 && block_ < table_->blocks.size(); ++block_, index_ = 0) {
      const std::int64_t there = table_->blocks[block_]->columns.front().shape()[0] - index_;
      if (left < there) {
        index_ += left;
        return count;
      }
      left -= there;
    }
    return count - left;
  }

 private:
  TablePtr table_;
  std::size_t block_ = 0;
  std::int64_t index_ = 0;
};

}  // namespace

RowStreamPtr stream_table(TablePtr table) { return std::make_unique<TableStream>(std::move(table)); }

}  // namespace tfd::data
