// SPDX-License-Identifier: Apache-2.0
//
// Trainings whose checkpoints the parameter servers write while steps go on.
#include "training.hpp"

#include <future>
#include <thread>

#include "tfd/train/directory_lock.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;
namespace fs = std::filesystem;

namespace {

constexpr std::uint16_t kProbe = 36, kWritePart = 37, kHurryParts = 39;

std::vector<std::string> by_servers(const std::string& directory, const std::string& steps) {
  return {R"(train.checkpoint={"dir": ")" + directory + R"(", "every": 20, "by": "servers"})", "train.steps=" + steps};
}

std::int32_t number_in(const std::string& checkpoint, const std::string& name) {
  const auto loaded = variable::load_checkpoint(checkpoint);
  if (!loaded) FAIL(loaded.error().message);
  for (const auto& [key, value] : loaded->state)
    if (key == name) return number(value);
  return -1;
}

bool has_unfinished(const std::string& directory) {
  return std::ranges::any_of(test::names_in(directory), [](const std::string& name) {
    return name.starts_with('.') && name != train::kDirectoryLockName;
  });
}

/// A request to a task that is kept, for as long as the test likes.
struct Kept {
  std::promise<void> came;
  std::optional<transport::Responder> responder;
};

}  // namespace

TEST_CASE("checkpoints by servers: are of their step exactly, and the next run continues from the newest") {
  TemporaryDirectory directory;
  Bed bed;
  {
    Training training(bed, by_servers(directory.path(), "45"));
    const auto summary = training.run_well();
    const auto saved = training.of("checkpoint");
    REQUIRE(saved.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      const int step = i == 2 ? 45 : 20 * static_cast<int>(i + 1);
      CHECK(saved[i]["step"] == step);
      const auto path = saved[i]["path"].get<std::string>();
      CHECK(fs::exists(path + "/part-2-of-2.safetensors"));
      CHECK(number_in(path, "v") == step);
      CHECK(number_in(path, "n") == step);
    }
    CHECK(saved[2]["path"] == summary.checkpoint);
  }
  CHECK_FALSE(has_unfinished(directory.path()));
  Training training(bed, by_servers(directory.path(), "60"));
  CHECK(training.run_well().first_step == 45);
  CHECK(training.of("start")[0]["resumed_from"].get<std::string>().ends_with("step-00000045"));
  CHECK(value_in(directory.path(), "v") == 60);
}

TEST_CASE("checkpoints by servers: steps go on while one is written, and the next one waits for it") {
  TemporaryDirectory directory;
  Bed bed;
  Kept kept;
  bed.takes = [&](const std::string& task, std::uint16_t kind, transport::Responder& responder) {
    if (task != "ps:1" || kind != kWritePart || kept.responder) return false;
    kept.responder.emplace(std::move(responder));
    kept.came.set_value();
    return true;
  };
  Training training(bed, by_servers(directory.path(), "45"));
  training.on_event = [&](const json& event) {
    if (event["event"] != "step" || event["step"] != 40) return;  // made before that of step 20 is written
    CHECK(training.of("checkpoint").empty());
    kept.came.get_future().wait();
    kept.responder->reply(fail(Code::kResourceExhausted, "no space left on device"));
  };
  std::vector<std::string> said;
  training.options.log =
      Log("coordinate", [&](LogLevel, std::string_view, std::string_view text) { said.emplace_back(text); });
  CHECK(training.run_well().step == 45);
  REQUIRE(training.of("checkpoint").size() == 2);
  CHECK(training.of("checkpoint")[0]["step"] == 40);
  REQUIRE(said.size() == 1);
  CHECK(said[0] == "cannot write a checkpoint of step 20: ps:1: no space left on device");
  CHECK_FALSE(has_unfinished(directory.path()));
}

