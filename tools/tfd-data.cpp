// SPDX-License-Identifier: Apache-2.0
//
// tfd-data: inspects a dataset before training on it.
#include <algorithm>

#include "data/report.hpp"
#include "data/subject.hpp"
#include "main.hpp"
#include "plugin_options.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/cli/tool.hpp"
#include "tfd/data/write.hpp"
#include "tfd/strategy/input.hpp"

namespace {

using namespace tfd;
using data_tool::kAll;
using data_tool::OpenSubject;
using data_tool::Skipped;
using data_tool::Subject;

constexpr std::int64_t kShown = 3;

struct Asked {
  data_tool::Request request;
  std::optional<std::int64_t> take;
  bool count = false;
  std::string write;
  bool bench = false;
  Duration duration = std::chrono::seconds(10);
  std::optional<std::int64_t> replicas, workers, worker;
  std::string compat;
};

std::vector<cli::Option> options(Asked& a) {
  return {
      {.names = "FILE",
       .placeholder = "FILE|-",
       .help = "A pipeline, or a program",
       .target = &a.request.file,
       .required = true,
       .complete = "file"},
      {.names = "DATASET",
       .help = "Which dataset of the program; may be left out if there is only one",
       .target = &a.request.dataset,
       .complete = "tfd-run --list datasets PROGRAM"},
      {.names = "--take",
       .placeholder = "N",
       .help = "Only the first N elements",
       .target = &a.take,
       .shown_default = "3, or steps; with --count, --write and --bench all",
       .least = 0},
      {.names = "--count", .help = "Print the number of elements", .target = &a.count},
      {.names = "--write",
       .placeholder = "FILE",
       .help = "Write the elements there: .tfrecord, .tfrecord.gz, or .npy (one field)",
       .target = &a.write,
       .complete = "file"},
      {.names = "--bench", .help = "Measure how fast the elements come", .target = &a.bench},
      {.names = "--duration",
       .placeholder = "DUR",
       .help = "With --bench: for how long at most",
       .target = &a.duration},
      {.names = "--replicas",
       .placeholder = "N",
       .help = "Show which replica gets which elements, with N replicas per worker",
       .target = &a.replicas,
       .shown_default = "1",
       .least = 1,
       .most = 1024},
      {.names = "--workers",
       .placeholder = "N",
       .help = "Show which worker gets which elements, with N workers",
       .target = &a.workers,
       .shown_default = "1",
       .least = 1,
       .most = 4096},
      {.names = "--worker",
       .placeholder = "I",
       .help = "With --workers: only what this one gets",
       .target = &a.worker,
       .shown_default = "all of them",
       .least = 0},
      {.names = "--compat",
       .placeholder = "WHAT",
       .help = "With --replicas and --workers: split the data exactly as TensorFlow 2.21 does",
       .target = &a.compat,
       .choices = {"tensorflow"}},
      {.names = "--set",
       .placeholder = "PATH=VALUE",
       .help = "Override a value of the program; may be repeated",
       .target = &a.request.overrides,
       .complete = "tfd-run --list settings PROGRAM"},
      {.names = "--data-root",
       .placeholder = "DIR",
       .help = "Where relative paths of data sets start (default: the directory of FILE)",
       .target = &a.request.data_root,
       .env = "TFD_DATA_ROOT"},
  };
}

/// Counts ignored errors and keeps the first. Thread-safe.
class Counter {
 public:
  void add(const Error& error) {
    const MutexLock lock(mutex_);
    if (skipped_.count++ == 0) skipped_.first = error.message;
  }
  Skipped seen() const {
    const MutexLock lock(mutex_);
    return skipped_;
  }

