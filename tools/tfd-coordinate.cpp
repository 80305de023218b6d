// SPDX-License-Identifier: Apache-2.0
//
// tfd-coordinate: ClusterCoordinator on parameter servers. Trains the program, or runs the closures it is given.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "coordinate/by_role.hpp"
#include "tfd/base/text.hpp"
#include "tfd/cli/progress.hpp"
#include "tfd/cli/tool.hpp"
#include "tfd/coordinate/closures.hpp"
#include "tfd/coordinate/trainer.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/process/signals.hpp"
#include "tfd/resolve/spec_source.hpp"
#include "tfd/runtime/key.hpp"

namespace {

using namespace tfd;

struct Asked {
  std::string program;
  std::string cluster;
  std::string closures;
  std::vector<std::string> overrides;
  bool check = false;
  bool ordered = false;
  bool keep_going = false;
  bool keep_servers = false;
  bool by_role = false;
  bool follow_checkpoints = false;
  bool insecure = false;
  std::string data_root;
  std::optional<Bytes> inline_limit;
  std::string results = "results";
  Duration timeout = std::chrono::seconds(30);
  Duration grace = std::chrono::seconds(25);
};

std::vector<cli::Option> options(Asked& a) {
  return {
      {.names = "PROGRAM",
       .help = "The program file, JSON",
       .target = &a.program,
       .required = true,
       .complete = "file"},
      {.names = "--cluster",
       .placeholder = "FILE|-|KIND",
       .help = "The cluster spec; else stdin, else TF_CONFIG",
       .target = &a.cluster},
      {.names = "--closures",
       .placeholder = "FILE|-",
       .help = "Run these closures, JSON lines, instead of the train block",
       .target = &a.closures},
      {.names = "--set",
       .placeholder = "PATH=VALUE",
       .help = "Override a value of the program; may be repeated",
       .target = &a.overrides},
      {.names = "--check", .help = "Check the program, and run nothing", .target = &a.check},
      {.names = "--ordered", .help = "Answer closures in the order of their lines", .target = &a.ordered},
      {.names = "--inline-limit",
       .placeholder = "SIZE",
       .help = "Write larger results of closures to .npy files",
       .target = &a.inline_limit},
      {.names = "--results", .placeholder = "DIR", .help = "Where those files go", .target = &a.results},
      {.names = "--keep-going", .help = "A closure that fails cancels no others", .target = &a.keep_going},
      {.names = "--keep-servers", .help = "Leave the tasks running at the end", .target = &a.keep_servers},
      {.names = "--by-role",
       .help = "Coordinate as chief, serve as worker or ps, evaluate as evaluator",
       .target = &a.by_role},
      {.names = "--follow-checkpoints",
       .help = "Train nothing: evaluate every checkpoint that appears",
       .target = &a.follow_checkpoints},
      {.names = "--insecure",
       .help = "With --by-role: listen where other hosts can connect, without a key",
       .target = &a.insecure},
      {.names = "--data-root",
       .placeholder = "DIR",
       .help = "With --by-role: where relative paths of data sets start",
       .target = &a.data_root},
      {.names = "--timeout",
       .placeholder = "DUR",
       .help = "How long to wait for the spec, then for the tasks",
       .target = &a.timeout,
       .env = "TFD_TIMEOUT"},
      {.names = "--grace",
       .placeholder = "DUR",
       .help = "From SIGTERM or SIGINT to the end, checkpoint included",
       .target = &a.grace},
  };
}

// --- signals
// -----------------------------------------------------------------------------------------------------------

/// Reads the signals while a training runs: SIGUSR1 checkpoints, SIGTERM and SIGINT end it, again a second later at
/// once.
class SignalThread {
 public:
  SignalThread(process::SignalSource source, process::Pipe ending, std::shared_ptr<coordinate::Interrupts> interrupts,
               Duration grace, cli::Io& io)
      : source_(std::move(source)),
        ending_(std::move(ending)),
        interrupts_(std::move(interrupts)),
        grace_(grace),
        io_(io),
        thread_([this] { run(); }) {}
  ~SignalThread() { ending_.write.reset(); }

  /// Before this there is nothing to save: a signal ends the process as it would have.
  void begin_training() { training_ = true; }
  int stopped_by() const { return stopped_by_; }

 private:
  void run();
  void take(int signal);

