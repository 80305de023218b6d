// SPDX-License-Identifier: Apache-2.0
//
// text: every line as the bytes that it is.
#include <cstring>
#include <nlohmann/json.hpp>

#include "../files/file_rows.hpp"
#include "../files/line_reader.hpp"
#include "field_json.hpp"
#include "sources.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

class TextReader final : public PieceReader {
 public:
  explicit TextReader(LineReader lines) : lines_(std::move(lines)) {}
  Result<std::optional<Piece>> next() override { return lines_.next(); }
  bool is_empty() const override { return lines_.lines() == 0; }
  const OpenFilePtr& file() const override { return lines_.file(); }

 private:
  LineReader lines_;
};

class TextFormat final : public RowFormat {
 public:
  std::unique_ptr<PieceReader> read(ByteReader bytes, std::size_t piece_bytes) const override {
    return std::make_unique<TextReader>(LineReader(std::move(bytes), piece_bytes));
  }
  Result<bool> parse_row(Piece& piece, BlockBuilder& out) const override {
    const auto line = next_line(piece);
    if (!line) return false;
    std::byte* to = TFD_TRY(out.allocate(0, static_cast<std::int64_t>(line->size())));
    std::memcpy(to, line->data(), line->size());
    return true;
  }
};

Result<TextSource> read_text(const StatedStage& stage) {
  JsonObject options(stage.value, stage.path);
  TextSource text;
  text.files = read_files(options);
  text.field = options.text("field").value_or(text.field);
  TFD_TRY(options.finish());
  return text;
}

ordered_json write_text(const TextSource& text) {
  ordered_json out = write_files(text.files);
  out["field"] = text.field;
  return out;
}

Result<RowDatasetPtr> make_text_source(const TextSource& text, const StageSite& site) {
  return make_file_source(site, text, text.files, false,
                          [text](FileRowsOptions options) { return make_text(text, std::move(options)); });
}

}  // namespace

RowDatasetPtr make_text(const TextSource& source, FileRowsOptions options) {
  return make_file_rows({text_field(source.field)}, std::make_unique<TextFormat>(), std::move(options));
}

const StageKind<TextSource>& kind_of(Tag<TextSource>) {
  static constexpr StageKind<TextSource> kKind{
      .name = "text",
      .is_source = true,
      .read = read_text,
      .write = write_text,
      .make = make_text_source,
  };
  return kKind;
}

}  // namespace tfd::data
