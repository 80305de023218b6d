// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "../files/file_rows.hpp"
#include "../files/record_reader.hpp"
#include "example.hpp"
#include "sources.hpp"

namespace tfd::data {
namespace {

class TfrecordReader final : public PieceReader {
 public:
  explicit TfrecordReader(RecordReader records) : records_(std::move(records)) {}
  Result<std::optional<Piece>> next() override { return records_.next(); }
  bool is_empty() const override { return records_.records() == 0; }
  const OpenFilePtr& file() const override { return records_.file(); }

 private:
  RecordReader records_;
};

class TfrecordFormat final : public RowFormat {
 public:
  explicit TfrecordFormat(std::vector<ExampleFeature> features) : features_(std::move(features)) {}
  std::unique_ptr<PieceReader> read(ByteReader bytes, std::size_t piece_bytes) const override {
    return std::make_unique<TfrecordReader>(RecordReader(std::move(bytes), piece_bytes));
  }
  Result<bool> parse_row(Piece& piece, BlockBuilder& out) const override {
    const std::optional<std::string_view> record = TFD_TRY(next_record(piece));
    if (!record) return false;
    if (features_.empty()) {
      std::byte* to = TFD_TRY(out.allocate(0, static_cast<std::int64_t>(record->size())));
      std::memcpy(to, record->data(), record->size());
    } else {
      TFD_TRY(parse_example(*record, features_, out), fmt::format("{}: record {}", piece.file->path(), piece.number));
    }
    return true;
  }

 private:
  std::vector<ExampleFeature> features_;
};

ElementSpec spec_of(const TfrecordSource& source) {
  if (source.features.empty()) return {text_field(source.field)};
  ElementSpec spec;
  for (const ExampleFeature& feature : source.features) spec.push_back(feature.spec);
  return spec;
}

}  // namespace

RowDatasetPtr make_tfrecord(const TfrecordSource& source, FileRowsOptions options) {
  return make_file_rows(spec_of(source), std::make_unique<TfrecordFormat>(source.features), std::move(options));
}

}  // namespace tfd::data
