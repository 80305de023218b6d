// SPDX-License-Identifier: Apache-2.0
//
// Distributed datasets: rebatched, sharded by files and elements, filled up with a mask. The golden sets have
// TensorFlow's.
#include "tfd/data/distribute.hpp"

#include "kit.hpp"

using namespace tfd;
using namespace tfd::data;

namespace {

Plan parsed(const std::string& text) { return parse_plan(nlohmann::ordered_json::parse(text)).value(); }

std::vector<Numbers> all_elements(const Plan& plan, const DatasetContext& context = {}) {
  const auto made = instantiate(plan, context);
  REQUIRE_MESSAGE(made.has_value(), (made ? std::string() : made.error().message));
  const Drained drained = drain(*made);
  REQUIRE_MESSAGE(!drained.error.has_value(), (drained.error ? drained.error->message : std::string()));
  return drained.elements;
}

/// The elements of all workers, one after the other, of a plan whose policy gives each of them elements of its own.
std::vector<Numbers> read_by_all(const Plan& plan, std::int64_t workers, std::int64_t replicas,
                                 const DatasetContext& context) {
  const auto spec = instantiate(with_hint(plan, {}), context).value()->spec();
  std::vector<Numbers> all;
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    const auto input = input_of(plan, spec, {workers, worker, replicas}).value();
    REQUIRE_FALSE(input.shares_rows);
    for (Numbers& element : all_elements(input.plan, context)) all.push_back(std::move(element));
  }
  return all;
}

Numbers in_order(const std::vector<Numbers>& elements) {
  Numbers all;
  for (const Numbers& element : elements) all.insert(all.end(), element.begin(), element.end());
  std::ranges::sort(all);
  return all;
}

}  // namespace

TEST_CASE("rebatch: a size of 0 is a batch without rows, until a positive one finds nothing") {
  const auto rebatched = [](const std::string& source, const std::string& sizes) {
    return drain(dataset_of("[" + source + R"(, {"rebatch": )" + sizes + "}]")).elements;
  };
  const std::string two = R"({"range": 2}, {"batch": 2})", four = R"({"range": 4}, {"batch": 2})";
  CHECK(rebatched(two, "[2, 0, 1]") == std::vector<Numbers>{{0, 1}, {}});
  CHECK(rebatched(four, "[3, 0]") == std::vector<Numbers>{{0, 1, 2}, {}, {3}});
  CHECK(rebatched(four, R"({"sizes": [3, 0], "drop_remainder": true})") == std::vector<Numbers>{{0, 1, 2}, {}});
  CHECK(rebatched(R"({"range": 0}, {"batch": 3})", "[0, 1]") == std::vector<Numbers>{{}});
  CHECK(rebatched(four, "3") == std::vector<Numbers>{{0, 1, 2}, {3}});
  const std::string full = R"({"range": 8}, {"batch": {"size": 4, "drop_remainder": true}})";
  CHECK(dataset_of("[" + full + R"(, {"rebatch": [2, 2]}])")->spec()[0].shape == tensor::Shape{2});
  CHECK(dataset_of("[" + full + R"(, {"rebatch": [3, 3]}])")->spec()[0].shape == tensor::Shape{-1});
  CHECK(dataset_of("[" + full + R"(, {"legacy_rebatch": 4}])")->spec()[0].shape == tensor::Shape{1});
  CHECK(error_of(R"([{"range": 4}, {"rebatch": [2]}])").message.starts_with("[1].rebatch: field 'value' is a scalar"));
  CHECK(error_of(R"([{"range": 4}, {"batch": 2}, {"rebatch": [0, 0]}])").message ==
        "[2].rebatch.sizes: must be a list of sizes, at least one of which is positive");
}

