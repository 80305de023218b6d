// SPDX-License-Identifier: Apache-2.0
//
// A parameter server under several requests at once: each sees what came before it, the large don't hold up the others,
// and slow readers cost no more than a few versions.
#include <cstring>
#include <random>
#include <set>

#include "ps_bed.hpp"

using namespace tfd;
using namespace tfd::task;
using namespace tfd::task::test;
using variable::Update;
using variable::UpdateKind;

namespace {

/// Tables large enough for other threads, and variables small enough for the I/O thread.
Parts tables_and_counters() {
  return {R"({"v": 1, "variables": {
      "a": {"shape": [4000, 4], "init": {"normal": {"seed": 1}}},
      "b": {"shape": [9000, 4], "init": {"normal": {"seed": 2}}},
      "c": {"shape": [2500, 4], "init": {"normal": {"seed": 3}}},
      "small": {"shape": [8], "init": {"ones": {}}},
      "count": {"shape": [], "dtype": "s64", "init": {"zeros": {}}}},
    "optimizer": {"adam": {"learning_rate": 0.1}}})",
          {},
          {}};
}

Parts one_variable(std::int64_t elements) {
  return {R"({"v": 1, "variables": {"w": {"shape": [)" + std::to_string(elements) +
              R"(], "init": {"zeros": {}}}, "other": {"shape": [20000], "init": {"zeros": {}}}}})",
          {},
          {}};
}

Tensor all_of(std::int64_t elements, float value) {
  Tensor out = Tensor::uninitialized(DType::kF32, {elements});
  std::fill_n(out.mutable_as<float>(), elements, value);
  return out;
}

/// A custom module that waits until it is let.
struct Gate {
  std::promise<void> entered, open;
  std::shared_future<void> opened = open.get_future().share();
};

Parts with_module(const kit::Body& body) {
  return {
      R"({"v": 1, "variables": {"w": {"shape": [2], "init": {"ones": {}}}, "v": {"shape": [2], "init": {"ones": {}}}},
    "optimizer": {"module": "own.mlir", "learning_rate": 0.5,
                  "inputs": ["variable", "gradient", "learning_rate"], "outputs": ["variable"]}})",
      {{"own.mlir", "(%v: tensor<2xf32>, %g: tensor<2xf32>, %r: tensor<f32>) -> tensor<2xf32>"}},
      {{"own.mlir", body}}};
}

Tensor difference(const Tensor& a, const Tensor& b) {
  Tensor out = Tensor::uninitialized(DType::kF32, a.shape());
  for (std::int64_t i = 0; i < a.size(); ++i) out.mutable_as<float>()[i] = a.as<float>()[i] - b.as<float>()[i];
  return out;
}

}  // namespace

