// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <nlohmann/json.hpp>

#include "../plan/stage_kinds.hpp"
#include "combine.hpp"
#include "transformations.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

class EnumerateStream final : public RowStream {
 public:
  EnumerateStream(RowStreamPtr input, std::int64_t start)
      : input_(std::move(input)), number_(static_cast<std::uint64_t>(start)) {}
  Result<std::optional<Row>> next() override {
    const std::optional<Row> row = TFD_TRY(input_->next());
    if (!row) return std::optional<Row>();
    auto block = std::make_shared<Block>();
    block->columns.push_back(tensor::Tensor::uninitialized(tensor::DType::kS64, {1}));
    *block->columns.back().mutable_as<std::uint64_t>() = number_++;
    append_fields(*row, *block);
    return Row{std::move(block), 0};
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    const std::int64_t done = TFD_TRY(input_->skip(count));
    number_ += static_cast<std::uint64_t>(done);
    return done;
  }

 private:
  RowStreamPtr input_;
  std::uint64_t number_;  // the unsigned twin: the number beyond the last may overflow
};

ElementSpec enumerated(const ElementSpec& spec, const std::string& field) {
  ElementSpec out{{field, tensor::DType::kS64, {}}};
  out.insert(out.end(), spec.begin(), spec.end());
  return out;
}

class EnumerateDataset final : public RowDataset {
 public:
  EnumerateDataset(RowDatasetPtr input, const Enumerate& enumerate)
      : RowDataset(enumerated(input->spec(), enumerate.field)), input_(std::move(input)), start_(enumerate.start) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<EnumerateStream>(TFD_TRY(input_->rows(order)), start_);
  }
  std::optional<std::int64_t> cardinality() const override { return input_->cardinality(); }

 private:
  RowDatasetPtr input_;
  std::int64_t start_;
};

Result<Enumerate> read_enumerate(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "start");
  JsonObject options(value, stage.path);
  Enumerate enumerate;
  enumerate.start = options.integer("start", std::numeric_limits<std::int64_t>::min()).value_or(0);
  enumerate.field = options.text("field").value_or(enumerate.field);
  TFD_TRY(options.finish());
  return enumerate;
}

ordered_json write_enumerate(const Enumerate& enumerate) {
  return {{"start", enumerate.start}, {"field", enumerate.field}};
}

Result<RowDatasetPtr> make_enumerate(const Enumerate& enumerate, const StageSite& site) {
  TFD_TRY(check_new(site, "field", enumerate.field));
  return std::make_shared<EnumerateDataset>(site.input, enumerate);
}

}  // namespace

const StageKind<Enumerate>& kind_of(Tag<Enumerate>) {
  static constexpr StageKind<Enumerate> kKind{
      .name = "enumerate",
      .read = read_enumerate,
      .write = write_enumerate,
      .make = make_enumerate,
      .traits = [](const Enumerate&) -> StageTraits {
        return {.elements = ElementTrait::kKept, .batches = BatchTrait::kChanged, .needs_all_files = true};
      },
      .tensorflow_cardinality = same_cardinality,
  };
  return kKind;
}

}  // namespace tfd::data