TEST_CASE(
    "checkpoints by servers: one that is waited for is in a hurry, which a server hears after what it is to write") {
  TemporaryDirectory directory;
  Bed bed;
  Kept kept;
  bed.takes = [&](const std::string& task, std::uint16_t kind, transport::Responder& responder) {
    if (task == "ps:1" && kind == kWritePart) {
      kept.responder.emplace(std::move(responder));
      return true;
    }
    if (task == "ps:1" && kind == kHurryParts && kept.responder)  // as after the last step, which nothing follows
      std::exchange(kept.responder, std::nullopt)->reply(fail(Code::kResourceExhausted, "no space left on device"));
    return false;
  };
  Training training(bed, by_servers(directory.path(), "10"));
  std::vector<std::string> said;
  training.options.log =
      Log("coordinate", [&](LogLevel, std::string_view, std::string_view text) { said.emplace_back(text); });
  CHECK_FALSE(training.run());
  REQUIRE(said.size() == 1);
  CHECK(said[0] == "cannot write a checkpoint of step 10: ps:1: no space left on device");
}

TEST_CASE(
    "checkpoints by servers: a server that is lost while it writes costs that checkpoint, and the training goes on") {
  for (const std::string steps : {"100", "40"}) {  // 40: it is the last checkpoint
    CAPTURE(steps);
    TemporaryDirectory directory;
    Bed bed;
    Kept kept;
    int written = 0;
    bed.takes = [&](const std::string& task, std::uint16_t kind, transport::Responder& responder) {
      if (task != "ps:1" || kind != kWritePart || ++written != 2) return false;
      kept.responder.emplace(std::move(responder));
      kept.came.set_value();
      return true;
    };
    Training training(bed, by_servers(directory.path(), steps));
    std::jthread killer([&, came = kept.came.get_future()] {
      came.wait();
      bed.kill("ps:1");
    });
    training.on_lost = [&](Error& lost) {
      CHECK(lost.task == "ps:1");
      killer.join();
      CHECK(value_in(directory.path(), "v") == 20);
      bed.start("ps:1");
      return train::ServerLoss{1, 3, 20s};
    };
    CHECK(training.run_well().reason == "done");
    REQUIRE(training.of("server").size() == 1);
    CHECK(training.of("start")[1]["step"] == 20);
    CHECK(value_in(directory.path(), "v") == std::stoi(steps));
    CHECK(value_in(directory.path(), "n") == std::stoi(steps));
    CHECK_FALSE(has_unfinished(directory.path()));
  }
}

TEST_CASE("checkpoints by servers: where one doesn't see the directory the coordinator writes, and says so once") {
  TemporaryDirectory directory;
  Bed bed;
  bed.takes = [&](const std::string& task, std::uint16_t kind, transport::Responder& responder) {
    if (task != "ps:1" || kind != kProbe) return false;
    responder.reply(fail(Code::kNotFound, "cannot open /ck: no such file or directory"));
    return true;
  };
  Training training(bed, by_servers(directory.path(), "45"));
  std::vector<std::string> said;
  training.options.log =
      Log("coordinate", [&](LogLevel, std::string_view, std::string_view text) { said.emplace_back(text); });
  training.run_well();
  REQUIRE(said.size() == 1);
  CHECK(said[0] == "the coordinator writes the checkpoints itself: ps:1: cannot open /ck: no such file or directory");
  REQUIRE(training.of("checkpoint").size() == 3);
  CHECK(training.of("checkpoint")[0]["path"].get<std::string>().ends_with("step-00000020.safetensors"));
  CHECK(value_in(directory.path(), "v") == 45);
  CHECK_FALSE(has_unfinished(directory.path()));
}

TEST_CASE("checkpoints by servers: of few bytes the coordinator writes one file, unless the program says who") {
  for (const std::string by : {"auto", "coordinator"}) {
    TemporaryDirectory directory;
    Bed bed;
    bed.takes = [&](const std::string&, std::uint16_t kind, transport::Responder&) {
      CHECK(kind != kProbe);
      return false;
    };
    Training training(bed, {R"(train.checkpoint={"dir": ")" + directory.path() + R"(", "by": ")" + by + R"("})"});
    CHECK(training.run_well().checkpoint.ends_with("step-00000050.safetensors"));
  }
}