TEST_CASE("rebatch: what is skipped is what would have come") {
  for (const char* stage : {R"({"rebatch": [2, 0, 3]})", R"({"rebatch": {"sizes": [4, 1], "drop_remainder": true}})",
                            R"({"legacy_rebatch": 3})"}) {
    const auto dataset = dataset_of(R"([{"range": 23}, {"batch": 4}, )" + std::string(stage) + "]");
    const auto all = drain(dataset).elements;
    for (std::size_t position = 0; position <= all.size(); ++position) {
      const auto iterator = dataset->iterate().value();
      CHECK(iterator->skip(static_cast<std::int64_t>(position)).value() == static_cast<std::int64_t>(position));
      CHECK(drain(*iterator).elements ==
            std::vector<Numbers>(all.begin() + static_cast<std::ptrdiff_t>(position), all.end()));
    }
    CHECK(dataset->iterate().value()->skip(1000).value() == std::ssize(all));
  }
}

TEST_CASE("batch: a last one that is filled up says so in its mask") {
  const auto dataset =
      dataset_of(R"([{"range": 5}, {"batch": {"size": 4, "pad_remainder": true, "mask": "is_real"}}])");
  REQUIRE(dataset->spec().size() == 2);
  CHECK(dataset->spec()[1] ==
        FieldSpec{.name = "is_real", .dtype = tensor::DType::kF32, .shape = {4}, .is_mask = true});
  CHECK(dataset->spec()[0].shape == tensor::Shape{4});
  const auto iterator = dataset->iterate().value();
  CHECK(numbers_of(iterator->next().value()->at(1)) == Numbers{1, 1, 1, 1});
  const Element last = *iterator->next().value();
  CHECK(numbers_of(last[0]) == Numbers{4, 4, 4, 4});
  CHECK(numbers_of(last[1]) == Numbers{1, 0, 0, 0});
  CHECK_FALSE(iterator->next().value());
  CHECK(error_of(R"([{"range": 5}, {"batch": {"size": 4, "pad_remainder": true, "mask": "value"}}])").message ==
        "[1].batch.mask: the elements have a field 'value' already");
  CHECK(error_of(R"([{"range": 5}, {"batch": {"size": 4, "pad_remainder": true, "drop_remainder": true}}])").code ==
        Code::kInvalidArgument);
  CHECK(error_of(R"([{"range": 5}, {"batch": {"size": 4000000000000, "pad_remainder": true}}])").code ==
        Code::kInvalidArgument);
}

TEST_CASE("shard: one by hint needs who knows; one that requires all says what there is") {
  CHECK(error_of(R"([{"range": 4}, {"shard": "hint"}])").code == Code::kFailedPrecondition);
  const auto shard = [](int index) {
    return fmt::format(R"([{{"range": 2}}, {{"shard": {{"count": 4, "index": {}, "require_non_empty": true}}}}])",
                       index);
  };
  const Drained second = drain(dataset_of(shard(1)));
  REQUIRE(second.error);
  CHECK(
      second.error->message.starts_with("shard 2 of 4 has something, but not each of them: there is only 2 elements"));
  CHECK(drain(dataset_of(shard(2))).flat().empty());
  TemporaryDirectory directory;  // Source: tf.data's take(0), which doesn't read
  directory.write("a.txt", "a");
  const Plan one = parse_plan(nlohmann::ordered_json::parse(R"([{"text": {"path": "a.txt"}}, {"take": 0}])")).value();
  const auto none = instantiate(auto_shard(one, {3, 0}, AutoShardPolicy::kFile).value(), directory.context());
  CHECK(drain(none.value()).flat().empty());
}

TEST_CASE("files: a list of paths in its order, and a shard of the files") {
  const TemporaryDirectory directory;
  for (const char* name : {"a", "b", "c"}) directory.write(std::string(name) + ".txt", name);
  const auto bytes = [&](const std::string& options) {
    return values_of(R"([{"text": {"path": )" + options + "}}]", directory.context());
  };
  CHECK(bytes(R"(["c.txt", "a.txt"])") == Numbers{'c', 'a'});
  CHECK(bytes(R"(["c.txt", "[ab].txt"])") == Numbers{'c', 'a', 'b'});
  CHECK(bytes(R"("*.txt", "shard": {"count": 2, "index": 0})") == Numbers{'a', 'c'});
  CHECK(bytes(R"("*.txt", "shard": {"count": 9, "index": 5})").empty());
  CHECK(error_of(R"([{"text": {"path": []}}])").message == "[0].text.path: must be a path, or a list of paths");
  CHECK(error_of(R"([{"text": {"path": "a", "shard": {"count": 2, "index": 2}}}])").message ==
        "[0].text.shard.index: must be between 0 and 1, for there are 2 shards");
}

