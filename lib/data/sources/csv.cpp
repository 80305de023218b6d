// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>

#include "../files/file_rows.hpp"
#include "../files/line_reader.hpp"
#include "csv_row.hpp"
#include "field_json.hpp"
#include "sources.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/number.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

std::string trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return std::string(text);
}

// Why the name isn't that of one column; empty: it is.
std::string fault_of_name(const std::string& name, const std::vector<std::string>& names) {
  const auto count = std::ranges::count(names, name);
  if (count == 1) return "";
  if (count > 1) return fmt::format("{} columns are named '{}'", count, printable(name));
  constexpr std::size_t kMostShown = 20;
  const std::vector<std::string> shown(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostShown)));
  return fmt::format("no column '{}'{} (there: {}{})", printable(name), did_you_mean(name, names),
                     printable(join_words(shown)), names.size() > kMostShown ? ", …" : "");
}

ElementSpec spec_of(const std::vector<CsvField>& fields) {
  ElementSpec spec;
  for (const CsvField& field : fields) spec.push_back(field.spec);
  return spec;
}

// How many columns it is made of.
std::int64_t width_of(const CsvField& field) {
  return field.spec.is_text ? 1 : tensor::element_count(field.spec.shape);
}

std::string place_of(const OpenFilePtr& file, std::int64_t line) { return fmt::format("{}:{}", file->path(), line); }

}  // namespace

// Properties of one csv file.
struct CsvLayout {
  CsvRow row;
  std::int64_t columns = 0;      // of every row
  std::int64_t header_line = 0;  // that isn't data; 0: none
};

namespace {

// Looks at the first rows of a file, which say how many columns all of them have, and which one is the header. Where
// errors are passed over these are several: a first row that is wrong isn't the measure of the others.
class CsvReader final : public PieceReader {
 public:
  CsvReader(const CsvSource& source, const std::vector<CsvWords>& words, LineReader lines)
      : source_(source), words_(words), least_columns_(count_least_columns(source)), lines_(std::move(lines)) {}

  Result<std::optional<Piece>> next() override {
    if (!has_looked_) TFD_TRY(look());
    auto piece = TFD_TRY(next_piece());
    if (piece) piece->csv = layout_;
    return piece;
  }
  bool is_empty() const override { return first_rows_.empty(); }
  const OpenFilePtr& file() const override { return lines_.file(); }

 private:
  struct FirstRow {
    std::int64_t line = 0;
    std::int64_t columns = 0;             // 0: a quote isn't closed
    std::vector<std::string> cells = {};  // if the header names columns
  };

  Result<std::optional<Piece>> next_piece() {
    if (ahead_.empty() && error_) return fail(*error_);
    if (ahead_.empty()) return lines_.next();
    Piece piece = std::move(ahead_.front());
    ahead_.pop_front();
    return piece;
  }

  Result<void> look() {
    has_looked_ = true;
    while (!is_enough_) {
      auto piece = lines_.next();
      if (!piece) error_ = std::move(piece.error());
      if (!piece || !*piece) break;
      look_at(**piece);
      ahead_.push_back(std::move(**piece));
    }
    if (!first_rows_.empty()) layout_ = std::make_shared<const CsvLayout>(TFD_TRY(make_layout()));
    return {};
  }

  void look_at(Piece& piece) {
    const std::size_t at = piece.at;
    const std::int64_t number = piece.number;
    while (!is_enough_) {
      const auto row = next_row(piece, {source_.delimiter, source_.quotes});
      if (!row) break;
      FirstRow& first = first_rows_.emplace_back(FirstRow{.line = row->number});
      if (row->is_closed) {
        auto cells = cells_of(*row, source_.delimiter);
        first.columns = static_cast<std::int64_t>(cells.size());
        if (are_named_by_header()) first.cells = std::move(cells);
      }
      for (std::string& cell : first.cells) cell = trim(cell);
      is_enough_ = !source_.skip_errors || first_rows_.size() == kMostFirstRows || suffices(first);
    }
    piece.at = at;
    piece.number = number;
  }

  // Whether the rows so far say what the file is.
  bool suffices(const FirstRow& row) {
    if (are_named_by_header()) return find_header_fault(row).empty();
    return row.columns >= least_columns_ && ++rows_of_[row.columns] == kEnoughRows;
  }

