// SPDX-License-Identifier: Apache-2.0
#include "tfd/tensor/npy.hpp"

#include <mutex>

#include "file_stamp.hpp"
#include "sources.hpp"
#include "table.hpp"

namespace tfd::data {
namespace {

constexpr std::size_t kCacheBytes = std::size_t{256} << 20;

ElementSpec spec_of(const std::vector<NpyColumn>& fields) {
  ElementSpec spec;
  for (const NpyColumn& field : fields) spec.push_back(field.spec);
  return spec;
}

// One read serves every pass for as long as the files don't change: small ones always, large ones while somebody reads.
class NpyDataset final : public RowDataset {
 public:
  NpyDataset(std::vector<NpyColumn> fields, std::optional<std::int64_t> length)
      : RowDataset(spec_of(fields)), fields_(std::move(fields)), length_(length) {}

  Result<RowStreamPtr> rows(const Order&) const override {
    std::vector<FileStamp> stamps;
    for (const NpyColumn& field : fields_) stamps.push_back(TFD_TRY(load_stamp(field.path)));
    const std::lock_guard lock(mutex_);  // a second pass that starts meanwhile waits for the one read
    TablePtr table = loaded_.lock();
    if (!table || stamps != stamps_) {
      table = TFD_TRY(load());
      loaded_ = table;
      stamps_ = std::move(stamps);
      std::size_t bytes = 0;
      for (const tensor::Tensor& column : table->blocks.front()->columns) bytes += column.byte_size();
      kept_ = bytes <= kCacheBytes ? table : nullptr;
    }
    return stream_table(std::move(table));
  }
  std::optional<std::int64_t> cardinality() const override { return length_; }

 private:
  Result<TablePtr> load() const {
    Block block;
    for (const NpyColumn& field : fields_) {
      tensor::Tensor column = TFD_TRY(tensor::load_npy(field.path));
      const tensor::TensorSpec row = TFD_TRY(row_spec_of(column.spec(), field.path));
      if (row.dtype != field.spec.dtype || row.shape != field.spec.shape)
        return fail(Code::kInvalidArgument, "{}: its rows are {}, but field '{}' is {}", field.path, format_spec(row),
                    field.spec.name, format_field(field.spec));
      if (!block.columns.empty() && column.shape()[0] != block.columns.front().shape()[0])
        return fail(Code::kInvalidArgument, "{} has {} rows, but {} has {}", field.path, column.shape()[0],
                    fields_.front().path, block.columns.front().shape()[0]);
      block.columns.push_back(std::move(column));
    }
    auto table = std::make_shared<Table>();
    table->blocks.push_back(std::make_shared<Block>(std::move(block)));
    return TablePtr(std::move(table));
  }

  std::vector<NpyColumn> fields_;
  std::optional<std::int64_t> length_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::vector<FileStamp> stamps_;
  mutable std::weak_ptr<const Table> loaded_;
  mutable TablePtr kept_;
};

}  // namespace

Result<tensor::TensorSpec> row_spec_of(const tensor::TensorSpec& file, const std::string& path) {
  if (file.shape.empty()) return fail(Code::kInvalidArgument, "{} is a scalar: it has no rows", path);
  return tensor::TensorSpec{file.dtype, tensor::Shape(file.shape.begin() + 1, file.shape.end())};
}

RowDatasetPtr make_npy(std::vector<NpyColumn> fields, std::optional<std::int64_t> length) {
  return std::make_shared<NpyDataset>(std::move(fields), length);
}

}  // namespace tfd::data
