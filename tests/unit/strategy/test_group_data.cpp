// SPDX-License-Identifier: Apache-2.0
//
// Datasets of a strategy over several processes, by tfd's own rules; TensorFlow's are in multi_worker_inputs. And what
// becomes of a group whose members don't come, or go.
#include <algorithm>
#include <fstream>

#include "gate.hpp"
#include "strategy_group.hpp"
#include "strategy_kit.hpp"
#include "temporary_directory.hpp"

namespace tfd::strategy {
namespace {

using GroupJson = nlohmann::json;
using kit::run_workers;
using test::error_of;
using test::floats;
using test::per_replica;
using test::Tensors;

data::Plan group_plan(const std::string& text) { return data::parse_plan(nlohmann::ordered_json::parse(text)).value(); }

/// Rows of a replica's component: numbers, or texts of two bytes each.
GroupJson rows_of_component(const tensor::Tensor& value) {
  if (value.dtype() != tensor::DType::kU8) return test::shown(value);
  GroupJson rows = GroupJson::array();
  const std::string text(reinterpret_cast<const char*>(value.data()), value.byte_size());
  for (std::size_t at = 0; at < text.size(); at += 2) rows.push_back(text.substr(at, 2));
  return rows;
}

/// This worker's steps, then the error that ends them.
GroupJson own_steps(const Result<DistributedDataset>& dataset, int most = 100) {
  GroupJson out = GroupJson::array();
  if (!dataset) return {dataset.error().message};
  auto iterator = dataset->iterate();
  if (!iterator) return {iterator.error().message};
  for (int step = 0; step < most; ++step) {
    const auto element = iterator->next();
    if (!element) out.push_back(element.error().message);
    if (!element || !*element) break;
    out.push_back(GroupJson::array());
    for (const auto& component : (*element)->fields.front().components())
      out.back().push_back(rows_of_component(component));
  }
  return out;
}

using GroupSteps = std::vector<GroupJson>;
GroupSteps steps_of_workers(const kit::Workers& workers,
                            const std::function<Result<DistributedDataset>(Strategy&, std::size_t)>& make,
                            int most = 100) {
  GroupSteps out(workers.replicas.size());
  run_workers(workers, [&](Strategy& on, std::size_t rank) { out[rank] = own_steps(make(on, rank), most); });
  return out;
}

GroupSteps distributed(const std::vector<int>& replicas, const std::string& plan, int most = 100) {
  return steps_of_workers(
      {.replicas = replicas},
      [&](Strategy& on, std::size_t) { return on.experimental_distribute_dataset(group_plan(plan), {}); }, most);
}

GroupSteps parsed(const std::vector<std::string>& texts) {
  GroupSteps out;
  for (const std::string& text : texts) out.push_back(GroupJson::parse(text));
  return out;
}

std::vector<std::string> sorted_rows(const GroupSteps& of_workers) {
  std::vector<std::string> out;
  for (const GroupJson& steps : of_workers)
    for (const GroupJson& step : steps)
      for (const GroupJson& replica : step)
        for (const GroupJson& row : replica) out.push_back(row.dump());
  std::ranges::sort(out);
  return out;
}

/// A dataset of one worker: numbers, in batches; the one that is `bad` can't be made.
Result<DatasetPtr> numbers(int count, int batch, std::int64_t bad = -1) {
  const auto find = [bad](const std::string&, const data::ElementSpec& input,
                          const std::vector<std::string>&) -> Result<data::MapFunction> {
    return data::MapFunction{input, [bad](const data::Element& element) -> Result<data::Element> {
                               if (element.front().as<std::int64_t>()[0] == bad)
                                 return fail(Code::kDataLoss, "bad record {}", bad);
                               return element;
                             }};
  };
  const std::string plan = fmt::format(
      R"([{{"range": {}}}, {{"map": {{"function": "f", "fields": ["value"]}}}}, {{"batch": {}}}])", count, batch);
  return data::instantiate(group_plan(plan), {.find_function = find});
}

}  // namespace

TEST_CASE("group data: replicas of all processes share the rows of a batch, however many each has") {
  CHECK(distributed({1, 2}, R"([{"range": 10}, {"batch": 8}])") ==
        parsed({"[[[0,1,2]], [[8]]]", "[[[3,4,5],[6,7]], [[9],[]]]"}));
  CHECK(distributed({2, 2}, R"([{"range": 5}, {"batch": 3}])") ==
        parsed({"[[[0],[1]], [[3],[4]]]", "[[[2],[]], [[],[]]]"}));
  CHECK(distributed({1, 1}, R"([{"range": 3}, {"repeat": {}}, {"batch": 4}])", 3) ==
        parsed({"[[[0,1]], [[1,2]], [[2,0]]]", "[[[2,0]], [[0,1]], [[1,2]]]"}));
  CHECK(distributed({1, 1}, R"([{"range": 0}, {"batch": 4}])") == parsed({"[]", "[]"}));
  CHECK(distributed({1, 1}, R"([{"range": 6}, {"batch": 4}, {"options": {"auto_shard": "off"}}])") ==
        parsed({"[[[0,1]], [[2,3]], [[4,5]]]", "[[[0,1]], [[2,3]], [[4,5]]]"}));
  CHECK(
      distributed({1, 1}, R"([{"range": 9}, {"shard": "hint"}, {"batch": 4}, {"options": {"auto_shard": "hint"}}])") ==
      parsed({"[[[0,2]], [[4,6]], [[8]]]", "[[[1,3]], [[5,7]], [[]]]"}));
  CHECK(distributed({1, 2}, R"([{"range": 9}, {"batch": 4}, {"options": {"auto_shard": "off"}}])") ==
        GroupSteps(2, GroupJson{"3 replicas aren't the same number for each of 2 workers: with this policy of "
                                "auto_shard they must be"}));
}

TEST_CASE("group data: a shuffle without a seed has the chief's order, so that nothing is there twice") {
  const auto steps = distributed({1, 2}, R"([{"range": 40}, {"shuffle": {"buffer": 40}}, {"batch": 6}])");
  std::vector<std::string> expected;
  for (int i = 0; i < 40; ++i) expected.push_back(std::to_string(i));
  std::ranges::sort(expected);
  CHECK(sorted_rows(steps) == expected);
}

TEST_CASE("group data: workers with files of their own read each row once, and make no step without rows") {
  const tfd::test::TemporaryDirectory directory;
  std::vector<std::string> expected;
  const auto write = [&](const std::string& name, int rows) {
    std::ofstream out(directory / name);
    for (int i = 0; i < rows; ++i) {
      out << name << i << '\n';
      expected.push_back('"' + name + std::to_string(i) + '"');
    }
  };
  write("a", 5);
  write("b", 3);
  write("c", 4);
  std::ranges::sort(expected);
  const auto read = [&](const std::vector<int>& replicas, int batch) {
    return distributed(replicas, fmt::format(R"([{{"text": {{"path": ["{0}/a", "{0}/b", "{0}/c"], "field": "value"}}}},
                                       {{"padded_batch": {{"size": {1}}}}}, {{"options": {{"auto_shard": "file"}}}}])",
                                             directory.path(), batch));
  };
  CHECK(read({1, 1}, 4) == parsed({R"([[["a0","a1"]], [["a2","a3"]], [["a4","c0"]], [["c1","c2"]], [["c3"]]])",
                                   R"([[["b0","b1"]], [["b2"]], [[]], [[]], [[]]])"}));
  // Fewer rows than replicas: each worker has one in each step, as long as it has any.
  CHECK(read({2, 2}, 2)[1] == GroupJson::parse(R"([[["b0"],[]], [["b1"],[]], [["b2"],[]], [[],[]], [[],[]], [[],[]],
                                                   [[],[]], [[],[]], [[],[]]])"));
  for (const int batch : {1, 2, 3, 5, 7})
    for (const std::vector<int>& replicas : std::vector<std::vector<int>>{{1, 1}, {2, 2}, {1, 1, 1}}) {
      CAPTURE(batch);
      const auto steps = read(replicas, batch);
      CHECK(sorted_rows(steps) == expected);
      for (std::size_t step = 0; step < steps.front().size(); ++step) {
        std::size_t rows = 0;
        for (const GroupJson& worker : steps)
          for (const GroupJson& replica : worker.at(step)) rows += replica.size();
        CHECK(rows > 0);
        CHECK(rows <= static_cast<std::size_t>(batch));
      }
    }
}

