// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <random>

#include "kit.hpp"

using namespace tfd;
using namespace tfd::data;
using tensor::DType;
using tensor::Tensor;

namespace {

Plan plan_of(const std::string& text) {
  auto plan = parse_plan(nlohmann::ordered_json::parse(text));
  REQUIRE_MESSAGE(plan.has_value(), (plan ? std::string() : plan.error().message));
  return *std::move(plan);
}

/// Values at and between the ends of the allowed range.
class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  std::int64_t number(std::int64_t least, std::int64_t most) {
    const auto pick = std::uniform_int_distribution<int>(0, 9)(engine_);
    return pick == 0 ? least : pick == 1 ? most : std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }
  bool flag() { return number(0, 1) == 1; }
  std::string text() {
    static const std::vector<std::string> kTexts{"x", "a/b c", "\"quoted\" \n", "\u00e9", "[0].batch", "value"};
    return kTexts[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(kTexts.size()) - 1))];
  }
  DType dtype() { return flag() ? DType::kF32 : flag() ? DType::kS64 : flag() ? DType::kBool : DType::kBF16; }

  Stage source() {
    switch (number(0, 9)) {
      case 0:
        return CsvSource{text(), {csv_field("x"), csv_field("y.z")}, flag(), flag() ? ',' : ';', flag()};
      case 4:
        return JsonlSource{text(), {varying_field("x"), varying_field("y.z")}, flag()};
      case 5:
        return TextSource{files(), text()};
      case 6: {
        TfrecordSource records{text(), {}};
        records.skip_errors = flag();
        if (flag())
          records.field = text();
        else
          records.features = {feature("x"), feature("y/z")};
        return records;
      }
      case 7: {
        IdxSource idx{{npy_field("x")}, flag()};
        if (!idx.is_single) idx.fields.push_back(npy_field("y"));
        return idx;
      }
      case 8:
        return flag() ? NpzSource{text(), {}} : NpzSource{text(), {archive_field("x"), archive_field("y")}};
      case 9:
        return SafetensorsSource{text(), {archive_field("x")}};
      case 1: {
        NpySource npy{{npy_field("x")}, flag()};
        if (!npy.is_single) npy.fields.push_back(npy_field("y"));
        return npy;
      }
      case 2:
        return RangeSource{number(INT64_MIN, INT64_MAX), number(INT64_MIN, INT64_MAX), flag() ? 1 : INT64_MIN};
      default:
        return SlicesSource{{slices_field("value"), slices_field("b")}};
    }
  }
  Stage transformation() {
    switch (number(0, 22)) {
      case 8: {
        PaddedBatch batch{number(1, INT64_MAX), flag(), {}};
        if (flag()) batch.fields.push_back({"x", tensor::Shape{3, -1}, {}});
        if (flag()) batch.fields.push_back({"y.z", tensor::Shape{}, -0.5});
        return batch;
      }
      case 9:
        return Unbatch{};
      case 10:
        return Window{number(1, 1 << 20), number(1, INT64_MAX), number(1, 1 << 20), flag()};
      case 11:
        return Filter{text(), flag()};
      case 12:
        return Enumerate{number(INT64_MIN, INT64_MAX), text()};
      case 13:
        return Concatenate{inner_plans()};
      case 14:
        return Zip{inner_plans()};
      case 15: {
        Interleave interleave{inner_plans(), {}, number(1, INT64_MAX)};
        if (flag()) interleave.cycle_length = number(1, INT64_MAX);
        return interleave;
      }
      case 16:
        return flag() ? Cache{} : Cache{text()};
      case 17:
        return Map{text(), {text()}, number(1, 256), flag()};
      case 18:
        return Rebatch{{number(0, INT64_MAX), number(1, 9)}, flag()};
      case 19:
        return LegacyRebatch{number(1, INT64_MAX)};
      case 22:
        return WholeSteps{number(1, 4096), flag()};
      case 20: {
        WithOptions with;
        with.is_dynamic = flag();
        if (flag()) with.auto_shard = static_cast<AutoShardPolicy>(number(0, 4));
        return with;
      }
      case 21:
        if (flag()) return Shard{.by_hint = true};
        return PaddedBatch{number(1, INT64_MAX), false, {}, text()};
      case 0: {
        Shuffle shuffle{number(1, INT64_MAX), {}, flag()};
        if (flag()) shuffle.seed = static_cast<std::uint64_t>(number(INT64_MIN, INT64_MAX));
        return shuffle;
      }
      case 1:
        return flag() ? Repeat{} : Repeat{number(0, INT64_MAX)};
      case 2:
        return flag() ? Batch{number(1, INT64_MAX), flag()} : Batch{number(1, INT64_MAX), false, text()};
      case 3:
        return flag() ? Map{text(), {}} : Map{text(), {text(), text()}};
      case 4:
        return Take{number(0, INT64_MAX)};
      case 5:
        return Skip{number(0, INT64_MAX)};
      case 6: {
        const std::int64_t count = number(1, INT64_MAX);
        return Shard{count, number(0, count - 1), false, flag()};
      }
      default:
        return Prefetch{number(1, INT64_MAX)};
    }
  }

 private:
  FileList files() {
    FileList files(text());
    if (flag()) files.paths.push_back(text());
    if (flag()) files.cycle_length = number(2, INT64_MAX), files.block_length = number(1, INT64_MAX);
    if (flag()) files.shard = {5, number(0, 4), false, flag()};
    return files;
  }
  CsvField csv_field(const char* name) {
    const tensor::Shape shape = flag() ? tensor::Shape{} : flag() ? tensor::Shape{3} : tensor::Shape{1, 2, 1};
    return {{name, dtype(), shape}, number(0, (1 << 24) - 3)};
  }
  NpyField npy_field(const char* name) {
    NpyField field{name, text()};
    if (flag()) field.dtype = dtype();
    if (flag()) field.shape = flag() ? tensor::Shape{} : tensor::Shape{0, 7};
    return field;
  }
  FieldSpec varying_field(const char* name) {
    return {name, dtype(), flag() ? tensor::Shape{} : flag() ? tensor::Shape{-1, 2} : tensor::Shape{3}};
  }
  ExampleFeature feature(const char* name) {
    ExampleFeature feature{varying_field(name)};
    if (flag() && feature.spec.shape == tensor::Shape{3}) feature.fallback = Tensor::zeros(feature.spec.dtype, {3});
    return feature;
  }
  ArchiveField archive_field(const char* name) {
    ArchiveField field{name, text()};
    if (flag()) field.dtype = dtype();
    if (flag()) field.shape = tensor::Shape{0, 7};
    return field;
  }
  std::vector<Plan> inner_plans() {
    std::vector<Plan> plans;
    for (auto left = number(1, 3); left > 0; --left) plans.push_back({{source(), Take{number(0, 5)}}});
    return plans;
  }
  SlicesField slices_field(const char* name) {
    if (flag()) return flag() ? SlicesField{name, {}, text()} : SlicesField{name, {}, text(), flag() ? text() : ""};
    if (flag()) return {name, Tensor::zeros(dtype(), flag() ? tensor::Shape{0, 3} : tensor::Shape{2, 0})};
    Tensor rows = Tensor::uninitialized(DType::kF32, {4, 1});
    float* to = rows.mutable_as<float>();
    to[0] = 0.1F;
    to[1] = std::numeric_limits<float>::denorm_min();
    to[2] = -std::numeric_limits<float>::infinity();
    to[3] = static_cast<float>(number(-1000, 1000)) / 7;
    return {name, std::move(rows)};
  }

  std::mt19937_64 engine_;
};

}  // namespace