  Result<CsvLayout> make_layout() const {
    if (are_named_by_header()) return make_named_layout();
    CsvLayout out{CsvRow(source_.fields, source_.delimiter, source_.names, words_)};
    const FirstRow& first = first_rows_.front();
    if (!source_.skip_errors && first.columns != 0 && first.columns < least_columns_)
      return fail(Code::kInvalidArgument, "{}: {}, but the fields need {}", place_of(file(), first.line),
                  counted(static_cast<std::uint64_t>(first.columns), "column"), least_columns_);
    out.columns = source_.names.empty() ? usual_columns() : least_columns_;
    for (const FirstRow& row : first_rows_)
      if (source_.header && out.header_line == 0 && row.columns == out.columns) out.header_line = row.line;
    return out;
  }

  // Without rows that suit, what the fields need.
  std::int64_t usual_columns() const {
    if (!source_.skip_errors) return std::max<std::int64_t>(first_rows_.front().columns, 1);
    std::int64_t usual = least_columns_, most = 0;
    for (const FirstRow& row : first_rows_) {
      const auto rows = rows_of_.find(row.columns);
      if (rows == rows_of_.end() || rows->second <= most) continue;
      usual = row.columns;
      most = rows->second;
    }
    return usual;
  }

  Result<CsvLayout> make_named_layout() const {
    const auto found =
        std::ranges::find_if(first_rows_, [&](const auto& row) { return find_header_fault(row).empty(); });
    if (found == first_rows_.end())
      return fail(Code::kInvalidArgument, "{}: {}", place_of(file(), first_rows_.front().line),
                  find_header_fault(first_rows_.front()));
    return CsvLayout{CsvRow(source_.fields, source_.delimiter, found->cells, words_), found->columns, found->line};
  }

  bool are_named_by_header() const {
    return source_.names.empty() && std::ranges::any_of(source_.fields, [](const auto& f) { return !f.names.empty(); });
  }

  // Why the row can't be the header that fields are named by; empty: it can.
  std::string find_header_fault(const FirstRow& row) const {
    if (row.columns == 0) return "a quote is not closed";
    for (const CsvField& field : source_.fields) {
      for (const std::string& name : field.names)
        if (std::string fault = fault_of_name(name, row.cells); !fault.empty()) return fault;
      if (field.names.empty() && field.first_column + width_of(field) > row.columns)
        return fmt::format("{}, but field '{}' needs {}", counted(row.cells.size(), "column"),
                           printable(field.spec.name), field.first_column + width_of(field));
    }
    return "";
  }

  static std::int64_t count_least_columns(const CsvSource& source) {
    if (!source.names.empty()) return static_cast<std::int64_t>(source.names.size());
    std::int64_t least = 1;
    for (const CsvField& field : source.fields) least = std::max(least, field.first_column + width_of(field));
    return least;
  }

  static constexpr std::size_t kMostFirstRows = 100;
  static constexpr int kEnoughRows = 10;  // of the same columns

  const CsvSource& source_;             // the format's
  const std::vector<CsvWords>& words_;  // the format's
  const std::int64_t least_columns_;
  LineReader lines_;
  bool has_looked_ = false, is_enough_ = false;
  std::vector<FirstRow> first_rows_;
  std::map<std::int64_t, int> rows_of_;  // by their columns
  std::deque<Piece> ahead_;              // looked at, not returned
  std::optional<Error> error_;           // behind them
  std::shared_ptr<const CsvLayout> layout_;
};

class CsvFormat final : public RowFormat {
 public:
  explicit CsvFormat(CsvSource source)
      : source_(std::move(source)), words_(source_.fields.begin(), source_.fields.end()) {}
  std::unique_ptr<PieceReader> read(ByteReader bytes, std::size_t piece_bytes) const override {
    const auto quoted = source_.quotes ? std::optional(source_.delimiter) : std::nullopt;
    return std::make_unique<CsvReader>(source_, words_, LineReader(std::move(bytes), piece_bytes, quoted));
  }
  Result<bool> parse_row(Piece& piece, BlockBuilder& out) const override {
    auto row = next_row(piece, {source_.delimiter, source_.quotes});
    if (row && row->number == piece.csv->header_line) row = next_row(piece, {source_.delimiter, source_.quotes});
    if (!row) return false;
    if (row->number < piece.csv->header_line)
      return fail(Code::kInvalidArgument, "{}: is before the header, which is line {}",
                  place_of(piece.file, row->number), piece.csv->header_line);
    const auto parsed = piece.csv->row.parse_row(*row, piece.csv->columns, out);
    if (parsed) return true;
    const bool may_be_header = row->number == 1 && row->is_closed && !source_.header;
    const bool is_long = row->lines > 1 && row->is_closed;
    return fail(parsed.error().code, "{}: {}{}{}", place_of(piece.file, row->number), parsed.error().message,
                is_long ? fmt::format(" (the row's quotes go on to line {})", row->number + row->lines - 1) : "",
                may_be_header ? " (if this line is a header, set \"header\": true)" : "");
  }

