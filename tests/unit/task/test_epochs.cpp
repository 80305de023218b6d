// SPDX-License-Identifier: Apache-2.0
//
// Whoever was fenced off reads and changes nothing, whatever he asks for.
#include <nlohmann/json.hpp>

#include "small_cluster.hpp"

namespace tfd::task::test {
namespace {

constexpr const char* kEpochsDocument = R"({"v": 1,
  "variables": {"t": {"shape": [3, 1], "dtype": "f32", "init": {"zeros": {}}},
                "own": {"shape": [], "dtype": "f32", "init": {"zeros": {}}, "per_worker": true}},
  "datasets": {"numbers": [{"range": 6}]},
  "functions": {
    "grow": {"module": "grow.mlir", "inputs": [{"variable": "t"}], "outputs": [{"assign_add": "t"}]},
    "next": {"module": "next.mlir", "inputs": [{"arg": 0, "field": "value"}], "outputs": [{"result": 0}]},
    "total": {"module": "total.mlir", "inputs": [{"variable": "t"}], "outputs": [{"metric": "total"}]}}})";

Parts epochs_parts() {
  Parts parts;
  parts.document = kEpochsDocument;
  parts.modules = {{"grow.mlir", "(%t: tensor<3x1xf32>) -> tensor<3x1xf32>"},
                   {"next.mlir", "(%x: tensor<i64>) -> tensor<i64>"},
                   {"total.mlir", "(%t: tensor<3x1xf32>) -> tensor<f32>"}};
  parts.bodies["grow.mlir"] = [](const Tensors&) -> Result<Tensors> { return Tensors{floats({3, 1}, {1, 1, 1})}; };
  parts.bodies["next.mlir"] = [](const Tensors& in) -> Result<Tensors> { return Tensors{in[0]}; };
  parts.bodies["total.mlir"] = [](const Tensors& in) -> Result<Tensors> {
    return Tensors{floats({}, {floats(in[0])[0]})};
  };
  return parts;
}

/// The answers to a coordinator of this epoch, to everything that it can ask.
class AnswerLabel {
 public:
  AnswerLabel(SmallCluster& cluster, std::uint64_t epoch)
      : cluster_(cluster), epoch_(epoch), ps_(cluster.server()), worker_(cluster.worker()) {
    ps_.set_epoch(epoch);
    worker_.set_epoch(epoch);
  }

  std::vector<std::pair<std::string, std::optional<Code>>> ask_all() {
    const auto packed = PackedProgram::pack(cluster_.program, cluster_.placement);
    const Tensor nine = floats({3, 1}, {9, 9, 9});
    std::vector<std::pair<std::string, std::optional<Code>>> out;
    const auto add = [&]<class T>(const std::string& what, auto question) {
      const auto answer = cluster_.ask<T>(question);
      out.emplace_back(what, answer ? std::nullopt : std::optional(answer.error().code));
    };
    const tensor::NamedTensors state{{"t", nine}};
    add.operator()<void>("load ps", [&](auto by, auto done) { ps_.load_program(packed, epoch_, by, done); });
    add.operator()<Tensors>("read", [&](auto by, auto done) { ps_.read({"t"}, by, done); });
    add.operator()<Tensors>("read rows", [&](auto by, auto done) { ps_.read_rows({{"t", ids({0})}}, by, done); });
    add.operator()<UpdateAnswer>("update", [&](auto by, auto done) {
      ps_.update(0, {{variable::UpdateKind::kAssign, "t", nine}}, by, done);
    });
    add.operator()<std::vector<variable::DueUpdate>>("due", [&](auto by, auto done) { ps_.find_due({}, by, done); });
    add.operator()<void>("make due", [&](auto by, auto done) { ps_.make_due({}, by, done); });
    add.operator()<void>("assign", [&](auto by, auto done) { ps_.assign("t", nine, by, done); });
    add.operator()<void>("assign rows", [&](auto by, auto done) {
      ps_.assign_rows({{variable::UpdateKind::kAssignRows, "t", floats({1, 1}, {9}), ids({0})}}, by, done);
    });
    add.operator()<void>("import", [&](auto by, auto done) { ps_.import_state(state, by, done); });
    add.operator()<tensor::NamedTensors>("export", [&](auto by, auto done) { ps_.export_state(by, done); });
    add.operator()<void>("averages", [&](auto by, auto done) { ps_.use_averages(by, done); });
    add.operator()<void>("settle", [&](auto by, auto done) { ps_.settle(epoch_, 1000, 0, by, done); });
    add.operator()<void>("fence", [&](auto by, auto done) { ps_.fence(epoch_, 0, by, done); });
    add.operator()<variable::SequenceHistory>(
        "adopt", [&](auto by, auto done) { ps_.adopt(SmallCluster::kEpoch, epoch_, by, done); });
    add.operator()<void>("load worker", [&](auto by, auto done) { worker_.load_program(packed, epoch_, by, done); });
    add.operator()<void>("iterator", [&](auto by, auto done) { worker_.create_iterator("it", "numbers", by, done); });
    add.operator()<void>("drop iterator", [&](auto by, auto done) { worker_.drop_iterator("it", by, done); });
    add.operator()<void>("assign own", [&](auto by, auto done) { worker_.assign("own", floats({}, {9}), by, done); });
    add.operator()<Tensors>("read own", [&](auto by, auto done) { worker_.read({"own"}, by, done); });
    add.operator()<ClosureOutcome>("run", [&](auto by, auto done) {
      worker_.run({.epoch = epoch_, .sequence = 0, .function = "grow"}, by, done);
    });
    add.operator()<std::vector<step::Metric>>(
        "evaluate", [&](auto by, auto done) { worker_.evaluate("total", 1, 0, std::nullopt, epoch_, 0, by, done); });
    add.operator()<void>("drop", [&](auto by, auto done) {
      worker_.drop_waiting(epoch_, kWithoutUpdates, ~std::uint64_t{0}, by, done);
    });
    add.operator()<void>("give back", [&](auto by, auto done) { worker_.give_back(epoch_, 9, false, by, done); });
    add.operator()<void>("goodbye to ps", [&](auto by, auto done) { ps_.shutdown(epoch_, by, done); });
    add.operator()<void>("goodbye to worker", [&](auto by, auto done) { worker_.shutdown(epoch_, by, done); });
    if (epoch_ != 0) {  // of no epoch: about the process
      add.operator()<CoordinationAnswer>("coordinate", [&](auto by, auto done) {
        ps_.coordinate({PutKey{"k", "v", {}}}, by, done);
      });
      add.operator()<CoordinationAnswer>("coordinate of worker", [&](auto by, auto done) {
        worker_.coordinate({GetKey{"k", {}}}, by, done);
      });
    }
    return out;
  }