TEST_CASE("group data: of a dataset function each worker takes its own elements, until the last has none") {
  const auto steps = steps_of_workers({.replicas = {1, 2}}, [](Strategy& on, std::size_t rank) {
    return on.distribute_datasets_from_function([rank](const InputContext& context) -> Result<DatasetPtr> {
      CHECK(context.num_input_pipelines == 2);
      CHECK(context.input_pipeline_id == static_cast<int>(rank));
      CHECK(context.num_replicas_in_sync == 3);
      return numbers(rank == 0 ? 2 : 7, 2);
    });
  });
  CHECK(steps == parsed({"[[[0,1]], [[]]]", "[[[0,1],[2,3]], [[4,5],[6]]]"}));
  const auto none = steps_of_workers({.replicas = {1, 1}}, [](Strategy& on, std::size_t rank) {
    return on.distribute_datasets_from_function([rank](const InputContext&) { return numbers(rank == 0 ? 0 : 3, 2); });
  });
  // Batches of fixed sizes, which are other ones on each worker.
  const auto fixed = steps_of_workers({.replicas = {1, 1}}, [](Strategy& on, std::size_t rank) {
    return on.distribute_datasets_from_function([rank](const InputContext&) {
      const std::string plan =
          fmt::format(R"([{{"range": 6}}, {{"batch": {{"size": {}, "drop_remainder": true}}}}])", 2 + rank);
      return data::instantiate(group_plan(plan), {});
    });
  });
  CHECK(fixed == parsed({"[[[0,1]], [[2,3]], [[4,5]]]", "[[[0,1,2]], [[3,4,5]], [[]]]"}));
  CHECK(none == parsed({"[[[]], [[]]]", "[[[0,1]], [[2]]]"}));
}

