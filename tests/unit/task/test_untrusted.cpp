// SPDX-License-Identifier: Apache-2.0
//
// Bytes that mean nothing, as messages of every kind: tasks refuse them, and go on.
#include <random>

#include "messages/protocol.hpp"
#include "small_cluster.hpp"
#include "tfd/transport/message_body.hpp"

namespace tfd::task::test {
namespace {

constexpr std::size_t kMebibyte = 1024 * 1024;

Parts hostile_parts() {
  Parts parts;
  parts.document = R"({"v": 1, "variables": {"t": {"shape": [3], "dtype": "f32", "init": {"ones": {}}}},
    "functions": {"f": {"module": "f.mlir", "inputs": [{"variable": "t"}], "outputs": [{"result": 0}]}}})";
  parts.modules = {{"f.mlir", "(%t: tensor<3xf32>) -> tensor<3xf32>"}};
  parts.bodies["f.mlir"] = [](const Tensors& in) -> Result<Tensors> { return in; };
  return parts;
}

std::vector<std::string> nonsense() {
  std::string random;
  std::mt19937 generator(12);
  for (std::size_t i = 0; i < kMebibyte; ++i) random.push_back(static_cast<char>(generator()));
  std::string behind = random;  // as a body
  behind.front() = '\0';
  return {std::string(kMebibyte, '\x81'), std::string(kMebibyte, '\xff'), std::string(kMebibyte, '\0'), random, behind};
}

/// The test runs once over TCP in the clear, and once under a key.
SmallCluster::Over with_and_without_key() {
  SmallCluster::Over over(std::in_place);
  SUBCASE("in the clear") {}
  SUBCASE("with a key") { over->emplace(transport::make_curve_key().value()); }
  return over;
}

}  // namespace

TEST_CASE("hostile: a stranger's goodbye ends no task while who has its run is there") {
  SmallCluster cluster(hostile_parts(), 1, 1, with_and_without_key());
  const auto stranger = cluster.connect();
  const auto say_goodbye = [&](const char* job, std::uint64_t epoch) {
    auto task = cluster.client_on<TaskClient>(*stranger, job, 0);
    return cluster.ask<void>([&](auto by, auto done) { task.shutdown(epoch, by, done); });
  };
  const std::uint64_t other = (std::uint64_t{5} << 32) | 1;
  for (const char* job : {"ps", "worker"})
    for (const std::uint64_t epoch : {std::uint64_t{0}, SmallCluster::kEpoch + 1, other}) {
      const auto refused = say_goodbye(job, epoch);
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == Code::kPermissionDenied);
      CHECK(refused.error().message ==
            fmt::format("{}:0 belongs to another run (epoch 7), whose coordinator is still connected", job));
    }
  CHECK(cluster.goodbyes == 0);
  CHECK(floats(cluster.run("f").value().results[0]) == std::vector<float>{1, 1, 1});
  cluster.disconnect();
  CHECK(say_goodbye("ps", 0));
  CHECK(say_goodbye("worker", other));
  CHECK(cluster.goodbyes == 2);
}

TEST_CASE("hostile: a mebibyte of nonsense as a message of any kind ends no task and changes nothing") {
  SmallCluster cluster(hostile_parts(), 1, 1, with_and_without_key());
  const auto texts = nonsense();
  for (const char* job : {"ps", "worker"})
    for (std::uint16_t kind = 0; kind <= 70; ++kind) {
      if (kind == 37) kind = 63;  // the kinds of commands begin behind it
      for (std::size_t i = 0; i < texts.size(); ++i) {
        CAPTURE(std::string(job));
        CAPTURE(kind);
        CAPTURE(i);
        transport::Message plain{kind, texts[i], {}, SmallCluster::kEpoch};
        transport::Message in_tensor{kind, "\1", {transport::bytes_tensor(texts[i])}, SmallCluster::kEpoch};
        const bool is_status = kind == static_cast<std::uint16_t>(Kind::kStatus);  // without arguments, to anybody
        const bool is_program = kind == static_cast<std::uint16_t>(Kind::kBringProgram);  // looked at when it is loaded
        CHECK(cluster.send(job, 0, std::move(plain)).has_value() == (is_status || is_program));
        CHECK(cluster.send(job, 0, std::move(in_tensor)).has_value() == (is_status || is_program));
      }
    }
  for (const char* job : {"ps", "worker"}) {
    const auto status =
        cluster.ask<TaskStatus>([&](auto by, auto done) { cluster.task(job, 0).status(by, done); }).value();
    CHECK(status.epoch == SmallCluster::kEpoch);
    CHECK(status.closures_waiting == 0);
  }
  CHECK(cluster.goodbyes == 0);
  CHECK(floats(cluster.run("f").value().results[0]) == std::vector<float>{1, 1, 1});
}

TEST_CASE("hostile: a program of nonsense is refused when it is loaded") {
  SmallCluster cluster(hostile_parts(), 1, 1, with_and_without_key());
  for (const char* job : {"ps", "worker"})
    for (const std::string& text : nonsense()) {
      REQUIRE(cluster.send(job, 0, {static_cast<std::uint16_t>(Kind::kBringProgram), text, {}, 8}));
      CHECK_FALSE(cluster.send(job, 0, encode_load(8, {})).has_value());
      REQUIRE(
          cluster.send(job, 0,
                       {static_cast<std::uint16_t>(Kind::kBringProgram),
                        std::string(9, '\0').append(std::string("\1\0\0\0", 4)).append(4, '\0'),
                        {transport::bytes_tensor(text), transport::bytes_tensor(text), transport::bytes_tensor(text)},
                        8}));
      CHECK_FALSE(cluster.send(job, 0, encode_load(8, {})).has_value());
    }
  CHECK(floats(cluster.run("f").value().results[0]) == std::vector<float>{1, 1, 1});
}

}  // namespace tfd::task::test
