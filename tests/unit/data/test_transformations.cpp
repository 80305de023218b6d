// SPDX-License-Identifier: Apache-2.0
//
// Examples of tf.data's documentation for its transformations, and refused ones.
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "random_pipelines.hpp"

using namespace tfd;
using namespace tfd::data;
using tensor::DType;

namespace {

std::vector<Numbers> elements_of(const std::string& pipeline, const DatasetContext& context = {}) {
  const Drained drained = drain(dataset_of(pipeline, context));
  REQUIRE_MESSAGE(!drained.error.has_value(), (drained.error ? drained.error->message : std::string()));
  return drained.elements;
}

std::string wrong(const std::string& pipeline, const DatasetContext& context = {}) {
  return error_of(pipeline, context).message;
}

// "odd" fails on multiples of 5; "wide" makes two bools.
DatasetContext with_functions(std::vector<std::string>* skipped = nullptr) {
  DatasetContext context;
  context.find_function = [](const std::string& name, const ElementSpec&,
                             const std::vector<std::string>& fields) -> Result<MapFunction> {
    if (name == "wide") return MapFunction{{{fields[0], DType::kBool, {2}}}, {}};
    return MapFunction{{{fields[0], DType::kBool, {}}}, [](const Element& element) -> Result<Element> {
                         const double value = number_at(element[0], 0);
                         if (std::fmod(value, 5) == 0) return fail(Code::kInvalidArgument, "{} is not liked", value);
                         const bool is_odd = std::fmod(value, 2) != 0;
                         return Element{tensor::Tensor::scalar<std::uint8_t>(DType::kBool, is_odd ? 1 : 0)};
                       }};
  };
  if (skipped != nullptr) context.skipped = [=](const Error& error) { skipped->push_back(error.message); };
  return context;
}

}  // namespace

TEST_CASE("concatenate: datasets behind one another, and what their elements have in common") {
  CHECK(values_of(R"([{"range": [1, 4]}, {"concatenate": [{"range": [4, 8]}]}])") == Numbers{1, 2, 3, 4, 5, 6, 7});
  const auto three = dataset_of(R"([{"range": 2}, {"concatenate": [[{"range": 0}], [{"range": 3}, {"skip": 1}]]}])");
  CHECK(drain(three).flat() == Numbers{0, 1, 1, 2});
  CHECK(three->cardinality() == 4);
  const auto mixed = dataset_of(R"([{"tensor_slices": [[1, 2]]}, {"concatenate": [{"tensor_slices": [[3, 4, 5]]}]}])");
  CHECK(mixed->spec()[0].shape == tensor::Shape{-1});
  CHECK(drain(mixed).elements == std::vector<Numbers>{{1, 2}, {3, 4, 5}});
  CHECK(wrong(R"([{"range": 2}, {"concatenate": [{"tensor_slices": [1]}]}])") ==
        "[1].concatenate: field 'value' is s64[] here and s32[] there");
  CHECK(wrong(R"([{"range": 2}, {"concatenate": [{"range": 2}, {"enumerate": {}}]}])") ==
        "[1].concatenate: elements of 1 field(s) and of 2");
  CHECK(wrong(R"([{"range": 2}, {"concatenate": [{"text": {"path": "/nowhere/a"}}]}])")
            .starts_with("[1].concatenate[0].text.path: "));
  CHECK(wrong(R"([{"range": 2}, {"concatenate": [[{"range": 1}], [{"batch": 1}]]}])")
            .starts_with("[1].concatenate[1][0].batch: a pipeline starts with a source"));
  CHECK(wrong(R"([{"range": 2}, {"concatenate": []}])").starts_with("[1].concatenate: a dataset must be a list"));
}

TEST_CASE("zip: fields beside one another, as long as the shortest lasts") {
  const auto dataset =
      dataset_of(R"([{"range": [1, 4]}, {"zip": [{"tensor_slices": {"fields": {"y": [4, 5, 6, 7]}}}]}])");
  CHECK(dataset->spec() == ElementSpec{{"value", DType::kS64, {}}, {"y", DType::kS32, {}}});
  CHECK(dataset->cardinality() == 3);
  const auto iterator = dataset->iterate().value();
  const Elements all = rest_of(*iterator, dataset->spec());
  REQUIRE(all.size() == 3);
  CHECK(all[2].at("value").numbers == Numbers{3});
  CHECK(all[2].at("y").numbers == Numbers{6});
  CHECK(dataset_of(R"([{"range": 3}, {"repeat": {}}, {"zip": [{"range": 1}, {"enumerate": {}}, {"repeat": {}},
      {"map": {"function": "odd", "fields": ["z"]}}]}])",
                   with_functions())
            ->cardinality() == Dataset::kInfinite);
  CHECK(wrong(R"([{"range": 2}, {"zip": [{"range": 2}]}])") == "[1].zip: two datasets have a field 'value'");
}