TEST_CASE("plan: what is written of one is parsed to the same, whatever it was rewritten to") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    Plan plan{{draw.source()}};
    for (auto left = draw.number(0, 5); left > 0; --left) plan.stages.push_back(draw.transformation());
    for (const Plan& one : {plan, shard(plan, Shard{5, 3})}) {
      const std::string text = to_json(one).dump();
      CAPTURE(text);
      const auto again = parse_plan(nlohmann::ordered_json::parse(text));
      REQUIRE_MESSAGE(again.has_value(), (again ? std::string() : again.error().message));
      CHECK(*again == one);
      CHECK(to_json(*again).dump() == text);
    }
  }
}

TEST_CASE("plan: forms that mean the same are the same plan") {
  CHECK(plan_of(R"([{"range": 4}, {"batch": 2}])") == plan_of(R"([{"range": [0, 4, 1]}, {"batch": {"size": 2}}])"));
  CHECK(plan_of(R"([{"range": 4}, {"repeat": -1}])") == plan_of(R"([{"range": 4}, {"repeat": {}}])"));
  CHECK(plan_of(R"([{"tensor_slices": [1, 2]}])") == plan_of(R"([{"tensor_slices": {"fields": {"value": [1, 2]}}}])"));
  CHECK_FALSE(plan_of(R"([{"tensor_slices": [1, 2]}])") == plan_of(R"([{"tensor_slices": [1, 3]}])"));
  CHECK_FALSE(plan_of(R"([{"tensor_slices": [1, 2]}])") == plan_of(R"([{"tensor_slices": {"npy": "x.npy"}}])"));
}

