// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "tfd/resolve/spec_source.hpp"

using namespace tfd;
using namespace tfd::resolve;
using namespace std::chrono_literals;

namespace {

struct Feed {
  process::Pipe pipe = std::move(*process::make_pipe());
  void say(std::string_view text) const {
    REQUIRE(::write(pipe.write.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void end() { pipe.write.reset(); }
  int fd() const { return pipe.read.get(); }
};

const char* const kSpec = R"({"cluster": {"worker": ["h1:1", "h2:1"]}})";
Deadline soon() { return Deadline::after(5s); }

}  // namespace

TEST_CASE("input: a document ends at its brace, the lines behind it follow") {
  Feed feed;
  feed.say(" \n{\"a}\": \"\\\"}{\", \"b\": [{}]}  \n\n{\"op\": 1}\nlast");
  InputReader input(feed.fd());
  CHECK(**input.next_document(soon(), {}) == R"({"a}": "\"}{", "b": [{}]})");
  CHECK(**input.next_line(soon()) == "");  // the blank line is a line, the rest of the document's is not
  CHECK(**input.next_line(soon()) == R"({"op": 1})");
  feed.end();
  CHECK(**input.next_line(soon()) == "last");
  CHECK(*input.next_line(soon()) == std::nullopt);
}

TEST_CASE("input: a document is taken before the end of file") {
  Feed feed;
  feed.say(kSpec);
  InputReader input(feed.fd());
  CHECK(**input.next_document(soon(), {}) == kSpec);
  feed.say("\r\nnext\r\n");
  CHECK(**input.next_line(soon()) == "next");
}

TEST_CASE("input: says what came instead of a document") {
  const auto read = [](std::string_view text) {
    Feed feed;
    feed.say(text);
    feed.end();
    InputReader input(feed.fd());
    return input.next_document(soon(), {});
  };
  CHECK(*read(" \n ") == std::nullopt);
  CHECK(read("hello").error().message == "stdin: a spec is a JSON object, but this begins with 'h'");
  CHECK(read("{\"a\": ").error().code == Code::kDataLoss);
  CHECK(**read("\xef\xbb\xbf{}") == "{}");
}

TEST_CASE("input: many lines cost no quadratic time") {
  const auto cost = [](int count) {  // CPU time of this thread, in seconds
    char path[] = "/tmp/tfd-test-XXXXXX";
    const process::Fd fd(::mkstemp(path));
    ::unlink(path);
    std::string lines;
    for (int i = 0; i < count; ++i) lines += "{\"op\": \"schedule\"}\n";
    REQUIRE(::write(fd.get(), lines.data(), lines.size()) == static_cast<ssize_t>(lines.size()));
    ::lseek(fd.get(), 0, SEEK_SET);
    InputReader input(fd.get());
    timespec begin{}, end{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    int read = 0;
    while (*input.next_line(soon())) ++read;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    CHECK(read == count);
    return static_cast<double>(end.tv_sec - begin.tv_sec) + 1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
  };
  CHECK(cost(320000) < 64 * cost(20000));  // 16 times as many lines; quadratic: 256
}

TEST_CASE("spec source: stdin before TF_CONFIG, and an empty stdin falls through") {
  Environment env;
  env.set("TF_CONFIG", R"({"cluster": {"ps": ["p:1"]}})");
  Feed full;
  full.say(kSpec);
  InputReader input(full.fd());
  CHECK(find_spec({}, input, env, soon(), {})->cluster.has_job("worker"));
  Feed empty;
  empty.end();
  InputReader nothing(empty.fd());
  CHECK(find_spec({}, nothing, env, soon(), {})->cluster.has_job("ps"));
  CHECK(find_spec({}, nothing, Environment(), soon(), {}).error().code == Code::kUsage);
}

TEST_CASE("spec source: a silent stdin never hides TF_CONFIG") {
  Environment env;
  env.set("TF_CONFIG", R"({"cluster": {"ps": ["p:1"]}})");
  Feed silent;
  InputReader input(silent.fd());
  std::string said;
  const Log log("resolve",
                [&](LogLevel, std::string_view, std::string_view text) { said += std::string(text) + '\n'; });
  const auto ask = [&](const SpecSource& source) { return find_spec(source, input, env, soon(), log); };
  CHECK(ask({.task = std::nullopt, .patience = 1ms})->cluster.has_job("ps"));
  CHECK(said == "no cluster spec on stdin: the cluster is TF_CONFIG's (--cluster - waits for one)\n");
  said.clear();
  CHECK(ask({.task = std::nullopt, .prefers_environment = true, .patience = 1h})->cluster.has_job("ps"));
  env.set("OMPI_COMM_WORLD_RANK", "0");  // mpirun keeps rank 0's open
  env.set("OMPI_COMM_WORLD_SIZE", "2");
  CHECK(ask({.task = std::nullopt, .patience = 1h})->cluster.has_job("ps"));
  CHECK(said.empty());
}

TEST_CASE("spec source: TF_CONFIG without a task of any job names no cluster") {
  Environment env;
  env.set("TF_CONFIG", "{}");
  Feed feed;
  feed.say(kSpec);
  InputReader input(feed.fd());
  CHECK(find_spec({.task = std::nullopt, .prefers_environment = true}, input, env, soon(), {})
            ->cluster.has_job("worker"));
  Feed empty;
  empty.end();
  InputReader nothing(empty.fd());
  CHECK(find_spec({}, nothing, env, soon(), {}).error().code == Code::kUsage);
}

TEST_CASE("spec source: a message names only options that the tool has") {
  const std::vector<std::string_view> own{"--cluster", "--jobs", "--hostfile"};
  CHECK(in_words_of_tool("give --hostfile FILE, or --port-base N: use mpirun's --map-by slot", "mpi", own) ==
        "give --hostfile FILE, or tfd-resolve mpi --port-base N: use mpirun's --map-by slot");
  CHECK(in_words_of_tool("give --tasks-per-node (srun --het-group says where)", "slurm", own) ==
        "give tfd-resolve slurm --tasks-per-node (srun --het-group says where)");
  CHECK(in_words_of_tool("--task is missing", "env", {}) == "tfd-resolve tf-config --task is missing");
  CHECK(in_words_of_tool("a--b -- '--x' ---- --1", "mpi", {}) == "a--b -- '--x' ---- --1");
}

TEST_CASE("spec source: a tool that needs none leaves stdin alone") {
  Feed silent;
  InputReader input(silent.fd());
  const auto config = find_spec({.required = false}, input, Environment(), soon(), {});
  REQUIRE(config);
  CHECK(config->cluster.empty());
}

TEST_CASE("spec source: a silent stdin is waited for, announced once, and given up") {
  Feed silent;
  InputReader input(silent.fd());
  int told = 0;
  const Log log("resolve", [&](LogLevel, std::string_view, std::string_view) { ++told; });
  const auto config = find_spec({}, input, Environment(), Deadline::after(2100ms), log);
  CHECK(config.error().code == Code::kDeadlineExceeded);
  CHECK(told == 1);
}

TEST_CASE("spec source: --task overrides and is checked") {
  const auto with_task = [](const char* spec, cluster::TaskId task) {
    Feed feed;
    feed.say(spec);
    InputReader input(feed.fd());
    return find_spec({.task = task}, input, Environment(), soon(), {});
  };
  CHECK(with_task(kSpec, {"worker", 1})->task == cluster::TaskId{"worker", 1});
  CHECK(with_task(kSpec, {"ps", 0}).error().message == "cluster spec: task ps:0: no job 'ps' in the cluster");
  CHECK(with_task("{}", {"ps", 0}).error().message == "cluster spec: the cluster is empty: no task in any job");
}

TEST_CASE("spec source: --cluster takes a file, a FIFO that stays open, none, or says what it can't") {
  Feed feed;
  feed.say(kSpec);
  InputReader input(-1);
  const std::string path = "/proc/self/fd/" + std::to_string(feed.fd());
  REQUIRE(find_spec({.cluster = path}, input, Environment(), soon(), {}));
  feed.pipe.read.reset();
  CHECK_FALSE(process::reader_is_gone(feed.pipe.write.get()));  // the InputReader holds it
  CHECK(find_spec({.cluster = "none"}, input, Environment(), soon(), {})->cluster.empty());
  CHECK(find_spec({.cluster = "/nowhere/spec.json"}, input, Environment(), soon(), {}).error().code == Code::kNotFound);
  CHECK(find_spec({.cluster = "gce"}, input, Environment(), soon(), {}).error().code == Code::kUsage);
  CHECK(find_spec({.cluster = "auto"}, input, Environment(), soon(), {}).error().code == Code::kFailedPrecondition);
  CHECK(find_spec({.cluster = "/dev/null"}, input, Environment(), soon(), {}).error().message ==
        "/dev/null: empty (expected a cluster spec)");
}