 private:
  SmallCluster& cluster_;
  std::uint64_t epoch_;
  ServerClient ps_;
  WorkerClient worker_;
};

}  // namespace

TEST_CASE("epochs: who has an older one, or none, is refused, and changes nothing") {
  SmallCluster cluster(epochs_parts(), 1);
  const auto next = [&] { return cluster.run("next", {step::IteratorRef{"it"}}); };
  REQUIRE(cluster.ask<void>([&](auto by, auto done) { cluster.worker().create_iterator("it", "numbers", by, done); }));
  REQUIRE(next());
  for (const std::uint64_t epoch : {SmallCluster::kEpoch - 1, std::uint64_t{0}})
    for (const auto& [what, code] : AnswerLabel(cluster, epoch).ask_all()) {
      CAPTURE(what);
      CHECK((code == Code::kPermissionDenied));
    }
  CHECK(cluster.goodbyes == 0);
  CHECK(floats(cluster.read(0, "t").value()) == std::vector<float>{0, 0, 0});
  const auto own = cluster.ask<Tensors>([&](auto by, auto done) { cluster.worker().read({"own"}, by, done); });
  REQUIRE(own);
  CHECK(floats(own->front()) == std::vector<float>{0});
  const auto second = next();  // of the same iterator: it was neither dropped nor begun anew
  REQUIRE(second);
  CHECK(second->results[0].as<std::int64_t>()[0] == 1);
  CHECK(cluster.run("grow"));  // neither its number nor the call was taken for one that is over
  CHECK(floats(cluster.read(0, "t").value()) == std::vector<float>{1, 1, 1});
}

TEST_CASE("epochs: a newer one has to load its program first") {
  SmallCluster cluster(epochs_parts(), 1);
  ServerClient ps = cluster.server();
  WorkerClient worker = cluster.worker();
  for (TaskClient* task : std::initializer_list<TaskClient*>{&ps, &worker}) {
    task->set_epoch(SmallCluster::kEpoch + 1);
    const auto read = cluster.ask<Tensors>([&](auto by, auto done) { task->read({"t"}, by, done); });
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Code::kPermissionDenied);
    CHECK(read.error().message == fmt::format("{} belongs to another run (epoch 7, the request has 8)", task->name()));
  }
}

TEST_CASE("epochs: a worker doesn't leave its run for another reign that its first parameter server isn't of") {
  SmallCluster cluster(epochs_parts(), 1);
  const std::uint64_t other = (std::uint64_t{5} << 32) | 1;
  const auto packed = PackedProgram::pack(cluster.program, cluster.placement);
  ServerClient ps = cluster.server();
  WorkerClient worker = cluster.worker();
  const auto load = [&](TaskClient& task) {
    return cluster.ask<void>([&](auto by, auto done) { task.load_program(packed, other, by, done); });
  };
  const auto refused = load(worker);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kPermissionDenied);
  CHECK(refused.error().message ==
        fmt::format("worker:0 stays with its run (epoch 7): ps:0 has the epoch 7, the request {}", other));
  CHECK(cluster.run("grow"));
  CHECK(load(ps));
  CHECK(load(worker));
}

TEST_CASE("epochs: a worker whose new program can't be loaded goes on with the one that it has") {
  SmallCluster cluster(epochs_parts(), 1);
  program::Program broken = cluster.program;
  auto stated = std::make_shared<nlohmann::ordered_json>(*broken.stated);  // with its copies
  (*stated)["functions"] = "none";
  broken.stated = std::move(stated);
  const auto packed = PackedProgram::pack(broken, cluster.placement);
  WorkerClient worker = cluster.worker();
  CHECK_FALSE(
      cluster.ask<void>([&](auto by, auto done) { worker.load_program(packed, SmallCluster::kEpoch + 1, by, done); }));
  CHECK(cluster.run("grow"));
}

}  // namespace tfd::task::test