  process::SignalSource source_;
  process::Pipe ending_;
  const std::shared_ptr<coordinate::Interrupts> interrupts_;  // with the trainer
  const Duration grace_;
  cli::Io& io_;
  std::atomic<bool> training_{false};
  std::atomic<int> stopped_by_{0};
  Clock::time_point stopped_at_{};
  Deadline gives_up_ = Deadline::never();
  std::jthread thread_;  // last: uses all of the above
};

void SignalThread::run() {
  pollfd fds[] = {{source_.fd(), POLLIN, 0}, {ending_.read.get(), POLLIN, 0}};
  for (;;) {
    const int ready = ::poll(fds, 2, gives_up_.poll_ms());
    if (ready > 0 && fds[1].revents != 0) return;
    while (const auto signal = source_.next()) take(*signal);
    if (gives_up_.expired()) {
      // The main thread waits for tasks that don't answer. What is on disk is whole: checkpoints are renamed into
      // place.
      (void)io_.err.write(cli::error_line(
          "tfd-coordinate",
          {Code::kDeadlineExceeded,
           fmt::format(
               "did not come to an end within the grace of {}; the same command continues from the last checkpoint",
               format_duration(grace_)),
           {}}));
      ::_exit(static_cast<int>(cli::ExitCode::kTryAgain));
    }
  }
}

void SignalThread::take(int signal) {
  if (signal == SIGUSR1) return interrupts_->ask_checkpoint();
  const auto now = Clock::now();
  if (!training_) process::die_of_signal(signal);
  if (stopped_by_ != 0) {
    if (now - stopped_at_ >= std::chrono::seconds(1)) process::die_of_signal(signal);
    return;  // the same Ctrl-C once more, passed on by somebody
  }
  stopped_at_ = now;
  stopped_by_ = signal;
  gives_up_ = Deadline::after(grace_);
  io_.log.info("stopping at the next step, within {}", format_duration(grace_));
  interrupts_->ask_stop();
}

// --- the two jobs
// ------------------------------------------------------------------------------------------------------

std::string format_metrics(const coordinate::Metrics& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics) text += fmt::format("{}{} {:.4g}", text.empty() ? "" : ", ", name, value);
  return text;
}

void say(cli::Io& io, const std::string& line) {
  if (!io.quiet) (void)io.err.write(fmt::format("tfd-coordinate: {}\n", printable(line)));
}

Result<coordinate::CoordinatorOptions> coordinator_options(const Asked& a, const cluster::ClusterConfig& config,
                                                           const cli::Io& io) {
  coordinate::CoordinatorOptions out;
  out.connect_timeout = a.timeout;
  out.keep_going = a.keep_going;
  out.keep_servers = a.keep_servers;
  out.log = io.log.for_room("coordinate");
  out.make_endpoint = runtime::endpoints_under(TFD_TRY(runtime::find_key("", config, io.env)));
  return out;
}

Result<int> run_training(const Asked& a, const program::Program& program, const cluster::ClusterConfig& config,
                         cli::Io& io) {
  constexpr int kSignals[] = {SIGUSR1, SIGTERM, SIGINT};
  auto source = TFD_TRY(process::SignalSource::make(kSignals));
  coordinate::TrainOptions train;
  train.interrupts = std::make_shared<coordinate::Interrupts>();  // with the signal thread
  SignalThread signals(std::move(source), TFD_TRY(process::make_pipe()), train.interrupts, a.grace, io);
  cli::Progress progress(io, "tfd-coordinate", program.train->steps.value_or(0));
  train.grace = a.grace;
  train.log = io.log.for_room("coordinate");
  train.write_event = [&](std::string_view line) { return io.out.write(line); };
  train.on_progress = [&](const coordinate::TrainProgress& at) {
    progress.update(at.step, format_metrics(at.metrics));
  };
  train.say = [&](const std::string& line) { progress.say(line); };
  const auto connect = [&](coordinate::CoordinatorOptions with) {
    auto coordinator = coordinate::ClusterCoordinator::connect(program, config, std::move(with));
    if (coordinator) signals.begin_training();
    return coordinator;
  };
  const auto job = a.follow_checkpoints ? coordinate::follow_checkpoints : coordinate::train;
  const auto summary = TFD_TRY(job(program, connect, TFD_TRY(coordinator_options(a, config, io)), train));
  progress.finish();
  if (summary.reason == "nothing_left") {
    // With an evaluation there was a coordinator, which has said it.
    if (!a.keep_servers && !program.train->evaluate)
      (void)coordinate::say_goodbye(config, TFD_TRY(coordinator_options(a, config, io)).make_endpoint,
                                    Deadline::after(std::chrono::seconds(2)));
    return 0;
  }
  if (a.follow_checkpoints) {
    say(io, fmt::format("evaluated up to step {}: {}", summary.step, format_metrics(summary.metrics)));
    return 0;
  }
  const double seconds = std::chrono::duration<double>(summary.elapsed).count();
  const std::int64_t steps = summary.step - summary.first_step;
  const std::string metrics = format_metrics(summary.metrics);
  say(io, fmt::format("{}{} step{} in {:.1f}s ({:.0f} a second){}{}",
                      summary.reason == "interrupted" ? "interrupted: " : "", steps, steps == 1 ? "" : "s", seconds,
                      static_cast<double>(steps) / std::max(seconds, 1e-3), metrics.empty() ? "" : ", ", metrics));
  if (summary.reason != "interrupted") return 0;
  if (summary.checkpoint.empty()) process::die_of_signal(signals.stopped_by());  // nothing to continue from
  say(io, fmt::format("the same command continues from {}", summary.checkpoint));
  return static_cast<int>(cli::ExitCode::kTryAgain);
}