TEST_CASE("group data: an error of one worker's data ends the data of all, with its text and its name") {
  const auto steps = steps_of_workers({.replicas = {1, 1, 1}}, [](Strategy& on, std::size_t rank) {
    return on.distribute_datasets_from_function(
        [rank](const InputContext&) { return numbers(6, 2, rank == 1 ? 2 : -1); });
  });
  CHECK(steps == GroupSteps(3, GroupJson::parse(R"([[[0,1]], "worker:1: map 'f': element 2: bad record 2"])")));
  const auto other = steps_of_workers({.replicas = {1, 1}}, [](Strategy& on, std::size_t rank) {
    return on.experimental_distribute_dataset(numbers(rank == 0 ? 4 : 2, 2).value());
  });
  CHECK(other ==
        parsed({R"([[[0]], "worker:0 has a batch of 2 rows, worker:1 has no further batch: they share the rows )"
                R"(of each batch, so that all must read the same"])",
                R"([[[1]], "worker:0 has a batch of 2 rows, worker:1 has no further batch: they share the rows )"
                R"(of each batch, so that all must read the same"])"}));
  // Where one can't even begin, the others learn it at their next call.
  const auto begun = steps_of_workers({.replicas = {1, 1}}, [](Strategy& on, std::size_t rank) {
    return on.distribute_datasets_from_function([rank](const InputContext&) -> Result<DatasetPtr> {
      if (rank == 1) return fail(Code::kNotFound, "no file x");
      return numbers(4, 2);
    });
  });
  CHECK(begun[1] == GroupJson{"no file x"});
  CHECK(begun[0][0].get<std::string>().ends_with("worker:1 makes all_gather \"the error: no file x\""));
}

TEST_CASE("group data: a member that never comes, is late, or goes is named, and nobody waits for ever") {
  auto options = kit::options_of({.communication = {.join = std::chrono::milliseconds(300)}});
  const auto alone = Strategy::make(std::move(options[0]));
  REQUIRE(!alone);
  CHECK(alone.error().code == Code::kDeadlineExceeded);
  CHECK(alone.error().message.find("worker:1 to join") != std::string::npos);

  std::vector<std::string> errors(2);
  run_workers({}, [&](Strategy& on, std::size_t rank) {
    if (rank == 1) return;  // it ends while the other waits for it
    errors[0] = error_of(on.reduce(program::Reduce::kSum, per_replica({1})));
    errors[1] = error_of(on.reduce(program::Reduce::kSum, per_replica({1})));
  });
  CHECK(errors[0].find("worker:1") != std::string::npos);
  CHECK(errors[1] == errors[0]);

  std::string late;
  tfd::test::Gate gate;
  gate.close();
  run_workers({.communication = {.timeout = std::chrono::milliseconds(200)}}, [&](Strategy& on, std::size_t rank) {
    if (rank == 1) return gate.pass();
    late = error_of(on.reduce(program::Reduce::kSum, per_replica({1})));
    gate.open();
  });
  CHECK(late.starts_with("all_reduce \"reduce, sum\": "));
  CHECK(late.ends_with("without worker:1"));
}

TEST_CASE("group data: members must agree on the compatibility") {
  auto options = kit::options_of({.communication = {.join = std::chrono::seconds(1)}});
  options[1].compat = Compat::kTensorflow;
  std::string refused;
  std::thread other([&] { refused = error_of(Strategy::make(std::move(options[1]))); });
  CHECK(!Strategy::make(std::move(options[0])));
  other.join();
  CHECK(refused.find("the members differ in the compatibility: worker:0 has none, worker:1 has tensorflow") !=
        std::string::npos);
}

}  // namespace tfd::strategy
