// SPDX-License-Identifier: Apache-2.0
#include "csv_row.hpp"
#include "file_rows.hpp"
#include "line_reader.hpp"
#include "sources.hpp"

namespace tfd::data {
namespace {

ElementSpec spec_of(const std::vector<CsvField>& fields) {
  ElementSpec spec;
  for (const CsvField& field : fields) spec.push_back(field.spec);
  return spec;
}

class CsvReader final : public RowReader {
 public:
  CsvReader(const CsvRow& row, bool has_header, LineReader lines)
      : row_(row), has_header_(has_header), lines_(std::move(lines)) {}

  Result<bool> next(BlockBuilder& out) override {
    while (true) {
      auto line = lines_.next();
      is_broken_ = !line;
      const std::optional<std::string_view> text = TFD_TRY(std::move(line));
      if (!text) return false;
      if (text->find_first_not_of(" \t") == std::string_view::npos) continue;
      const bool is_first = columns_ == 0;
      if (is_first) TFD_TRY(count_columns(*text));
      if (is_first && has_header_) continue;
      if (const auto parsed = row_.parse_line(*text, columns_, out.row()); !parsed) return fail_line(parsed.error());
      return true;
    }
  }
  bool is_broken() const override { return is_broken_; }
  bool is_empty() const override { return columns_ == 0; }
  const ByteReader& bytes() const override { return lines_.bytes(); }

 private:
  // Of the first line, so of all.
  Result<void> count_columns(std::string_view line) {
    columns_ = row_.count_columns(line);
    if (columns_ >= row_.columns_needed()) return {};
    is_broken_ = true;
    return fail(Code::kInvalidArgument, "{}:{}: {} columns, but the fields need {}", lines_.path(), lines_.line(),
                columns_, row_.columns_needed());
  }
  tl::unexpected<Error> fail_line(const Error& error) const {
    const bool may_be_header = lines_.line() == 1 && !has_header_;
    return fail(error.code, "{}:{}: {}{}", lines_.path(), lines_.line(), error.message,
                may_be_header ? " (if this line is a header, set \"header\": true)" : "");
  }

  const CsvRow& row_;  // the format's
  const bool has_header_;
  LineReader lines_;
  std::int64_t columns_ = 0;
  bool is_broken_ = false;
};

class CsvFormat final : public RowFormat {
 public:
  explicit CsvFormat(const CsvSource& source) : row_(source.fields, source.delimiter), has_header_(source.header) {}
  Result<std::unique_ptr<RowReader>> open(const std::string& path) const override {
    return std::make_unique<CsvReader>(row_, has_header_, TFD_TRY(LineReader::open(path)));
  }

 private:
  CsvRow row_;
  bool has_header_;
};

}  // namespace

RowDatasetPtr make_csv(const CsvSource& source, FileRowsOptions options) {
  return make_file_rows(spec_of(source.fields), std::make_unique<CsvFormat>(source), std::move(options));
}

}  // namespace tfd::data