Result<int> run_closures(const Asked& a, const program::Program& program, const cluster::ClusterConfig& config,
                         resolve::InputReader& input, cli::Io& io) {
  process::Fd file;
  std::optional<resolve::InputReader> file_reader;
  if (a.closures != "-") {
    file = process::Fd(::open(a.closures.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return fail_errno(errno, "cannot open " + a.closures);
    file_reader.emplace(file.get(), a.closures);
  }
  resolve::InputReader& lines = file_reader ? *file_reader : input;
  auto coordinator = TFD_TRY(
      coordinate::ClusterCoordinator::connect(program, config, TFD_TRY(coordinator_options(a, config, io))));
  coordinate::ClosureStreamOptions stream;
  stream.ordered = a.ordered;
  stream.keep_going = a.keep_going;
  if (a.inline_limit) stream.inline_limit = a.inline_limit->count;
  stream.results_directory = a.results;
  const auto started = Clock::now();
  const auto summary = TFD_TRY(coordinate::run_closures(
      *coordinator, program, [&](Deadline deadline) { return lines.next_line(deadline); },
      [&](std::string_view text) { return io.out.write(text); }, stream));
  const double seconds = std::chrono::duration<double>(Clock::now() - started).count();
  coordinator.reset();  // says goodbye to the tasks
  say(io, fmt::format("{} lines in {:.1f}s, {} failed, {} cancelled", summary.lines, seconds, summary.failed,
                      summary.cancelled));
  return static_cast<int>(summary.failed + summary.cancelled == 0 ? cli::ExitCode::kDone : cli::ExitCode::kNo);
}

std::string plural(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string describe(const program::Program& program) {
  std::int64_t elements = 0;
  for (const auto& variable : program.variables) elements += tensor::element_count(variable.spec.shape);
  std::string text =
      fmt::format("{}: {} ({} elements), {}, {}", program.path, plural(program.variables.size(), "variable"), elements,
                  plural(program.datasets.size(), "dataset"), plural(program.functions.size(), "function"));
  if (program.train) text += fmt::format(", train by {}", program.train->function);
  if (program.train && program.train->steps) text += fmt::format(" for {} steps", *program.train->steps);
  if (program.train && program.train->epochs) text += fmt::format(" for {} epochs", *program.train->epochs);
  return text + ": ok";
}

Result<int> run(const Asked& a, cli::Io& io) {
  auto program = TFD_TRY(program::load_program(a.program, {.overrides = a.overrides}));
  if (a.check) {
    say(io, describe(program));
    return 0;
  }
  if (a.closures.empty() && !program.train)
    return fail(Code::kInvalidArgument, "{}: no train block, and no --closures: nothing to do", a.program);
  if (a.closures.empty()) program = TFD_TRY(coordinate::epochs_as_steps(std::move(program)));
  resolve::InputReader input(io.in_fd);
  const auto config = TFD_TRY(resolve::find_spec({.cluster = a.cluster}, input, io.env, Deadline::after(a.timeout),
                                                 io.log.for_room("resolve")));
  if (a.by_role) {
    const auto command = TFD_TRY(by_role::command_for(config, {a.program, a.overrides, a.data_root, a.insecure}, io));
    if (!command.empty()) return fail(by_role::become(command, config, io));
  }
  if (a.closures.empty()) return run_training(a, program, config, io);
  return run_closures(a, program, config, input, io);
}

}  // namespace

int main(int argc, char** argv) {
  Asked asked;
  return tfd::cli::run_tool(
      {.name = "tfd-coordinate",
       .summary = "train a program on workers and parameter servers, or run closures on them",
       .options = options(asked),
       .examples = {{"tfd-resolve local --jobs worker=3,ps=2 | tfd-serve | tfd-coordinate program.json",
                     "train on this host"},
                    {"tfd-coordinate program.json --cluster spec.json --set train.steps=10",
                     "ten steps, on a cluster that is up"},
                    {"tfd-coordinate program.json --cluster spec.json --closures - < closures.jsonl",
                     "run closures, one answer a line"}},
       .group = "training",
       .run_raw = [&](tfd::cli::Io& io) { return run(asked, io); }},
      argc, argv);
}