TEST_CASE("zip and concatenate: datasets that shuffle without a seed don't share an order") {
  const std::string shuffled = R"({"range": 100}, {"shuffle": 100})";
  const auto dataset = dataset_of("[" + shuffled + R"(, {"concatenate": [)" + shuffled + "]}]");
  const auto iterator = dataset->iterate(Order{.seeds = ShuffleSeeds{1, 2}}).value();
  const Numbers all = drain(*iterator).flat();
  REQUIRE(all.size() == 200);
  CHECK_FALSE(std::equal(all.begin(), all.begin() + 100, all.begin() + 100));
  CHECK(drain(*dataset->iterate(Order{.seeds = ShuffleSeeds{1, 2}}).value()).flat() == all);
}

TEST_CASE("interleave: tf.data's own example, and fewer at a time than there are") {
  const auto six = [](int value) {
    return fmt::format(R"([{{"range": [{}, {}]}}, {{"repeat": 6}}])", value, value + 1);
  };
  const std::string pipeline = fmt::format(
      R"([{{"range": [1, 2]}}, {{"repeat": 6}}, {{"interleave": {{"datasets": [{}, {}, {}, {}], "cycle_length": 2,
                   "block_length": 4}}}}])",
      six(2), six(3), six(4), six(5));
  CHECK(values_of(pipeline) ==
        Numbers{1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5});
  CHECK(dataset_of(pipeline)->cardinality() == 30);
  CHECK(values_of(R"([{"range": 3}, {"interleave": [{"range": [10, 12]}]}])") == Numbers{0, 10, 1, 11, 2});
  CHECK(wrong(R"([{"range": 3}, {"interleave": {"datasets": [{"range": 1}], "block_length": 0}}])") ==
        "[1].interleave.block_length: must be positive, not 0");
  CHECK(wrong(R"([{"range": 3}, {"interleave": [{"range": "x"}]}])").starts_with("[1].interleave.datasets[0].range: "));
}

TEST_CASE("window: as many as tf.data makes of seven") {
  CHECK(elements_of(R"([{"range": 7}, {"window": 3}])") == std::vector<Numbers>{{0, 1, 2}, {3, 4, 5}, {6}});
  CHECK(elements_of(R"([{"range": 7}, {"window": {"size": 3, "shift": 1, "drop_remainder": true}}])") ==
        std::vector<Numbers>{{0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 5}, {4, 5, 6}});
  CHECK(elements_of(R"([{"range": 7}, {"window": {"size": 3, "shift": 1, "stride": 2, "drop_remainder": true}}])") ==
        std::vector<Numbers>{{0, 2, 4}, {1, 3, 5}, {2, 4, 6}});
  CHECK(elements_of(R"([{"range": 7}, {"window": {"size": 2, "shift": 3}}])") ==
        std::vector<Numbers>{{0, 1}, {3, 4}, {6}});
  const auto window = dataset_of(R"([{"range": 7}, {"window": {"size": 3, "shift": 1, "drop_remainder": true}}])");
  CHECK(window->spec()[0].shape == tensor::Shape{3});
  CHECK(window->cardinality() == 5);
  CHECK(wrong(R"([{"range": 7}, {"window": {"size": 4611686018427387904, "stride": 4}}])") ==
        "[1].window.size: reaches over too many elements");
}

