// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>

#include "csv_row.hpp"
#include "line_reader.hpp"
#include "sources.hpp"
#include "table.hpp"

namespace tfd::data {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
constexpr std::size_t kMostBlockRows = 65536;

ElementSpec spec_of(const std::vector<CsvField>& fields) {
  ElementSpec spec;
  for (const CsvField& field : fields) spec.push_back(field.spec);
  return spec;
}

// What the streams of one dataset share.
struct Csv {
  Csv(CsvSource asked, std::size_t most)
      : options(std::move(asked)),
        row(options.fields, options.delimiter),
        spec(spec_of(options.fields)),
        cache_bytes(most) {
    for (const FieldSpec& field : spec) bytes_per_row += row_bytes(field);
  }

  TablePtr find_cached(const FileStamp& stamp) const {
    const std::lock_guard lock(mutex);
    return cached && cached_stamp == stamp ? cached : nullptr;
  }
  void keep(TablePtr table, const FileStamp& stamp) const {
    const std::lock_guard lock(mutex);
    cached = std::move(table);
    cached_stamp = stamp;
  }

  const CsvSource options;
  const CsvRow row;
  const ElementSpec spec;
  const std::size_t cache_bytes;
  std::size_t bytes_per_row = 0;

  mutable std::mutex mutex;  // guards what follows
  mutable TablePtr cached;
  mutable FileStamp cached_stamp;
};
using CsvPtr = std::shared_ptr<const Csv>;  // shared: by the dataset and its streams

// Decodes the file block by block; what a full pass has decoded becomes the dataset's cache.
class CsvStream final : public RowStream {
 public:
  CsvStream(CsvPtr csv, LineReader reader)
      : csv_(std::move(csv)), reader_(std::move(reader)), decoded_(std::make_shared<Table>()) {}

  Result<std::optional<Row>> next() override {
    while (true) {
      if (block_ && index_ < block_->columns.front().shape()[0]) return Row{block_, index_++};
      if (error_) return fail(*error_);
      if (at_end_) return std::optional<Row>();
      block_ = decode_block();
      index_ = 0;
    }
  }

 private:
  // The rows up to the end, an error or a full block; null for none. An error is kept for after them.
  BlockPtr decode_block() {
    const std::size_t rows =
        std::clamp<std::size_t>(kBlockBytes / std::max<std::size_t>(csv_->bytes_per_row, 1), 1, kMostBlockRows);
    std::vector<tensor::Tensor> columns;
    std::vector<std::byte*> row;
    std::vector<std::size_t> strides;
    for (const FieldSpec& field : csv_->spec) {
      tensor::Shape shape{static_cast<std::int64_t>(rows)};
      shape.insert(shape.end(), field.shape.begin(), field.shape.end());
      columns.push_back(tensor::Tensor::uninitialized(field.dtype, std::move(shape)));
      row.push_back(columns.back().mutable_data());
      strides.push_back(row_bytes(field));
    }
    std::size_t count = 0;
    for (; count < rows; ++count) {
      auto parsed = parse_row(row);
      if (!parsed)
        error_ = std::move(parsed.error());
      else if (!*parsed)
        finish();
      if (error_ || at_end_) break;
      for (std::size_t i = 0; i < row.size(); ++i) row[i] += strides[i];
    }
    std::shared_ptr<Block> block;
    if (count > 0) {
      block = std::make_shared<Block>();
      for (tensor::Tensor& column : columns)
        block->columns.push_back(column.slice_rows(0, static_cast<std::int64_t>(count)));
      remember(block, count);
    }
    if (at_end_) publish();
    return block;
  }

  // False at the end of the file.
  Result<bool> parse_row(const std::vector<std::byte*>& row) {
    while (true) {
      const std::optional<std::string_view> line = TFD_TRY(reader_.next());
      if (!line) return false;
      if (line->find_first_not_of(" \t") == std::string_view::npos) continue;
      if (columns_ == 0) {
        columns_ = csv_->row.count_columns(*line);
        if (columns_ < csv_->row.columns_needed())
          return fail(Code::kInvalidArgument, "{}:{}: {} columns, but the fields need {}", reader_.path(),
                      reader_.line(), columns_, csv_->row.columns_needed());
        if (csv_->options.header) continue;
      }
      auto parsed = csv_->row.parse_line(*line, columns_, row);
      if (parsed) return true;
      const bool may_be_header = reader_.line() == 1 && !csv_->options.header;
      return fail(parsed.error().code, "{}:{}: {}{}", reader_.path(), reader_.line(), parsed.error().message,
                  may_be_header ? " (if this line is a header, set \"header\": true)" : "");
    }
  }

  void finish() {
    at_end_ = true;
    if (columns_ == 0) error_ = Error{Code::kInvalidArgument, reader_.path() + " is empty", {}};
  }

  void remember(const BlockPtr& block, std::size_t rows) {
    decoded_bytes_ += rows * csv_->bytes_per_row;
    if (decoded_bytes_ > csv_->cache_bytes) decoded_ = nullptr;
    if (decoded_) decoded_->blocks.push_back(block);
  }

  // Only at the end, and only if the file is still what it was when it was opened.
  void publish() {
    if (!decoded_ || error_) return;
    const auto now = reader_.stamp_now();
    if (now && *now == reader_.stamp()) csv_->keep(decoded_, reader_.stamp());
  }

  CsvPtr csv_;
  LineReader reader_;
  std::shared_ptr<Table> decoded_;  // null once it is too large; shared with the cache when complete
  std::size_t decoded_bytes_ = 0;
  std::int64_t columns_ = 0;  // of the first line, so of all
  BlockPtr block_;
  std::int64_t index_ = 0;
  std::optional<Error> error_;
  bool at_end_ = false;
};

class CsvDataset final : public RowDataset {
 public:
  CsvDataset(CsvSource options, std::size_t cache_bytes)
      : RowDataset(spec_of(options.fields)), csv_(std::make_shared<Csv>(std::move(options), cache_bytes)) {}
  Result<RowStreamPtr> rows(const Order&) const override {
    if (TablePtr cached = csv_->find_cached(TFD_TRY(load_stamp(csv_->options.path))))
      return stream_table(std::move(cached));
    return std::make_unique<CsvStream>(csv_, TFD_TRY(LineReader::open(csv_->options.path)));
  }
  std::optional<std::int64_t> cardinality() const override { return std::nullopt; }

 private:
  CsvPtr csv_;
};

}  // namespace

RowDatasetPtr make_csv(CsvSource source, std::size_t cache_bytes) {
  return std::make_shared<CsvDataset>(std::move(source), cache_bytes);
}

}  // namespace tfd::data