// All of it is small on the wire, so it arrives in the order in which it is sent.
TEST_CASE("ps: every request sees those before it and none after it, whatever is done at the same time") {
  PsBed bed(tables_and_counters(), false);
  const auto client = bed.client();
  variable::VariableStore reference;
  const std::vector<std::string> names{"a", "b", "c", "small", "count"};
  const auto first = client->read(names).get().value();
  for (std::size_t i = 0; i < names.size(); ++i) REQUIRE(reference.create(names[i], first[i].unshared()));
  reference.set_optimizer(bed.program.rules);

  std::mt19937 random(11);
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  const auto one_update = [&]() -> Update {
    const int which = below(5);
    if (which == 3) return {UpdateKind::kGradient, "small", all_of(8, static_cast<float>(below(9)))};
    if (which == 4) return {UpdateKind::kAssignAdd, "count", Tensor::scalar(DType::kS64, std::int64_t{below(9)})};
    const std::vector<std::int32_t> rows{below(2500), below(2500)};
    const std::vector<float> values{1, 2, 3, 4, static_cast<float>(below(5)), 6, 7, 8};
    return {below(3) == 0 ? UpdateKind::kAddRows : UpdateKind::kGradientRows, names[static_cast<std::size_t>(which)],
            floats({2, 4}, values), ids(rows)};
  };
  std::vector<std::pair<Asked<bool>, bool>> updates;
  std::vector<std::pair<Asked<Tensors>, Tensors>> reads;
  std::vector<std::pair<std::uint64_t, std::vector<Update>>> sent;
  for (int step = 0; step < 300; ++step) {
    std::vector<Update> some;
    for (int i = below(3); i >= 0; --i) some.push_back(one_update());
    std::uint64_t sequence = sent.size();
    const bool again = below(8) == 0 && !sent.empty();
    if (again) std::tie(sequence, some) = sent[random() % sent.size()];
    if (!again) sent.emplace_back(sequence, some);
    updates.emplace_back(client->update(sequence, some), !again);
    CHECK(reference.apply(sequence, some) == !again);
    if (below(4) != 0) continue;
    tensor::NamedTensors asked;  // rows of tables, for reads of whole ones may wait and see what comes later
    Tensors wanted;
    for (const std::string& name : names) {
      if (below(2) == 0 || name == "count") continue;
      const Tensor rows = name == "small" ? ids({3, 5}) : ids({below(2500), below(2500), below(2500)});
      asked.emplace_back(name, rows);
      wanted.push_back(*reference.read_rows(name, rows));
    }
    reads.emplace_back(
        client->ask<Tensors>([&](Deadline deadline, auto done) { client->task().read_rows(asked, deadline, done); }),
        wanted);
  }
  for (auto& [answer, applied] : updates) CHECK(answer.get() == applied);
  for (auto& [answer, wanted] : reads) {
    const auto values = answer.get().value();
    REQUIRE(values.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(tensor::same_bytes(values[i], wanted[i]));
  }
  // Slots and counters too.
  const auto state = client
                         ->ask<tensor::NamedTensors>(
                             [&](Deadline deadline, auto done) { client->task().export_state(deadline, done); })
                         .get()
                         .value();
  const auto expected = reference.export_state();
  REQUIRE(state.size() == expected.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    CHECK(state[i].first == expected[i].first);
    CHECK(tensor::same_bytes(state[i].second, expected[i].second));
  }
  std::size_t bytes = 0;
  for (const auto& [name, value] : state)
    if (name.find("/.optimizer/adam/") != std::string::npos || name.find('.') == std::string::npos)
      bytes += value.byte_size();
  CHECK(client->status().variable_bytes == bytes);
}

TEST_CASE("ps: a long update holds up who wants its variable, and nobody else") {
  Gate gate;
  PsBed bed(with_module([&gate](const Tensors& in) -> Result<Tensors> {
              gate.entered.set_value();
              gate.opened.wait();
              return Tensors{difference(in[0], in[1])};
            }),
            false);
  const auto client = bed.client();
  auto update = client->update(0, {{UpdateKind::kGradient, "w", floats({2}, {0.25, 0.5})}});
  REQUIRE(gate.entered.get_future().wait_for(30s) == std::future_status::ready);
  auto again = client->update(0, {{UpdateKind::kGradient, "w", floats({2}, {0.25, 0.5})}});
  auto behind = client->read({"v", "w"});
  CHECK(client->update(1, {{UpdateKind::kAssignAdd, "v", floats({2}, {1, 1})}}).get() == true);
  CHECK(floats(client->read({"v"}).get().value()[0]) == std::vector<float>{2, 2});
  CHECK(client->status().idle_ms == 0);
  CHECK_FALSE(update.is_answered());
  CHECK_FALSE(again.is_answered());
  CHECK_FALSE(behind.is_answered());
  gate.open.set_value();
  CHECK(update.get() == true);
  CHECK(again.get() == false);
  const auto values = behind.get().value();
  CHECK(floats(values[0]) == std::vector<float>{1, 1});  // "v" as it was when the read came
  CHECK(floats(values[1]) == std::vector<float>{0.75, 0.5});
}

TEST_CASE("ps: what fails within a module of one's own fails again for who asks again") {
  int calls = 0;
  PsBed bed(with_module([&calls](const Tensors&) -> Result<Tensors> {
              ++calls;
              return fail(Code::kInternal, "no");
            }),
            false);
  const auto client = bed.client();
  const std::vector<Update> update{{UpdateKind::kGradient, "w", floats({2}, {1, 1})}};
  CHECK(client->update(0, update).get().error().message == "optimizer: 'w': no");
  CHECK(client->update(0, update).get().error().message == "optimizer: 'w': no");
  CHECK(calls == 1);
}

TEST_CASE("ps: who stops a parameter server doesn't wait for what it hasn't begun") {
  Gate gate;
  PsBed bed(with_module([&gate](const Tensors& in) -> Result<Tensors> {
              gate.entered.set_value();
              gate.opened.wait();
              return Tensors{in[0]};
            }),
            false, 1);
  const auto client = bed.client();
  auto begun = client->update(0, {{UpdateKind::kGradient, "w", floats({2}, {1, 1})}});
  auto waits = client->read({"w"});
  REQUIRE(gate.entered.get_future().wait_for(30s) == std::future_status::ready);
  client->status();
  auto ended = std::async(std::launch::async, [&] { bed.end_server(); });
  gate.open.set_value();
  REQUIRE(ended.wait_for(30s) == std::future_status::ready);
  begun.get();
  waits.get();  // with whatever there was time for
}

TEST_CASE("ps: slow readers keep two versions besides the current one, and share what they wait for") {
  constexpr std::int64_t kElements = 20000;
  PsBed bed(one_variable(kElements), false);
  const auto client = bed.client();
  bed.kept.keep(true);
  std::vector<Asked<Tensors>> reads;
  for (int i = 0; i < 6; ++i) {
    reads.push_back(client->read({"w"}));
    reads.push_back(client->read({"other", "w"}));  // of the same version
    client->status();
    REQUIRE(client->assign("w", all_of(kElements, static_cast<float>(i + 1))).get());  // isn't held up
  }
  CHECK(bed.kept.count() == 4);
  CHECK(bed.kept.buffers().size() == 3);  // two of "w", one of "other"
  bed.kept.keep(false);
  bed.kept.release();
  CHECK_FALSE(reads[4].is_answered());  // somebody else has that version
  bed.kept.release();
  for (std::size_t i = 4; i < reads.size(); ++i) {
    const auto values = reads[i].get().value();
    CHECK(floats(values.back().slice_rows(0, 1)) == std::vector<float>{6});
  }
  while (bed.kept.count() > 0) bed.kept.release();
  CHECK(floats(reads[0].get().value()[0].slice_rows(0, 1)) == std::vector<float>{0});
  CHECK(floats(reads[3].get().value()[1].slice_rows(0, 1)) == std::vector<float>{1});
}

TEST_CASE("ps: a read that waits is forgotten with who asked, and when it is too late") {
  constexpr std::int64_t kElements = 20000;
  PsBed bed(one_variable(kElements), false);
  const auto client = bed.client();
  bed.kept.keep(true);
  std::vector<Asked<Tensors>> slow;
  for (int i = 0; i < 2; ++i) {
    slow.push_back(client->read({"w"}));
    REQUIRE(client->assign("w", all_of(kElements, static_cast<float>(i + 1))).get());
  }
  auto late = client->read({"w"}, Deadline::after(50ms));
  auto gone = bed.client("gone");
  auto forgotten = gone->read({"w"});
  gone->status();
  CHECK(late.get().error().code == Code::kDeadlineExceeded);
  gone.reset();
  CHECK(forgotten.get().error().code == Code::kCancelled);
  auto patient = client->read({"w"});
  client->status();
  CHECK(bed.kept.count() == 2);
  bed.kept.keep(false);
  bed.kept.release();
  CHECK(floats(patient.get().value()[0].slice_rows(0, 1)) == std::vector<float>{2});
  bed.kept.release();
}

TEST_CASE("ps: a reader that takes nothing lets go of its version when its connection ends") {
  constexpr std::int64_t kElements = 6'000'000;  // more than a connection takes without an acknowledgment
  PsBed bed(one_variable(kElements), true);
  const auto client = bed.client();
  std::vector<std::unique_ptr<PsClient>> stuck;
  std::promise<void> end;
  const auto ended = end.get_future().share();
  for (int i = 0; i < 2; ++i) {
    stuck.push_back(bed.client("stuck"));
    static_cast<void>(stuck.back()->read({"w"}));
    stuck.back()->status();
    stuck.back()->endpoint().post([ended] { ended.wait(); });
    REQUIRE(client->assign("w", all_of(kElements, static_cast<float>(i + 1))).get());
  }
  auto read = client->read({"w"});
  client->status();
  end.set_value();
  stuck.clear();
  CHECK(floats(read.get().value()[0].slice_rows(0, 1)) == std::vector<float>{2});
}