TEST_CASE("padded_batch: to the largest of the batch, or to a stated shape, with a stated value") {
  const PipelineWorld world;
  const auto context = world.context();
  const std::string text = R"([{"text": {"path": "lines.txt"}}, {"take": 4}, )";
  const auto dataset = dataset_of(text + R"({"padded_batch": 3}])", context);
  CHECK(dataset->spec()[0].shape == tensor::Shape{-1, -1});
  CHECK(elements_of(text + R"({"padded_batch": 3}])", context) ==
        std::vector<Numbers>{{'a', 0, 0, 0, 0, 0, 'b', 'c', 'd'}, {'e', 'f', 'g', 'h', 'i', 'j', 'k'}});
  const auto fixed = dataset_of(text + R"({"padded_batch": {"size": 2, "drop_remainder": true,
      "padded_shapes": {"value": [7]}, "padding_values": {"value": 32}}}])",
                                context);
  CHECK(fixed->spec()[0].shape == tensor::Shape{2, 7});
  CHECK(drain(fixed).elements[0] == Numbers{'a', 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32});
  const Drained small =
      drain(dataset_of(text + R"({"padded_batch": {"size": 2, "padded_shapes": {"value": [5]}}}])", context));
  CHECK(small.elements.size() == 1);
  CHECK(small.error->message == "padded_batch: batch 1: row 1: field 'value' has 7 in dimension 0, more than 5");
  CHECK(wrong(text + R"({"padded_batch": {"size": 2, "padded_shapes": {"value": [2, 2]}}}])", context) ==
        "[2].padded_batch.padded_shapes.value: string is padded to no [2, 2]");
  CHECK(wrong(text + R"({"padded_batch": {"size": 2, "padding_values": {"value": 300}}}])", context)
            .starts_with("[2].padded_batch.padding_values.value: "));
  CHECK(wrong(text + R"({"padded_batch": {"size": 2, "padding_values": {"x": 3}}}])", context) ==
        "[2].padded_batch: the elements have no field 'x'");
}

TEST_CASE("unbatch: rows of batches, and batches whose fields don't agree") {
  CHECK(elements_of(R"([{"range": 5}, {"batch": 2}, {"unbatch": {}}])") ==
        std::vector<Numbers>{{0}, {1}, {2}, {3}, {4}});
  CHECK(dataset_of(R"([{"tensor_slices": [[1, 2, 3], [4, 5, 6]]}, {"unbatch": {}}])")->cardinality() == 6);
  CHECK(values_of(
            R"([{"tensor_slices": {"dtype": "f32", "shape": [1, 0], "data": []}}, {"repeat": {}}, {"unbatch": {}}])")
            .empty());
  CHECK(wrong(R"([{"range": 5}, {"unbatch": {}}])") == "[1].unbatch: field 'value' is a scalar: not of a batch");
  CHECK(wrong(R"([{"tensor_slices": {"fields": {"x": [[1, 2]], "y": [[1]]}}}, {"unbatch": {}}])") ==
        "[1].unbatch: field 'y' has 1 rows, but 'x' has 2");
}

TEST_CASE("enumerate: numbers from the start, in a field of their own") {
  const auto dataset = dataset_of(R"([{"tensor_slices": [7, 8]}, {"enumerate": {"start": 5, "field": "n"}}])");
  CHECK(dataset->spec() == ElementSpec{{"n", DType::kS64, {}}, {"value", DType::kS32, {}}});
  CHECK(drain(dataset).flat() == Numbers{5, 6});
  CHECK(wrong(R"([{"range": 5}, {"enumerate": {"field": "value"}}])") ==
        "[1].enumerate.field: the elements have a field 'value' already");
}

TEST_CASE("filter and map: an error says which element it was; where it is skipped it is reported") {
  std::vector<std::string> skipped;
  const auto context = with_functions(&skipped);
  const std::string range = R"([{"range": [1, 12]}, )";
  for (const char* stage :
       {R"({"filter": {"function": "odd"}}])", R"({"map": {"function": "odd", "fields": ["y"]}}])"}) {
    const Drained drained = [&] {
      const auto iterator = dataset_of(range + stage, context)->iterate().value();
      Drained out;
      for (int i = 0; i < 5 && !out.error; ++i) {
        const auto element = iterator->next();
        if (element)
          out.elements.push_back(numbers_of((**element)[0]));
        else
          out.error = element.error();
      }
      return out;
    }();
    CHECK(drained.error->message.ends_with("'odd': element 4: 5 is not liked"));
  }
  CHECK(elements_of(range + R"({"filter": {"function": "odd", "on_error": "skip"}}])", context) ==
        std::vector<Numbers>{{1}, {3}, {7}, {9}, {11}});
  CHECK(skipped == std::vector<std::string>{"filter 'odd': element 4: 5 is not liked",
                                            "filter 'odd': element 9: 10 is not liked"});
  const auto map = dataset_of(range + R"({"map": {"function": "odd", "fields": ["y"], "on_error": "skip"}}])", context);
  CHECK_FALSE(map->cardinality());
  CHECK(drain(map).flat() == Numbers{1, 0, 1, 0, 0, 1, 0, 1, 1});
  // The number is that of the element in its pass, also where it was passed over before.
  const auto iterator =
      dataset_of(R"([{"range": [1, 12]}, {"map": {"function": "odd", "fields": ["y"]}}])", context)->iterate().value();
  CHECK(iterator->skip(9).value() == 9);
  CHECK(iterator->next().error().message == "map 'odd': element 9: 10 is not liked");
  CHECK(wrong(range + R"({"filter": {"function": "wide"}}])", context) ==
        "[1].filter.function: 'wide' makes bool[2], but a filter's makes one bool");
  CHECK(wrong(range + R"({"filter": {"function": "odd"}}])") == "[1].filter: functions can't be called here");
}

