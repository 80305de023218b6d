// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "example.hpp"
#include "file_rows.hpp"
#include "record_reader.hpp"
#include "sources.hpp"

namespace tfd::data {
namespace {

class TfrecordReader final : public RowReader {
 public:
  TfrecordReader(const std::vector<ExampleFeature>& features, RecordReader records)
      : features_(features), records_(std::move(records)) {}

  Result<bool> next(BlockBuilder& out) override {
    const std::optional<std::string_view> record = TFD_TRY(records_.next());
    if (!record) return false;
    if (features_.empty()) {
      std::byte* to = TFD_TRY(out.allocate(0, static_cast<std::int64_t>(record->size())));
      std::memcpy(to, record->data(), record->size());
    } else {
      TFD_TRY(parse_example(*record, features_, out), fmt::format("{}: record {}", records_.path(), records_.record()));
    }
    return true;
  }
  bool is_broken() const override { return records_.is_broken(); }
  bool is_empty() const override { return records_.record() == 0; }
  const ByteReader& bytes() const override { return records_.bytes(); }

 private:
  const std::vector<ExampleFeature>& features_;  // the format's
  RecordReader records_;
};

class TfrecordFormat final : public RowFormat {
 public:
  explicit TfrecordFormat(std::vector<ExampleFeature> features) : features_(std::move(features)) {}
  Result<std::unique_ptr<RowReader>> open(const std::string& path) const override {
    return std::make_unique<TfrecordReader>(features_, TFD_TRY(RecordReader::open(path)));
  }

 private:
  std::vector<ExampleFeature> features_;
};

ElementSpec spec_of(const TfrecordSource& source) {
  if (source.features.empty()) return {{source.field, tensor::DType::kU8, {-1}}};
  ElementSpec spec;
  for (const ExampleFeature& feature : source.features) spec.push_back(feature.spec);
  return spec;
}

}  // namespace

RowDatasetPtr make_tfrecord(const TfrecordSource& source, FileRowsOptions options) {
  return make_file_rows(spec_of(source), std::make_unique<TfrecordFormat>(source.features), std::move(options));
}

}  // namespace tfd::data
