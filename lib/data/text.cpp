// SPDX-License-Identifier: Apache-2.0
//
// text: every line as the bytes that it is.
#include <cstring>

#include "file_rows.hpp"
#include "line_reader.hpp"
#include "sources.hpp"

namespace tfd::data {
namespace {

class TextReader final : public RowReader {
 public:
  explicit TextReader(LineReader lines) : lines_(std::move(lines)) {}
  Result<bool> next(BlockBuilder& out) override {
    const std::optional<std::string_view> line = TFD_TRY(lines_.next());
    if (!line) return false;
    std::byte* to = TFD_TRY(out.allocate(0, static_cast<std::int64_t>(line->size())));
    std::memcpy(to, line->data(), line->size());
    return true;
  }
  bool is_broken() const override { return true; }
  bool is_empty() const override { return lines_.line() == 0; }
  const ByteReader& bytes() const override { return lines_.bytes(); }

 private:
  LineReader lines_;
};

class TextFormat final : public RowFormat {
 public:
  Result<std::unique_ptr<RowReader>> open(const std::string& path) const override {
    return std::make_unique<TextReader>(TFD_TRY(LineReader::open(path)));
  }
};

}  // namespace

RowDatasetPtr make_text(const TextSource& source, FileRowsOptions options) {
  return make_file_rows({{source.field, tensor::DType::kU8, {-1}}}, std::make_unique<TextFormat>(), std::move(options));
}

}  // namespace tfd::data