TEST_CASE("distribute: by default every row is somebody's once, by whatever policy, however uneven the files") {
  const TemporaryDirectory directory;
  for (int file = 0; file < 5; ++file) {
    std::string rows;
    for (int row = 0; row < 1 + file * file; ++row) rows += std::to_string(100 * file + row) + "\n";
    directory.write(fmt::format("{}.csv", file), rows);
  }
  const std::string csv = R"([{"csv": {"path": "*.csv", "fields": {"x": {"columns": 0}}}})";
  const Numbers all = in_order(all_elements(parsed(csv + "]"), directory.context()));
  for (const std::int64_t workers : {2, 3, 7})
    for (const std::int64_t replicas : {1, 3}) {
      const Plan by_file = parsed(csv + R"(, {"batch": 8}, {"options": {"auto_shard": "file"}}])");
      CHECK(in_order(read_by_all(by_file, workers, replicas, directory.context())) == all);
      const Plan by_hint = parsed(csv + R"(, {"shard": "hint"}, {"batch": 8}, {"options": {"auto_shard": "hint"}}])");
      CHECK(in_order(read_by_all(by_hint, workers, replicas, directory.context())) == all);
      for (const char* policy : {"auto", "data"}) {
        const Plan plan = parsed(csv + R"(, {"batch": 8}, {"options": {"auto_shard": ")" + policy + R"("}}])");
        CHECK(input_of(plan, {{"x", tensor::DType::kF32, {-1}}}, {workers, 1, replicas}).value().shares_rows);
      }
      // Workers that make steps of their own.
      Numbers parts;
      for (std::int64_t worker = 0; worker < workers; ++worker)
        for (const Numbers& element : all_elements(part_of(by_file, {workers, worker}).value(), directory.context()))
          parts.insert(parts.end(), element.begin(), element.end());
      std::ranges::sort(parts);
      CHECK(parts == all);
    }
}

TEST_CASE("auto_shard: sources without files have none to share, and interleaved files are shared one by one") {
  const Reader second{.workers = 2, .worker = 1};
  const auto by_policy = [&](const std::string& text, AutoShardPolicy policy) {
    return auto_shard(parsed(text), second, policy);
  };
  CHECK(by_policy(R"([{"range": 4}])", AutoShardPolicy::kFile).error().code == Code::kNotFound);
  CHECK(all_elements(by_policy(R"([{"range": 4}])", AutoShardPolicy::kAuto).value()) == std::vector<Numbers>{{1}, {3}});
  CHECK(auto_shard(parsed(R"([{"range": 4}])"), {2, 2}, AutoShardPolicy::kOff).error().message ==
        "the worker's index must be between 0 and 1, not 2");
  const std::string three =
      R"([{"text": {"path": "a"}}, {"interleave": [[{"text": {"path": "b"}}], [{"text": {"path": "c"}}]]}, {"repeat": 2}])";
  CHECK(by_policy(three, AutoShardPolicy::kAuto).value() == parsed(R"([{"text": {"path": "b"}}, {"repeat": 2}])"));
  const Plan zipped =
      by_policy(R"([{"text": {"path": "a*"}}, {"zip": [{"jsonl": {"path": "b*", "fields": {"y": {}}}}]}])",
                AutoShardPolicy::kFile)
          .value();
  CHECK(std::get<TextSource>(zipped.stages[0]).files.shard == Shard{2, 1, false, true});
  const Plan& other = std::get<Zip>(zipped.stages[1]).others[0];
  CHECK(std::get<JsonlSource>(other.stages[0]).files.shard == Shard{2, 1, false, true});
}
