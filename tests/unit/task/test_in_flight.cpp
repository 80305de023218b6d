// SPDX-License-Identifier: Apache-2.0
//
// Updates that are in flight while the worker runs the next closure: it sees its own updates, and a closure is answered
// when its update is.
#include <mutex>

#include "small_cluster.hpp"

using namespace tfd;
using namespace tfd::task;
using namespace tfd::task::test;

namespace {

constexpr std::uint16_t kUpdate = 7;
constexpr auto kSoon = std::chrono::seconds(20);

/// Holds the answers to updates back until it is told to let them go.
class HeldAnswers {
 public:
  class Holder final : public transport::Responder::Impl {
   public:
    Holder(transport::Responder inner, HeldAnswers& held) : inner_(std::move(inner)), held_(held) {}
    void reply(Result<transport::Message> answer) override { held_.keep(std::move(inner_), std::move(answer)); }

   private:
    transport::Responder inner_;
    HeldAnswers& held_;
  };
  void hold_at(SmallCluster& cluster) {
    cluster.on_ps_request = [this](const transport::Message& request, transport::Responder responder) {
      if (request.kind != kUpdate) return responder;
      return transport::Responder(std::make_unique<Holder>(std::move(responder), *this));
    };
  }
  /// All of them leave, now and later: as they are, or as this error.
  void let_go(const std::optional<Error>& error = {}) {
    const std::scoped_lock lock(mutex_);
    lets_go_ = true;
    for (auto& [responder, answer] : held_) responder.reply(error ? fail(*error) : std::move(answer));
    held_.clear();
  }

 private:
  void keep(transport::Responder responder, Result<transport::Message> answer) {
    const std::scoped_lock lock(mutex_);
    if (lets_go_) return responder.reply(std::move(answer));
    held_.emplace_back(std::move(responder), std::move(answer));
  }
  std::mutex mutex_;
  bool lets_go_ = false;
  std::vector<std::pair<transport::Responder, Result<transport::Message>>> held_;
};

/// "count" adds 1 to a variable of `size` elements and returns what it was; the first call waits until it may begin.
struct Counting {
  explicit Counting(std::int64_t size, const std::string& optimizer = "")
      : type("tensor<" + std::to_string(size) + "xf32>"),
        parts{R"({"v": 1, "variables": {"w": {"shape": [)" + std::to_string(size) + R"(], "init": {"zeros": {}}}},)" +
                  optimizer + R"("functions": {
          "count": {"module": "count.mlir", "inputs": [{"variable": "w"}], "outputs": [{"result": 0}, {"assign_add": "w"}]},
          "returns": {"module": "one.mlir", "inputs": [{"variable": "w"}], "outputs": [{"assign_add": "w"}], "returns": ["w"]}}})",
              {{"count.mlir", "(%w: " + type + ") -> (" + type + ", " + type + ")"},
               {"one.mlir", "(%w: " + type + ") -> " + type}},
              {{"count.mlir",
                [this, size](const Tensors& in) -> Result<Tensors> {
                  ++begun;
                  begin.wait();
                  ++runs;
                  return Tensors{in[0], floats({size}, std::vector<float>(static_cast<std::size_t>(size), 1))};
                }},
               {"one.mlir", [size](const Tensors&) -> Result<Tensors> {
                  return Tensors{floats({size}, std::vector<float>(static_cast<std::size_t>(size), 1))};
                }}}} {}
  std::string type;
  std::promise<void> may_begin;
  std::shared_future<void> begin = may_begin.get_future().share();
  std::atomic<int> begun{0}, runs{0};
  Parts parts;
};

/// Lets the first call begin once it runs, and `others` wait behind it: the worker checks the waiting calls as it sends
/// an update.
void begin_before(Counting& counting, SmallCluster& cluster, std::uint64_t others) {
  const auto until = Clock::now() + kSoon;
  const auto waiting = [&]() -> std::uint64_t {
    const auto status = cluster.ask<TaskStatus>(
        [&](Deadline deadline, auto done) { cluster.task("worker", 0).status(deadline, done); });
    REQUIRE(status.has_value());
    return status->closures_waiting;
  };
  while ((counting.begun == 0 || waiting() < others) && Clock::now() < until) std::this_thread::yield();
  CHECK(waiting() == others);
  counting.may_begin.set_value();
}

bool is_ready(const std::future<Result<ClosureOutcome>>& one) {
  return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void wait_for_runs(const Counting& counting, int count) {
  const auto until = Clock::now() + kSoon;
  while (counting.runs < count && Clock::now() < until) std::this_thread::yield();
  CHECK(counting.runs == count);
}

}  // namespace

