// SPDX-License-Identifier: Apache-2.0
#include "../files/file_rows.hpp"
#include "../files/line_reader.hpp"
#include "csv_row.hpp"
#include "sources.hpp"

namespace tfd::data {
namespace {

ElementSpec spec_of(const std::vector<CsvField>& fields) {
  ElementSpec spec;
  for (const CsvField& field : fields) spec.push_back(field.spec);
  return spec;
}

std::optional<std::string_view> next_filled_line(Piece& piece) {
  auto line = next_line(piece);
  while (line && line->find_first_not_of(" \t") == std::string_view::npos) line = next_line(piece);
  return line;
}

// Looks at the first line of a file, which says how many columns all of them have.
class CsvReader final : public PieceReader {
 public:
  CsvReader(const CsvRow& row, bool has_header, LineReader lines)
      : row_(row), has_header_(has_header), lines_(std::move(lines)) {}

  Result<std::optional<Piece>> next() override {
    auto piece = TFD_TRY(lines_.next());
    if (piece && columns_ == 0) TFD_TRY(begin(*piece));
    if (piece) piece->columns = columns_;
    return piece;
  }
  bool is_empty() const override { return columns_ == 0; }
  const OpenFilePtr& file() const override { return lines_.file(); }

 private:
  Result<void> begin(Piece& piece) {
    const std::size_t at = piece.at;
    const std::int64_t number = piece.number;
    const auto first = next_filled_line(piece);
    if (!first) return {};
    columns_ = row_.count_columns(*first);
    if (columns_ < row_.columns_needed())
      return fail(Code::kInvalidArgument, "{}: {} columns, but the fields need {}", place_of_line(piece), columns_,
                  row_.columns_needed());
    if (has_header_) return {};
    piece.at = at;
    piece.number = number;
    return {};
  }

  const CsvRow& row_;  // the format's
  const bool has_header_;
  LineReader lines_;
  std::int64_t columns_ = 0;
};

class CsvFormat final : public RowFormat {
 public:
  explicit CsvFormat(const CsvSource& source) : row_(source.fields, source.delimiter), has_header_(source.header) {}
  std::unique_ptr<PieceReader> read(ByteReader bytes, std::size_t piece_bytes) const override {
    return std::make_unique<CsvReader>(row_, has_header_, LineReader(std::move(bytes), piece_bytes));
  }
  Result<bool> parse_row(Piece& piece, BlockBuilder& out) const override {
    const auto line = next_filled_line(piece);
    if (!line) return false;
    const auto parsed = row_.parse_line(*line, piece.columns, out);
    if (parsed) return true;
    const bool may_be_header = piece.number == 1 && !has_header_;
    return fail(parsed.error().code, "{}: {}{}", place_of_line(piece), parsed.error().message,
                may_be_header ? " (if this line is a header, set \"header\": true)" : "");
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