// Calls of the function wait until as many run: alone none would go on.
TEST_CASE("map: several elements at a time, which stay in their order, as errors do") {
  constexpr int kTogether = 3;
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0;
  bool have_met = false;
  DatasetContext context;
  std::vector<std::string> skipped;
  context.skipped = [&](const Error& error) { skipped.push_back(error.message); };
  context.find_function = [&](const std::string&, const ElementSpec& input,
                              const std::vector<std::string>&) -> Result<MapFunction> {
    return MapFunction{input, [&](const Element& element) -> Result<Element> {
                         std::unique_lock lock(mutex);
                         have_met = have_met || ++inside == kTogether;
                         changed.notify_all();
                         CHECK(changed.wait_for(lock, std::chrono::seconds(20), [&] { return have_met; }));
                         const auto value = element[0].as<std::int64_t>()[0];
                         if (value % 10 == 7) return fail(Code::kInvalidArgument, "{} is not liked", value);
                         return Element{tensor::Tensor::scalar(DType::kS64, value * 2)};
                       }};
  };
  const std::string range = R"([{"range": 40}, )";
  Numbers expected;
  for (int i = 0; i < 40; ++i)
    if (i % 10 != 7) expected.push_back(2 * i);
  CHECK(
      drain(dataset_of(range + R"({"map": {"function": "f", "parallel": 3, "on_error": "skip"}}])", context)).flat() ==
      expected);
  CHECK(skipped ==
        std::vector<std::string>{"map 'f': element 7: 7 is not liked", "map 'f': element 17: 17 is not liked",
                                 "map 'f': element 27: 27 is not liked", "map 'f': element 37: 37 is not liked"});
  const auto strict = dataset_of(range + R"({"map": {"function": "f", "parallel": 3}}])", context);
  const auto drained = drain(strict);
  CHECK(drained.flat() == Numbers{0, 2, 4, 6, 8, 10, 12});
  CHECK(drained.error->message == "map 'f': element 7: 7 is not liked");
  const auto iterator = strict->iterate().value();
  CHECK(iterator->skip(8).value() == 8);
  CHECK((*iterator->next().value())[0].as<std::int64_t>()[0] == 16);
  CHECK(iterator->skip(2).value() == 2);  // of those that are made ahead
  CHECK((*iterator->next().value())[0].as<std::int64_t>()[0] == 22);
  CHECK(strict->iterate().value()->next());  // ends with others under way
  CHECK(wrong(R"([{"range": 3}, {"map": {"function": "f", "parallel": 0}}])") ==
        "[1].map.parallel: must be positive, not 0");
  CHECK(wrong(R"([{"range": 3}, {"map": {"function": "f", "parallel": 999}}])") ==
        "[1].map.parallel: must be at most 256");
}