TEST_CASE("in flight: closures that wait are run meanwhile, see what was sent before, and are answered after it") {
  Counting counting(2);
  SmallCluster cluster(counting.parts, 1);
  HeldAnswers held;
  held.hold_at(cluster);
  std::vector<std::future<Result<ClosureOutcome>>> outcomes;
  for (int i = 0; i < 4; ++i) outcomes.push_back(cluster.start("count"));
  begin_before(counting, cluster, 3);
  wait_for_runs(counting, 4);
  for (const auto& one : outcomes) CHECK(!is_ready(one));
  held.let_go();
  for (int i = 0; i < 4; ++i) {
    REQUIRE(outcomes[static_cast<std::size_t>(i)].wait_for(kSoon) == std::future_status::ready);
    const auto outcome = outcomes[static_cast<std::size_t>(i)].get();
    REQUIRE(outcome.has_value());
    CHECK(floats(outcome->results[0]) == std::vector<float>(2, static_cast<float>(i)));
  }
  CHECK(floats(cluster.read(0, "w").value()) == std::vector<float>{4, 4});
}

TEST_CASE("in flight: an answer may wait for others to leave with it, but not for a closure that runs for long") {
  Counting counting(2);
  std::promise<void> may_end;
  const auto end = may_end.get_future().share();
  Parts& parts = counting.parts;
  parts.document.insert(parts.document.find(R"("returns")"),
                        R"("lasts": {"module": "lasts.mlir", "outputs": [{"result": 0}]}, )");
  parts.modules["lasts.mlir"] = "() -> tensor<2xf32>";
  parts.bodies["lasts.mlir"] = [end](const Tensors&) -> Result<Tensors> {
    end.wait();
    return Tensors{floats({2}, {0, 0})};
  };
  SmallCluster cluster(parts, 1);
  auto first = cluster.start("count");
  std::vector<std::future<Result<ClosureOutcome>>> others;
  for (int i = 0; i < 4; ++i) others.push_back(cluster.start("lasts"));
  begin_before(counting, cluster, 4);
  REQUIRE(first.wait_for(kSoon) == std::future_status::ready);
  CHECK(first.get().has_value());
  for (const auto& one : others) CHECK(!is_ready(one));
  may_end.set_value();
  for (auto& one : others) {
    REQUIRE(one.wait_for(kSoon) == std::future_status::ready);
    CHECK(one.get().has_value());
  }
}

TEST_CASE("in flight: an update that fails is its closure's error, and no other's") {
  Counting counting(2);
  SmallCluster cluster(counting.parts, 1);
  HeldAnswers held;
  held.hold_at(cluster);
  auto first = cluster.start("count");
  auto second = cluster.start("count");
  begin_before(counting, cluster, 1);
  wait_for_runs(counting, 2);
  held.let_go(Error{Code::kResourceExhausted, "no memory for a new value", {}});
  REQUIRE(first.wait_for(kSoon) == std::future_status::ready);
  REQUIRE(second.wait_for(kSoon) == std::future_status::ready);
  const auto failed = first.get();
  CHECK(failed.error().code == Code::kResourceExhausted);
  CHECK(failed.error().message == "count: updating variables: no memory for a new value");
  CHECK(failed.error().task == "ps:0");
}

TEST_CASE("in flight: what would be overtaken is waited for, and so is an update that is accumulated") {
  std::optional<Counting> counting;
  SUBCASE("large tensors") { counting.emplace(5000); }
  SUBCASE("gradients that are accumulated") {
    counting.emplace(2, R"("optimizer": {"sgd": {"learning_rate": 1, "gradient_accumulation_steps": 2}},)");
  }
  SmallCluster cluster(counting->parts, 1);
  HeldAnswers held;
  held.hold_at(cluster);
  auto first = cluster.start("count");
  auto second = cluster.start("count");
  begin_before(*counting, cluster, 1);
  wait_for_runs(*counting, 1);
  CHECK(cluster.task("worker", 0).name() == "worker:0");
  const auto status =
      cluster.ask<TaskStatus>([&](Deadline deadline, auto done) { cluster.task("worker", 0).status(deadline, done); });
  CHECK(status->closures_waiting == 1);
  CHECK(counting->runs == 1);
  held.let_go();
  REQUIRE(second.wait_for(kSoon) == std::future_status::ready);
  CHECK(second.get()->results[0].as<float>()[0] == 1);
}

TEST_CASE("in flight: what a function returns has its own update in it") {
  Counting counting(2);
  SmallCluster cluster(counting.parts, 1);
  for (int i = 1; i <= 3; ++i)
    CHECK(floats(cluster.run("returns")->results[0]) == std::vector<float>(2, static_cast<float>(i)));
}

TEST_CASE("in flight: a worker that stops answers what waits for its update") {
  Counting counting(2);
  SmallCluster cluster(counting.parts, 1);
  HeldAnswers held;
  held.hold_at(cluster);
  auto first = cluster.start("count");
  auto second = cluster.start("count");
  begin_before(counting, cluster, 1);
  wait_for_runs(counting, 2);
  cluster.stop_worker();
  REQUIRE(first.wait_for(kSoon) == std::future_status::ready);
  CHECK(!first.get().has_value());
  REQUIRE(second.wait_for(kSoon) == std::future_status::ready);
  held.let_go();
}