 private:
  mutable Mutex mutex_;
  Skipped skipped_ TFD_GUARDED_BY(mutex_);
};

tl::unexpected<Error> never_ends(std::string_view what) {
  return fail(Code::kInvalidArgument, "the dataset never ends: {} needs --take", what);
}

Result<std::int64_t> count_elements(const Asked& a, const OpenSubject& subject) {
  if (subject.is_endless && !a.take) return never_ends("--count");
  const auto known = subject.dataset->cardinality();
  if (known && *known != data::Dataset::kInfinite) return std::min(*known, a.take.value_or(kAll));
  const auto iterator = TFD_TRY(subject.dataset->iterate());
  return iterator->skip(a.take.value_or(kAll));
}

Result<std::int64_t> write_elements(const Asked& a, const OpenSubject& subject) {
  if (subject.is_endless && !a.take) return never_ends("--write");
  const auto iterator = TFD_TRY(subject.dataset->iterate());
  const auto& spec = subject.dataset->spec();
  const std::int64_t most = a.take.value_or(kAll);
  return a.write.ends_with(".npy") ? data::write_npy(a.write, spec, *iterator, most)
                                   : data::write_tfrecord(a.write, spec, *iterator, most);
}

Result<std::vector<data::Element>> first_elements(const Asked& a, const OpenSubject& subject) {
  std::vector<data::Element> elements;
  const auto iterator = TFD_TRY(subject.dataset->iterate());
  while (static_cast<std::int64_t>(elements.size()) < a.take.value_or(kShown)) {
    auto element = TFD_TRY(iterator->next());
    if (!element) break;
    elements.push_back(*std::move(element));
  }
  return elements;
}

Result<std::string> answer(const Asked& a, const OpenSubject& subject, const Counter& counter, cli::Io& io) {
  if (a.count) {
    const std::int64_t elements = TFD_TRY(count_elements(a, subject));
    return data_tool::describe_count(elements, counter.seen());
  }
  if (!a.write.empty()) {
    const std::int64_t elements = TFD_TRY(write_elements(a, subject));
    return data_tool::describe_count(elements, counter.seen());
  }
  if (a.bench) {
    if (io.err.is_terminal())
      (void)io.err.write(fmt::format("tfd-data: measuring for {}\n", format_duration(a.duration)));
    const auto speed = TFD_TRY(data_tool::measure(*subject.dataset, a.take.value_or(kAll), a.duration));
    return data_tool::describe_speed(speed, counter.seen());
  }
  const auto elements = TFD_TRY(first_elements(a, subject));
  return data_tool::describe(*subject.dataset, subject.is_endless, elements, counter.seen());
}

bool is_distributed(const Asked& a) { return a.replicas || a.workers || a.worker || !a.compat.empty(); }

/// Prints a line for each replica and step.
Result<void> show_shares(const Asked& a, const Subject& subject, cli::Io& io) {
  const int workers = static_cast<int>(a.workers.value_or(1)), each = static_cast<int>(a.replicas.value_or(1));
  const strategy::Distribution over{.workers = workers,
                                    .replicas = workers * each,
                                    .compat = a.compat.empty() ? Compat::kNone : Compat::kTensorflow,
                                    .between_graph = workers > 1};
  const auto shares = TFD_TRY(strategy::DistributedDataset::of_plan(subject.plan, subject.make, over));
  const data::ShuffleSeeds seeds{data::draw_seed(), data::draw_seed()};  // the same order for all workers
  auto iterator = TFD_TRY(shares.iterate({.seeds = seeds}));
  for (std::int64_t step = 0; step < a.take.value_or(kShown); ++step) {
    const auto element = TFD_TRY(iterator.next());
    if (!element) break;
    std::string lines;
    for (int replica = 0; replica < over.replicas; ++replica)
      if (!a.worker || *a.worker == replica / each)
        lines += data_tool::describe_share({step, replica / each, replica}, element->spec,
                                           element->on(static_cast<std::size_t>(replica)));
    TFD_TRY(io.out.write(lines));
  }
  return {};
}

Result<void> check_distribution(const Asked& a) {
  if (!is_distributed(a)) return {};
  if (a.count || !a.write.empty() || a.bench)
    return fail(Code::kUsage,
                "--replicas and --workers show who gets what: --count, --write and --bench don't go with them");
  const std::int64_t workers = a.workers.value_or(1);
  if (a.worker.value_or(0) >= workers)
    return fail(Code::kUsage, "--worker {}: there {} {} (--workers), the first of which is 0", *a.worker,
                workers == 1 ? "is" : "are", counted(static_cast<std::uint64_t>(workers), "worker"));
  return {};
}

Result<void> check(const Asked& a) {
  if (int{a.count} + int{!a.write.empty()} + int{a.bench} > 1)
    return fail(Code::kUsage, "--count, --write and --bench don't go together");
  const bool is_known =
      a.write.ends_with(".tfrecord") || a.write.ends_with(".tfrecord.gz") || a.write.ends_with(".npy");
  if (!a.write.empty() && !is_known)
    return fail(Code::kUsage, "--write {}: the name must end in .tfrecord, .tfrecord.gz or .npy", printable(a.write));
  return {};
}

Result<cli::ExitCode> run(const Asked& a, cli::Io& io) {
  TFD_TRY(check(a));
  TFD_TRY(check_distribution(a));
  Counter counter;
  const Subject subject = TFD_TRY(data_tool::find_subject(
      a.request, [&](const Error& error) { counter.add(error); }, io));
  if (is_distributed(a))
    TFD_TRY(show_shares(a, subject, io));
  else
    TFD_TRY(io.out.write(TFD_TRY(answer(a, TFD_TRY(data_tool::open(subject)), counter, io))));
  if (const Skipped skipped = counter.seen(); skipped.count > 0)
    io.log.warning("{} left out; the first: {}", counted(static_cast<std::uint64_t>(skipped.count), "error"),
                   skipped.first);
  return cli::ExitCode::kDone;
}

}  // namespace

int TFD_MAIN(tfd_data)(int argc, char** argv) {
  keep_plugins_quiet();
  Asked asked;
  return cli::run_tool(
      {.name = "tfd-data",
       .summary = "look into a dataset before a training does",
       .usage = "FILE|- [DATASET] [OPTIONS]",
       .options = options(asked),
       .examples = {{"tfd-data pipeline.json", "the element spec, the number of elements, the first elements"},
                    {"tfd-data program.json train --count", "reads it to its end: {\"elements\": 1000}"},
                    {"tfd-data program.json train --bench --duration 5s", "how many elements a second"},
                    {"tfd-data pipeline.json --replicas 3 --workers 2 --worker 0",
                     "what each replica gets, step by step"},
                    {"tfd-data pipeline.json --write rows.tfrecord.gz", "a tf.Example for each element"}},
       .group = "training",
       .run = [&](cli::Io& io) { return run(asked, io); }},
      argc, argv);
}
