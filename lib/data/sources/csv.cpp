// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "../files/file_rows.hpp"
#include "../files/line_reader.hpp"
#include "csv_row.hpp"
#include "field_json.hpp"
#include "sources.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

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

// Columns of a csv field: 64 is one, a scalar; [0, 64] are 64, a vector.
struct CsvColumns {
  std::int64_t first = 0;
  tensor::Shape shape;
};

CsvColumns read_columns(Options& options) {
  constexpr std::int64_t kMost = 1 << 24;
  const auto* value = options.required("columns");
  if (value == nullptr) return {};
  const bool is_range = value->is_array() && value->size() == 2;
  const auto first = is_range ? integer_of((*value)[0]) : integer_of(*value);
  const auto stop = is_range ? integer_of((*value)[1]) : first && *first < kMost ? std::optional(*first + 1) : first;
  if (!first || !stop)
    options.note("columns", "must be a column number, or [FIRST, END] with END excluded");
  else if (*first < 0 || *stop <= *first || *stop > kMost)
    options.note("columns", fmt::format("there are no columns [{}, {}]", *first, *stop));
  else
    return {*first, is_range ? tensor::Shape{*stop - *first} : tensor::Shape{}};
  return {};
}

Result<CsvField> read_csv_field(const std::string& name, const ordered_json& value, const std::string& path) {
  Options options(value, path);
  const CsvColumns columns = read_columns(options);
  if (reads_text(options)) {
    if (!columns.shape.empty()) options.note("columns", "a string is one column");
    TFD_TRY(options.finish());
    return CsvField{text_field(name), columns.first};
  }
  const tensor::DType dtype = read_dtype(options).value_or(tensor::DType::kF32);
  const auto shape = read_shape(options, dtype);
  if (shape && tensor::element_count(*shape) != tensor::element_count(columns.shape))
    options.note("shape", fmt::format("{} has {} elements, but there are {} columns", tensor::format_shape(*shape),
                                      tensor::element_count(*shape), tensor::element_count(columns.shape)));
  TFD_TRY(options.finish());
  return CsvField{{name, dtype, shape.value_or(columns.shape)}, columns.first};
}

Result<CsvSource> read_csv(const StatedStage& stage) {
  Options options(stage.value, stage.path);
  CsvSource csv;
  csv.files = read_files(options);
  const auto* fields = options.required("fields");
  csv.header = options.flag("header", false);
  const std::string delimiter = options.text("delimiter").value_or(",");
  constexpr std::string_view kInNumbers = "+-.\"\r\n";
  if (delimiter.size() != 1 || kInNumbers.find(delimiter[0]) != std::string_view::npos ||
      std::isalnum(static_cast<unsigned char>(delimiter[0])))
    options.note("delimiter", "must be a single character that can't be part of a number");
  csv.delimiter = delimiter.empty() ? ',' : delimiter[0];
  csv.skip_errors = options.skips_errors();
  TFD_TRY(options.finish());
  csv.fields = TFD_TRY(read_fields(*fields, stage, "fields", read_csv_field));
  return csv;
}

ordered_json write_csv(const CsvSource& csv) {
  ordered_json out = write_files(csv.files);
  out["fields"] = ordered_json::object();
  for (const CsvField& field : csv.fields) {
    ordered_json& one = out["fields"][field.spec.name];
    if (field.spec.is_text) {
      one = {{"columns", field.first_column}, {"dtype", "string"}};
      continue;
    }
    const std::int64_t count = tensor::element_count(field.spec.shape);
    one["columns"] = {field.first_column, field.first_column + count};
    one["dtype"] = tensor::dtype_name(field.spec.dtype);
    one["shape"] = field.spec.shape;
  }
  if (csv.header) out["header"] = true;
  if (csv.delimiter != ',') out["delimiter"] = std::string(1, csv.delimiter);
  if (csv.skip_errors) out["on_error"] = "skip";
  return out;
}

Result<RowDatasetPtr> make_csv_source(const CsvSource& csv, const StageSite& site) {
  return make_file_source(site, csv, csv.files, csv.skip_errors,
                          [csv](FileRowsOptions options) { return make_csv(csv, std::move(options)); });
}

}  // namespace

RowDatasetPtr make_csv(const CsvSource& source, FileRowsOptions options) {
  return make_file_rows(spec_of(source.fields), std::make_unique<CsvFormat>(source), std::move(options));
}

const StageKind<CsvSource>& kind_of(Tag<CsvSource>) {
  static constexpr StageKind<CsvSource> kKind{
      .name = "csv",
      .is_source = true,
      .read = read_csv,
      .write = write_csv,
      .make = make_csv_source,
  };
  return kKind;
}

}  // namespace tfd::data