 private:
  CsvSource source_;
  std::vector<CsvWords> words_;  // of its fields
};

// Columns of a csv field: 64 is one, a scalar; [0, 64] are 64, a vector. "y" is one, ["a", "b"] are two.
struct CsvColumns {
  std::int64_t first = 0;
  std::vector<std::string> names = {};
  tensor::Shape shape = {};
};

bool is_name(const ordered_json& value) { return value.is_string() && value != ""; }

std::vector<std::string> names_of(const ordered_json& list) {
  std::vector<std::string> out;
  for (const ordered_json& name : list) out.push_back(trim(name.get_ref<const std::string&>()));
  return out;
}

CsvColumns read_columns(JsonObject& options) {
  constexpr std::int64_t kMost = 1 << 24;
  const auto* value = options.required("columns");
  if (value == nullptr) return {};
  if (is_name(*value)) return {.names = names_of(ordered_json::array({*value}))};
  if (value->is_array() && !value->empty() && std::ranges::all_of(*value, is_name))
    return {.names = names_of(*value), .shape = {static_cast<std::int64_t>(value->size())}};
  const bool is_range = value->is_array() && value->size() == 2;
  const auto first = is_range ? integer_of((*value)[0]) : integer_of(*value);
  const auto stop = is_range ? integer_of((*value)[1]) : first && *first < kMost ? std::optional(*first + 1) : first;
  if (!first || !stop)
    options.note("columns", "must be a column number, [FIRST, END] with END excluded, a name, or a list of names");
  else if (*first < 0 || *stop <= *first || *stop > kMost)
    options.note("columns", fmt::format("there are no columns [{}, {}]", *first, *stop));
  else
    return {.first = *first, .shape = is_range ? tensor::Shape{*stop - *first} : tensor::Shape{}};
  return {};
}

// The words of a field and the number of all others.
void read_vocabulary(JsonObject& options, CsvField& field) {
  const ordered_json* words = options.find("vocabulary");
  const ordered_json* unknown = options.find("unknown");
  if (words == nullptr) {
    if (unknown != nullptr) options.note("unknown", "is for a field with a \"vocabulary\"");
    return;
  }
  if (!words->is_array() || words->empty() || !std::ranges::all_of(*words, is_name))
    return options.note("vocabulary", "must be a list of words");
  field.vocabulary = names_of(*words);
  auto sorted = field.vocabulary;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    options.note("vocabulary", fmt::format("has '{}' twice", printable(*twice)));
  if (!tensor::is_integer(field.spec.dtype))
    return options.note("dtype", "must be an integer, as the positions of words are");
  if (unknown != nullptr) {
    field.unknown = integer_of(*unknown);
    if (!field.unknown) options.note("unknown", "must be a whole number");
  }
  const auto fits = [&](std::int64_t number) {
    return tensor::with_native(
        field.spec.dtype, [&](auto type) { return tensor::convert_number(number, type) == tensor::NumberFit::kOk; });
  };
  if (!fits(static_cast<std::int64_t>(field.vocabulary.size()) - 1) || !fits(field.unknown.value_or(0)))
    options.note("dtype", fmt::format("{} does not hold the positions of all words", dtype_name(field.spec.dtype)));
}

Result<CsvField> read_csv_field(const std::string& name, const ordered_json& value, const std::string& path) {
  JsonObject options(value, path);
  const CsvColumns columns = read_columns(options);
  if (reads_text(options)) {
    if (!columns.shape.empty()) options.note("columns", "a string is one column");
    TFD_TRY(options.finish());
    return CsvField{text_field(name), columns.first, columns.names};
  }
  const bool has_words = options.find("vocabulary") != nullptr;
  const tensor::DType dtype = read_dtype(options).value_or(has_words ? tensor::DType::kS32 : tensor::DType::kF32);
  const auto shape = read_shape(options, dtype);
  if (shape && tensor::element_count(*shape) != tensor::element_count(columns.shape))
    options.note("shape", fmt::format("{} has {} elements, but there are {} columns", tensor::format_shape(*shape),
                                      tensor::element_count(*shape), tensor::element_count(columns.shape)));
  CsvField field{{name, dtype, shape.value_or(columns.shape)}, columns.first, columns.names};
  read_vocabulary(options, field);
  TFD_TRY(options.finish());
  return field;
}

// The column names of files without a header, or that replace those of the header.
std::vector<std::string> read_names(JsonObject& options) {
  const ordered_json* value = options.find("names");
  if (value == nullptr) return {};
  if (value->is_array() && !value->empty() && std::ranges::all_of(*value, is_name)) return names_of(*value);
  options.note("names", "must be a list of the names of all columns");
  return {};
}

// Fields that are named need something to be named by.
Result<void> check_names(const CsvSource& csv, const std::string& path) {
  for (const CsvField& field : csv.fields) {
    const std::string where = fmt::format("{}.fields.{}.columns", path, printable(field.spec.name));
    if (!field.names.empty() && !csv.header && csv.names.empty())
      return fail(Code::kInvalidArgument, "{}: a name needs \"header\": true, or the \"names\" of all columns", where);
    if (csv.names.empty()) continue;
    for (const std::string& name : field.names)
      if (const std::string fault = fault_of_name(name, csv.names); !fault.empty())
        return fail(Code::kInvalidArgument, "{}: {}", where, fault);
    if (field.names.empty() && field.first_column + width_of(field) > static_cast<std::int64_t>(csv.names.size()))
      return fail(Code::kInvalidArgument, "{}: \"names\" are of {}", where, counted(csv.names.size(), "column"));
  }
  return {};
}

Result<CsvSource> read_csv(const StatedStage& stage) {
  JsonObject options(stage.value, stage.path);
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
  csv.skip_errors = skips_errors(options);
  csv.quotes = options.choice("quoting", "minimal", {"minimal", "none"}) == "minimal";
  csv.names = read_names(options);
  TFD_TRY(options.finish());
  csv.fields = TFD_TRY(read_fields(*fields, stage, "fields", read_csv_field));
  TFD_TRY(check_names(csv, stage.path));
  return csv;
}

ordered_json write_csv(const CsvSource& csv) {
  ordered_json out = write_files(csv.files);
  out["fields"] = ordered_json::object();
  for (const CsvField& field : csv.fields) {
    ordered_json& one = out["fields"][field.spec.name];
    const std::int64_t count = width_of(field);
    if (!field.names.empty())
      one["columns"] = field.spec.is_text ? ordered_json(field.names.front()) : ordered_json(field.names);
    else
      one["columns"] = {field.first_column, field.first_column + count};
    if (field.spec.is_text) {
      if (field.names.empty()) one["columns"] = field.first_column;
      one["dtype"] = "string";
      continue;
    }
    one["dtype"] = tensor::dtype_name(field.spec.dtype);
    one["shape"] = field.spec.shape;
    if (!field.vocabulary.empty()) one["vocabulary"] = field.vocabulary;
    if (field.unknown) one["unknown"] = *field.unknown;
  }
  if (csv.header) out["header"] = true;
  if (csv.delimiter != ',') out["delimiter"] = std::string(1, csv.delimiter);
  if (csv.skip_errors) out["on_error"] = "skip";
  if (!csv.quotes) out["quoting"] = "none";
  if (!csv.names.empty()) out["names"] = csv.names;
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
