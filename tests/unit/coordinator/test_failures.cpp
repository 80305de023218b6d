// SPDX-License-Identifier: Apache-2.0
//
// Attribution of errors and their consequences: as decisions, and with parameter servers that really fail. TensorFlow's
// own decisions are golden sets: tests/vectors/coordinator_sets.cpp.
#include "bed.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;

namespace {

Error error(Code code, const std::string& task) { return {code, "x", task}; }

Environment env(const std::string& name, const std::string& value) {
  Environment out;
  out.set(name, value);
  return out;
}

}  // namespace

TEST_CASE("failures: an error says by its code and task whose it is") {
  CHECK(classify(error(Code::kUnavailable, "ps:10")) == Failure::kServer);
  CHECK(classify(error(Code::kAborted, "ps:0")) == Failure::kServer);
  CHECK(classify(error(Code::kUnavailable, "worker:1")) == Failure::kWorker);
  CHECK(classify(error(Code::kCancelled, "worker:1")) == Failure::kWorker);
  CHECK(classify(error(Code::kDeadlineExceeded, "ps:0")) == Failure::kTimeout);
  CHECK(classify(error(Code::kDeadlineExceeded, "")) == Failure::kTimeout);
  CHECK(classify(error(Code::kInvalidArgument, "worker:1")) == Failure::kFunction);
  CHECK(classify(error(Code::kUnavailable, "")) == Failure::kFunction);
  CHECK(classify(error(Code::kUnavailable, "psychic:1")) == Failure::kFunction);
  CHECK(classify(error(Code::kUnavailable, "ps")) == Failure::kFunction);
}

TEST_CASE("failures: every parameter server has reports of its own that pass") {
  TransientFailures transient({.servers = 3}, 4);
  CHECK(transient.pass(error(Code::kUnavailable, "ps:0")));
  CHECK(transient.pass(error(Code::kUnavailable, "ps:1")));
  CHECK(transient.pass(error(Code::kUnavailable, "ps:0")));
  CHECK_FALSE(transient.pass(error(Code::kUnavailable, "ps:0")));
  CHECK(transient.pass(error(Code::kUnavailable, "ps:1")));
  CHECK(transient.reports_of("ps:0") == 3);
  CHECK(transient.reports_of("ps:2") == 0);
  CHECK_FALSE(transient.pass(error(Code::kInvalidArgument, "ps:2")));
  CHECK_FALSE(transient.pass(error(Code::kDeadlineExceeded, "ps:2")));  // four workers: no timeout passes
}

TEST_CASE("failures: the limits come from TensorFlow's variables") {
  CHECK(read_transient_limits({})->servers == 3);
  CHECK_FALSE(read_transient_limits({})->timeouts);
  CHECK(read_transient_limits(env("TF_COORDINATOR_IGNORE_TRANSIENT_PS_FAILURES", "7"))->servers == 7);
  CHECK(read_transient_limits(env("TF_COORDINATOR_IGNORE_TRANSIENT_TIMEOUTS", "0"))->timeouts == 0);
  const auto wrong = read_transient_limits(env("TF_COORDINATOR_IGNORE_TRANSIENT_TIMEOUTS", "many"));
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message == "TF_COORDINATOR_IGNORE_TRANSIENT_TIMEOUTS: 'many' is not a number");
}

TEST_CASE("failures: a parameter server that is gone is said at once") {
  Bed bed;
  auto coordinator = bed.connect();
  bed.kill("ps:1");
  const auto deadline = Deadline::after(20s);
  while (!coordinator->lost() && !deadline.expired()) std::this_thread::yield();  // nothing is scheduled
  REQUIRE(coordinator->lost());
  CHECK(coordinator->lost()->code == Code::kUnavailable);
  CHECK(coordinator->lost()->task == "ps:1");
}

TEST_CASE("failures: as TensorFlow has it, the third report of a parameter server ends it, and not its death") {
  Bed bed(1, 1);
  auto options = bed.options();
  options.transient = TransientLimits{.servers = 3};
  std::atomic<int> said{0};
  options.log = Log("coordinate", [&](LogLevel, std::string_view, std::string_view text) {
    if (text.find("trying again") != std::string_view::npos) ++said;
  });
  auto coordinator = bed.connect(make_program(), std::move(options));
  // The worker needs its connection first: requests before that wait for it.
  REQUIRE(coordinator->schedule({.function = "add", .args = {number(1)}}));
  REQUIRE(coordinator->join(Deadline::after(60s)));
  bed.kill("ps:0");
  auto added = coordinator->schedule({.function = "add", .args = {number(1)}});
  REQUIRE(added);
  const auto joined = coordinator->join(Deadline::after(60s));
  REQUIRE_FALSE(joined);
  CHECK(joined.error().code == Code::kUnavailable);
  CHECK(joined.error().task == "ps:0");
  CHECK(said == 2);
}

TEST_CASE("failures: as TensorFlow has it, reports of an evaluation count as those of closures do") {
  Bed bed(1, 1);
  auto options = bed.options();
  options.transient = TransientLimits{.servers = 3};
  std::atomic<int> said{0};
  options.log = Log("coordinate", [&](LogLevel, std::string_view, std::string_view text) {
    if (text.find("trying again") != std::string_view::npos) ++said;
  });
  auto coordinator = bed.connect(make_program(), std::move(options));
  REQUIRE(coordinator->evaluate("eval", {}, Deadline::after(60s)));  // the worker has its connection
  bed.kill("ps:0");
  const auto evaluated = coordinator->evaluate("eval", {}, Deadline::after(60s));
  REQUIRE_FALSE(evaluated);
  CHECK(evaluated.error().code == Code::kUnavailable);
  CHECK(evaluated.error().task == "ps:0");
  CHECK(said == 2);
}

TEST_CASE("failures: an error isn't raised before every parameter server keeps its late updates out") {
  Bed bed(1, 2);
  auto options = bed.options();
  options.transient = TransientLimits{.servers = 2};
  auto coordinator = bed.connect(make_program(), std::move(options));
  bed.kill("ps:1");
  auto failing = coordinator->schedule({.function = "fail", .args = {number(1)}});
  REQUIRE(failing);
  const auto joined = coordinator->join(Deadline::after(60s));  // not the closure's error: ps:1 has not heard of it
  REQUIRE_FALSE(joined);
  CHECK(joined.error().code == Code::kUnavailable);
  CHECK(joined.error().task == "ps:1");
}
