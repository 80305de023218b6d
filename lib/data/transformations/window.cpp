// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>

#include "../plan/stage_kinds.hpp"
#include "packing.hpp"
#include "transformations.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

class WindowStream final : public RowStream {
 public:
  WindowStream(RowStreamPtr input, PackingPtr packing, const Window& window)
      : input_(std::move(input)),
        packing_(std::move(packing)),
        window_(window),
        span_((window.size - 1) * window.stride + 1) {}

  Result<std::optional<Row>> next() override {
    if (!TFD_TRY(begin_window(span_))) return std::optional<Row>();
    std::vector<Row> rows;
    for (std::int64_t at = 0; at < std::min(span_, ahead()); at += window_.stride)
      rows.push_back(rows_[static_cast<std::size_t>(at)]);
    BlockPtr block = TFD_TRY(packing_->pack(rows));
    advance(window_.shift);
    return Row{std::move(block), 0};
  }

  Result<std::int64_t> skip(std::int64_t count) override {
    std::int64_t done = 0;
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() / window_.shift / 2;  // windows at once
    while (done < count) {
      const std::int64_t some = std::min(count - done, most);
      const std::int64_t windows = TFD_TRY(pass_over(some));
      done += windows;
      if (windows < some) break;
    }
    return done;
  }

 private:
  std::int64_t ahead() const { return static_cast<std::int64_t>(rows_.size()); }
  std::int64_t needed() const { return window_.drop_remainder ? span_ : 1; }
  // Windows that begin within `rows` rows, which are the last ones.
  std::int64_t windows_in(std::int64_t rows) const {
    return rows < needed() ? 0 : (rows - needed()) / window_.shift + 1;
  }

  // Reads up to `rows` rows of the window; returns false if no window is left.
  Result<bool> begin_window(std::int64_t rows) {
    if (gap_ > 0 && !at_end_) {
      at_end_ = TFD_TRY(input_->skip(gap_)) < gap_;
      gap_ = 0;
    }
    while (!at_end_ && ahead() < rows) {
      std::optional<Row> row = TFD_TRY(input_->next());
      if (row)
        rows_.push_back(std::move(*row));
      else
        at_end_ = true;
    }
    return ahead() >= needed();
  }
  void advance(std::int64_t rows) {
    const std::int64_t there = std::min(rows, ahead());
    rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(there));
    gap_ += rows - there;
  }
  // Skips `count` windows; fewer at the end.
  Result<std::int64_t> pass_over(std::int64_t count) {
    if (!TFD_TRY(begin_window(needed()))) return 0;
    const std::int64_t before = ahead();
    const std::int64_t way = (count - 1) * window_.shift;  // to the last one of them
    advance(way);
    if (gap_ > 0) {
      const std::int64_t got = at_end_ ? 0 : TFD_TRY(input_->skip(gap_));
      at_end_ = at_end_ || got < gap_;
      if (got < gap_) return windows_in(before + got);
      gap_ = 0;
    }
    if (!TFD_TRY(begin_window(needed()))) return windows_in(way + ahead());
    advance(window_.shift);
    return count;
  }

  RowStreamPtr input_;
  PackingPtr packing_;
  const Window window_;
  const std::int64_t span_;  // from the first row of a window to its last
  std::deque<Row> rows_;     // of the next window, and of those that overlap it
  std::int64_t gap_ = 0;     // rows before the next window that no window has
  bool at_end_ = false;
};

ElementSpec windowed(ElementSpec spec, const Window& window) {
  for (FieldSpec& field : spec) field.shape.insert(field.shape.begin(), window.drop_remainder ? window.size : -1);
  return spec;
}

class WindowDataset final : public RowDataset {
 public:
  WindowDataset(RowDatasetPtr input, const Window& window)
      : RowDataset(windowed(input->spec(), window)),
        input_(std::move(input)),
        packing_(make_plain_packing(input_->spec())),
        window_(window) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<WindowStream>(TFD_TRY(input_->rows(order)), packing_, window_);
  }
  std::optional<std::int64_t> cardinality() const override {
    const auto rows = input_->cardinality();
    if (!rows || *rows == kInfinite) return rows;
    const std::int64_t needed = window_.drop_remainder ? (window_.size - 1) * window_.stride + 1 : 1;
    return *rows < needed ? 0 : (*rows - needed) / window_.shift + 1;
  }

 private:
  RowDatasetPtr input_;
  PackingPtr packing_;
  Window window_;
};

Result<Window> read_window(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "size");
  JsonObject options(value, stage.path);
  Window window;
  window.size = options.required_integer("size", 1);
  window.shift = options.integer("shift", 1).value_or(window.size);
  window.stride = options.integer("stride", 1).value_or(1);
  window.drop_remainder = options.flag("drop_remainder", false);
  if (window.stride > 0 && window.size - 1 > (std::int64_t{1} << 48) / window.stride)
    options.note("size", "reaches over too many elements");
  TFD_TRY(options.finish());
  return window;
}

ordered_json write_window(const Window& window) {
  ordered_json out = {{"size", window.size}, {"shift", window.shift}};
  if (window.stride != 1) out["stride"] = window.stride;
  if (window.drop_remainder) out["drop_remainder"] = true;
  return out;
}

Result<RowDatasetPtr> make_window(const Window& window, const StageSite& site) {
  TFD_TRY(check_packed(site, window.size));
  return std::make_shared<WindowDataset>(site.input, window);
}

}  // namespace

const StageKind<Window>& kind_of(Tag<Window>) {
  static constexpr StageKind<Window> kKind{
      .name = "window",
      .read = read_window,
      .write = write_window,
      .make = make_window,
      .traits = [](const Window&) -> StageTraits { return {.needs_all_files = true}; },
  };
  return kKind;
}

}  // namespace tfd::data
