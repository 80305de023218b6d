// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <latch>
#include <thread>

#include "kit.hpp"

using namespace tfd;
using namespace tfd::data;
using tensor::DType;

namespace {

// A map that tells how often it was called.
DatasetContext counting(std::atomic<int>& calls, int fails_at = -1) {
  DatasetContext context;
  context.find_function = [&calls, fails_at](const std::string&, const ElementSpec& input,
                                             const std::vector<std::string>&) -> Result<MapFunction> {
    return MapFunction{input, [&calls, fails_at](const Element& element) -> Result<Element> {
                         const int call = calls++;
                         calls.notify_all();
                         if (call == fails_at) return fail(Code::kDataLoss, "call {} fails", call);
                         return element;
                       }};
  };
  return context;
}

}  // namespace

TEST_CASE("prefetch: gives the same elements in the same order") {
  const std::string stages = R"([{"range": 1000}, {"shuffle": {"buffer": 50, "seed": 7}}, {"batch": 7})";
  for (const char* prefetch : {R"(, {"prefetch": {}}])", R"(, {"prefetch": 1}])",
                               R"(, {"prefetch": {"buffer": 10000}}])", R"(, {"prefetch": 2}, {"prefetch": 2}])"})
    CHECK(values_of(stages + prefetch) == values_of(stages + "]"));
  CHECK(values_of(R"([{"range": 0}, {"prefetch": {}}])").empty());
}

TEST_CASE("prefetch: stays as far ahead as it was told, and no further") {
  std::atomic<int> calls = 0;
  auto iterator =
      *dataset_of(R"([{"range": 100}, {"map": {"function": "f"}}, {"prefetch": 3}])", counting(calls))->iterate();
  CHECK(calls == 0);  // nothing before the first element is asked for
  REQUIRE(iterator->next().value());
  for (int seen = calls; seen < 4; seen = calls) calls.wait(seen);  // one delivered, three ahead
  for (int i = 0; i < 5; ++i) REQUIRE(iterator->next().value());
  for (int seen = calls; seen < 9; seen = calls) calls.wait(seen);
  iterator = nullptr;
  CHECK(calls == 9);
}

TEST_CASE("prefetch: passes errors on, after what came before them") {
  std::atomic<int> calls = 0;
  auto iterator =
      *dataset_of(R"([{"range": 10}, {"map": {"function": "f"}}, {"prefetch": 4}])", counting(calls, 3))->iterate();
  for (int i = 0; i < 3; ++i) CHECK(iterator->next().value()->at(0).as<std::int64_t>()[0] == i);
  for (int i = 0; i < 2; ++i) {
    const auto error = iterator->next();
    REQUIRE_FALSE(error);
    CHECK(error.error().code == Code::kDataLoss);
    CHECK(error.error().message == "map 'f': element 3: call 3 fails");
  }
}

TEST_CASE("prefetch: calls functions for no more of what is skipped than was made ahead already") {
  std::atomic<int> calls = 0;
  const auto dataset =
      dataset_of(R"([{"range": 10000}, {"map": {"function": "f", "parallel": 3}}, {"batch": 1}, {"prefetch": 2}])",
                 counting(calls));
  const auto iterator = dataset->iterate().value();
  std::int64_t at = 0;
  for (const std::int64_t first : {0, 3000, 3001, 9000}) {
    CHECK(iterator->skip(first - at).value() == first - at);
    CHECK(numbers_of(iterator->next().value()->front()) == Numbers{static_cast<double>(first)});
    at = first + 1;
  }
  CHECK(iterator->skip(5000).value() == 999);
  CHECK_FALSE(iterator->next().value());
  CHECK(calls < 100);
}

TEST_CASE("prefetch: can be dropped at any time") {
  const auto endless = dataset_of(R"([{"range": 5}, {"repeat": {}}, {"batch": 3}, {"prefetch": 4}])");
  for (int taken = 0; taken < 50; ++taken) {
    auto iterator = *endless->iterate();
    for (int i = 0; i < taken % 7; ++i) REQUIRE(iterator->next().value());
  }
  // Not even started; and while the thread is at work on the first one.
  { auto iterator = *endless->iterate(); }
  std::latch entered(1);
  DatasetContext context;
  context.find_function = [&](const std::string&, const ElementSpec& input,
                              const std::vector<std::string>&) -> Result<MapFunction> {
    return MapFunction{input, [&](const Element& element) -> Result<Element> {
                         if (element[0].as<std::int64_t>()[0] == 1) entered.count_down();
                         return element;
                       }};
  };
  auto iterator =
      *dataset_of(R"([{"range": 1000000}, {"map": {"function": "f"}}, {"prefetch": 2}])", context)->iterate();
  REQUIRE(iterator->next().value());
  entered.wait();
  iterator = nullptr;
}

TEST_CASE("prefetch: an iterator outlives its dataset, and may move to another thread") {
  const TemporaryDirectory directory;
  directory.write("d.csv", "1\n2\n3\n");
  auto dataset = dataset_of(
      R"([{"csv": {"path": "d.csv", "fields": {"x": {"columns": 0}}}}, {"shuffle": {"buffer": 2, "seed": 1}}, {"repeat": 2}, {"prefetch": {}}])",
      directory.context());
  auto iterator = *dataset->iterate();
  dataset = nullptr;
  REQUIRE(iterator->next().value());
  std::size_t count = 1;
  std::jthread([&] { count += drain(*iterator).elements.size(); }).join();
  CHECK(count == 6);
}

TEST_CASE("prefetch: one dataset serves several threads") {
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + "\n";
  directory.write("d.csv", text);
  const auto dataset = dataset_of(
      R"([{"csv": {"path": "d.csv", "fields": {"x": {"columns": 0}}}}, {"shuffle": {"buffer": 100, "seed": 1}}, {"repeat": 5}, {"batch": 10}, {"prefetch": {}}])",
      directory.context());
  std::vector<Numbers> results(4);
  {
    std::vector<std::jthread> threads;
    for (Numbers& result : results) threads.emplace_back([&] { result = drain(dataset).flat(); });
  }
  CHECK(results[0].size() == 5000);
  for (const Numbers& result : results) CHECK(result == results[0]);
}