TEST_CASE("plan: a shard comes before maps and prefetches at the end, and its elements are the same") {
  int calls = 0;
  DatasetContext context;
  context.find_function = [&](const std::string&, const ElementSpec& input,
                              const std::vector<std::string>&) -> Result<MapFunction> {
    return MapFunction{input, [&](const Element& element) -> Result<Element> {
                         ++calls;
                         return element;
                       }};
  };
  const Plan plan = plan_of(
      R"([{"range": 100}, {"map": {"function": "f"}}, {"batch": 2}, {"map": {"function": "f"}}, {"prefetch": 3}])");
  const Plan third = shard(plan, Shard{5, 2});
  REQUIRE(third.stages.size() == 6);
  CHECK(third.stages[3] == Stage(Shard{5, 2}));
  Plan behind = plan;
  behind.stages.emplace_back(Shard{5, 2});
  const auto elements = drain(*instantiate(behind, context)).elements;
  CHECK(calls == 100 + 50);
  calls = 0;
  CHECK(drain(*instantiate(third, context)).elements == elements);
  CHECK(calls == 100 + 10);
  CHECK(std::holds_alternative<Shard>(shard(plan_of(R"([{"range": 4}, {"shuffle": 4}])"), Shard{2, 0}).stages.back()));
}

TEST_CASE("plan: pipelines of one file share what one has decoded") {
  const TemporaryDirectory directory;
  directory.write("d.csv", "1\n2\n3\n");
  SharedSources sources;
  DatasetContext context = directory.context();
  context.sources = &sources;
  const std::string csv = R"([{"csv": {"path": "d.csv", "fields": {"x": {"columns": 0}}}})";
  CHECK(values_of(csv + R"(, {"take": 2}])", context) == Numbers{1, 2});
  CHECK(values_of(csv + R"(, {"skip": 2}])", context) == Numbers{3});
  CHECK(sources.made.size() == 1);
  CHECK(values_of(R"([{"csv": {"path": "d.csv", "fields": {"x": {"columns": 0, "dtype": "s32"}}}}])", context).size() ==
        3);
  CHECK(sources.made.size() == 2);
}

TEST_CASE("plan: a file of rows is read where the dataset is made") {
  const Plan plan = plan_of(R"([{"tensor_slices": {"fields": {"x": {"npy": "nope.npy"}, "y": [1]}}}])");
  const auto made = instantiate(plan, {.directory = "/nowhere"});
  REQUIRE_FALSE(made);
  CHECK(made.error().message.starts_with("[0].tensor_slices.fields.x: "));
  CHECK(made.error().message.find("/nowhere/nope.npy") != std::string::npos);
  CHECK(error_of(R"([{"tensor_slices": {"npy": 3}}])").message == "[0].tensor_slices: 'npy' must be a string");
}

TEST_CASE("plan: one that doesn't begin with its source makes nothing") {
  for (const Plan& plan : {Plan{}, Plan{{Batch{2}}}, Plan{{RangeSource{0, 4}, RangeSource{0, 4}}}})
    CHECK(instantiate(plan, {}).error().code == Code::kInvalidArgument);
}