// The order decides on a shuffle's first elements in a pass.
TEST_CASE("repeat: passes that a filter leaves more or less of are skipped one by one") {
  DatasetContext context;
  context.find_function = [&](const std::string&, const ElementSpec&, const std::vector<std::string>&) {
    return Result<MapFunction>(MapFunction{{{"keep", DType::kBool, {}}}, [](const Element& element) -> Result<Element> {
                                             tensor::Tensor keep = tensor::Tensor::uninitialized(DType::kBool, {});
                                             keep.mutable_as<std::uint8_t>()[0] =
                                                 element[0].as<std::int64_t>()[0] < 3 ? 1 : 0;
                                             return Element{keep};
                                           }});
  };
  for (int seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const auto dataset =
        dataset_of(fmt::format(R"([{{"range": 12}}, {{"shuffle": {{"buffer": 12, "seed": {}}}}}, {{"take": 4}},
        {{"filter": {{"function": "keep"}}}}, {{"repeat": 9}}])",
                               seed),
                   context);
    const auto all = drain(dataset).flat();
    for (std::size_t position = 0; position <= all.size(); ++position) {
      const auto iterator = dataset->iterate().value();
      CHECK(iterator->skip(static_cast<std::int64_t>(position)).value() == static_cast<std::int64_t>(position));
      const auto next = iterator->next().value();
      CHECK(next.has_value() == (position < all.size()));
      if (next) CHECK((*next)[0].as<std::int64_t>()[0] == all[position]);
    }
    CHECK(dataset->iterate().value()->skip(std::ssize(all) + 5).value() == std::ssize(all));
  }
}

TEST_CASE("counts_by_content: filters and maps that skip, wherever they are") {
  const auto counts = [](const std::string& pipeline) {
    return counts_by_content(parse_plan(nlohmann::ordered_json::parse(pipeline)).value());
  };
  CHECK_FALSE(counts(R"([{"range": 3}, {"map": {"function": "f"}}])"));
  CHECK(counts(R"([{"range": 3}, {"map": {"function": "f", "on_error": "skip"}}])"));
  CHECK(counts(R"([{"range": 3}, {"zip": [[{"range": 3}], [{"range": 3}, {"filter": {"function": "f"}}]]}])"));
}

TEST_CASE("pipelines within pipelines have an end") {
  std::string deep = R"([{"range": 1}])";
  for (int i = 0; i < 40; ++i) deep = R"([{"range": 1}, {"concatenate": )" + deep + "}]";
  CHECK(wrong(deep).ends_with("pipelines within 32 others"));
}

TEST_CASE("cache: the first whole pass is the last that looks at the input") {
  const TemporaryDirectory directory;
  for (const std::string cache : {R"({"cache": {}})", R"({"cache": {"path": "c"}})"}) {
    directory.write("a.csv", "1\n2\n3\n");
    const std::string pipeline = R"([{"csv": {"path": "a.csv", "fields": {"x": {"columns": 0}}}}, )" + cache + "]";
    const auto dataset = dataset_of(pipeline, directory.context());
    CHECK(drain(dataset, 2).elements.size() == 2);  // not whole: nothing is kept
    CHECK(directory.names().size() == 1);
    directory.write("a.csv", "4\n5\n");
    CHECK(drain(dataset).flat() == Numbers{4, 5});
    directory.write("a.csv", "6\n");
    CHECK(drain(dataset).flat() == Numbers{4, 5});
    // Elements that were passed over are in no cache.
    const auto fresh = dataset_of(pipeline, directory.context());
    const auto iterator = fresh->iterate().value();
    const bool is_file = cache.find("path") != std::string::npos;
    CHECK(iterator->skip(1).value() == 1);
    CHECK(drain(*iterator).flat() == (is_file ? Numbers{5} : Numbers{}));
    CHECK(drain(fresh).flat() == (is_file ? Numbers{4, 5} : Numbers{6}));
  }
}

TEST_CASE("cache: a file of another pipeline, and a damaged one, are errors that name it") {
  const TemporaryDirectory directory;
  const auto context = directory.context();
  const std::string pipeline = R"([{"range": 3}, {"cache": {"path": "c"}}])";
  CHECK(values_of(pipeline, context) == Numbers{0, 1, 2});
  CHECK(directory.names() == std::vector<std::string>{"c"});
  const auto other = dataset_of(R"([{"range": 4}, {"cache": {"path": "c"}}])", context)->iterate();
  REQUIRE_FALSE(other);
  CHECK(other.error().message == directory / "c is the cache of another pipeline: remove it");
  std::ifstream file(directory / "c", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    CAPTURE(at);
    std::string broken = bytes;
    broken[at] = static_cast<char>(broken[at] ^ 1);
    directory.write("c", broken);
    const auto iterator = dataset_of(pipeline, context)->iterate();
    const auto error = iterator ? drain(**iterator).error : std::optional(iterator.error());
    REQUIRE(error);
    CHECK(error->message.find(directory / "c") != std::string::npos);
    directory.write("c", bytes.substr(0, at));
    const auto cut = dataset_of(pipeline, context)->iterate();
    CHECK((!cut || drain(**cut).error));
  }
}
