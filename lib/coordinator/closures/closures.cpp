// SPDX-License-Identifier: Apache-2.0
#include "tfd/coordinator/closures.hpp"

#include <condition_variable>
#include <unordered_map>

#include "answers.hpp"
#include "closure_arguments.hpp"
#include "closure_line.hpp"
#include "closure_ops.hpp"
#include "closure_values.hpp"
#include "retained_values.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::coordinator {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr Duration kReadSlice = std::chrono::milliseconds(250);  // poll interval for a lost parameter server

/// True for ops that raise other closures' errors: the ClusterCoordinator's, and an evaluation, which joins first.
bool raises(Op op) { return op == Op::kSchedule || op == Op::kJoin || op == Op::kDone || op == Op::kEvaluate; }

std::size_t bytes_of_arguments(const Call& call) {
  std::size_t bytes = 0;
  const auto add = [&bytes](const Argument& value) {
    if (const auto* tensor = std::get_if<tensor::Tensor>(&value)) bytes += tensor->byte_size();
  };
  for (const Argument& value : call.args) add(value);
  for (const auto& [name, value] : call.kwargs) add(value);
  return bytes;
}

/// Name for files of this line's values: its id if it can be a file name.
std::string file_name(std::uint64_t line, const std::optional<std::string>& id) {
  constexpr std::string_view kGood = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  if (!id) return fmt::format("line-{}", line);
  const std::string bare = id->starts_with('"') ? id->substr(1, id->size() - 2) : *id;
  const bool good =
      !bare.empty() && bare.size() <= 100 && bare.front() != '.' && bare.find_first_not_of(kGood) == std::string::npos;
  return good ? bare : fmt::format("line-{}", line);
}

class ClosureStream {
 public:
  ClosureStream(ClusterCoordinator& coordinator, const program::Program& program, const WriteText& write,
                const ClosureStreamOptions& options)
      : coordinator_(coordinator),
        options_(options),
        arguments_(program, options.directory),
        values_(options.inline_limit, options.results_directory),
        ops_(coordinator, arguments_, values_, options.timeout),
        kept_(options.forget),
        answers_(write, options.ordered, options.most_unanswered) {}
  Result<ClosureStreamSummary> run(const ReadLine& read_line);

 private:
  using Kind = Answers::Kind;

  void handle(const std::string& text);
  void answer_rest(const ReadLine& read_line, const Error& lost);
  Result<void> schedule(const AnswerLabel& asker, const ClosureLine& parsed);
  Result<void> fetch(const AnswerLabel& asker, const ClosureLine& parsed);
  Result<void> evaluate(const AnswerLabel& asker, const ClosureLine& parsed);
  Result<void> answer_now(const AnswerLabel& asker, const ClosureLine& parsed);
  Result<void> check_arguments_kept(const ClosureLine& parsed);
  Result<void> join();

  void closure_done(const AnswerLabel& asker, const std::string& name, const RetainedValues::Place& place,
                    const RemoteValue& value);
  void await_told();
  void put_closure(const AnswerLabel& asker, const std::string& name, const RemoteValue& value);
  void put_fetch(const std::shared_ptr<RetainedValues::Fetch>& fetch);
  void put_raised(const AnswerLabel& asker, Op op, const Error& error);
  std::string name_for_files(const AnswerLabel& asker) const {
    return options_.inline_limit ? file_name(asker.line, asker.id) : std::string();
  }

  ClusterCoordinator& coordinator_;
  const ClosureStreamOptions& options_;
  ArgumentReader arguments_;
  ValueWriter values_;
  ClosureOps ops_;
  RetainedValues kept_;

  Mutex mutex_;
  /// Labels of closures that cancel others, which the I/O thread fills.
  std::unordered_map<ClosureId, std::string> failures_ TFD_GUARDED_BY(mutex_);
  std::size_t untold_ TFD_GUARDED_BY(mutex_) = 0;  // scheduled closures whose on_done hasn't been called
  std::condition_variable told_;
  Answers answers_;  // last: its thread reads the above
};

Result<ClosureStreamSummary> ClosureStream::run(const ReadLine& read_line) {
  std::optional<Error> error;
  while (!coordinator_.lost() && !answers_.broken()) {
    auto line = read_line(Deadline::after(kReadSlice));
    if (!line && line.error().code == Code::kDeadlineExceeded) continue;
    if (!line) {
      error = std::move(line).error();
      break;
    }
    if (!*line) break;
    if ((*line)->find_first_not_of(" \t\r") != std::string::npos)
      handle(**line);
    else
      answers_.skip();
  }
  if (const auto lost = coordinator_.lost()) answer_rest(read_line, *lost);
  (void)coordinator_.join(Deadline::never());  // ignored: the failed closure's own line has reported it
  const auto finished = answers_.finish();
  {
    MutexLock lock(mutex_);  // all callbacks have answered; waits for the last one to return
    lock.wait(told_, Deadline::never(), [this]() TFD_REQUIRES(mutex_) { return untold_ == 0; });
  }
  TFD_TRY(finished);
  if (auto lost = coordinator_.lost()) return fail(std::move(*lost));
  if (error) return fail(std::move(*error));
  return answers_.summary();
}

// After a fatal error: lines already there are answered with it, without waiting for more.
void ClosureStream::answer_rest(const ReadLine& read_line, const Error& lost) {
  while (!answers_.broken()) {
    const auto text = read_line(Deadline::after(Duration::zero()));
    if (!text || !*text) return;
    if ((*text)->find_first_not_of(" \t\r") == std::string::npos) {
      answers_.skip();
      continue;
    }
    AnswerLabel asker{answers_.begin(), {}};
    const auto parsed = parse_closure_line(**text, &asker.id);
    if (parsed && raises(parsed->op))
      put_raised(asker, parsed->op, lost);
    else
      answers_.put_error(asker, Kind::kFailed, "error", lost);
  }
}

void ClosureStream::handle(const std::string& text) {
  AnswerLabel asker{answers_.begin(), {}};
  const auto parsed = parse_closure_line(text, &asker.id);
  const auto put_error = [&](const Error& error) { answers_.put_error(asker, Kind::kFailed, "error", error); };
  if (!parsed) return put_error(parsed.error());
  if (asker.id && !kept_.add(*asker.id))
    return put_error({Code::kAlreadyExists, fmt::format("id {} was used before", *asker.id), {}});
  const auto take = [&] {
    switch (parsed->op) {
      case Op::kSchedule:
        return schedule(asker, *parsed);
      case Op::kFetch:
        return fetch(asker, *parsed);
      case Op::kEvaluate:
        return evaluate(asker, *parsed);
      default:
        return answer_now(asker, *parsed);
    }
  };
  if (const auto taken = take(); !taken) put_error(taken.error());
}

Result<void> ClosureStream::schedule(const AnswerLabel& asker, const ClosureLine& parsed) {
  const auto find = [&](const char* key) -> const json* {
    const auto found = parsed.fields.find(key);
    return found == parsed.fields.end() ? nullptr : &*found;
  };
  auto read = arguments_.read(parsed.fields["function"].get_ref<const std::string&>(), find("args"), find("kwargs"));
  if (!read) {
    TFD_TRY(check_arguments_kept(parsed));
    return fail(std::move(read).error());
  }
  Call call = *std::move(read);
  if (const json* replicas = find("replicas"))
    call.replicas = TFD_TRY(program::parse_replicas(replicas->get_ref<const std::string&>()), "schedule: 'replicas'");
  if (const json* step = find("step")) call.step = step->get<std::int64_t>();
  TFD_TRY(check_call(arguments_.program(), call));
  const std::string name = name_for_files(asker);
  call.label = asker.id ? "closure " + *asker.id : fmt::format("line {}", asker.line);
  const auto results = TFD_TRY(arguments_.find_results(call.function));
  const RetainedValues::Place place = kept_.expect(asker.id, results.count);
  call.on_done = [this, asker, name, place](const RemoteValue& value) { closure_done(asker, name, place, value); };
  const bool is_one = call.replicas == program::Replicas::kOne;
  const auto replicas = static_cast<std::size_t>(is_one ? 1 : coordinator_.num_replicas_in_sync());
  answers_.expect(bytes_of_arguments(call) + results.bytes * replicas);
  {
    const MutexLock lock(mutex_);
    ++untold_;
  }
  const auto value = coordinator_.schedule(std::move(call));
  if (value) return {};
  kept_.withdraw(place);
  {
    const MutexLock lock(mutex_);
    --untold_;
  }
  await_told();
  put_raised(asker, Op::kSchedule, value.error());
  return {};
}

Result<void> ClosureStream::fetch(const AnswerLabel& asker, const ClosureLine& parsed) {
  const auto fetch = std::make_shared<RetainedValues::Fetch>();  // shared with the closures it waits for
  fetch->asker = asker;
  fetch->of = parsed.of;
  fetch->name = name_for_files(asker);
  if (TFD_TRY(kept_.add_fetch(fetch))) put_fetch(fetch);
  return {};
}

// Arguments can't be remote. The error for that suggests a fetch, so references to released values are reported first.
Result<void> ClosureStream::check_arguments_kept(const ClosureLine& parsed) {
  std::vector<RemoteRef> remotes;
  for (const char* key : {"args", "kwargs"})
    if (const auto found = parsed.fields.find(key); found != parsed.fields.end())
      (void)collect_remotes("schedule", ordered_json(*found), remotes);  // malformed references are another error
  TFD_TRY(kept_.check_kept(remotes), "schedule");
  return {};
}

// Evaluates after all earlier lines have run, and before later ones are read, so that variables don't change meanwhile.
Result<void> ClosureStream::evaluate(const AnswerLabel& asker, const ClosureLine& parsed) {
  const auto& function = parsed.fields["function"].get_ref<const std::string&>();
  const auto stated = parsed.fields.find("steps");
  const auto steps =
      stated == parsed.fields.end() ? std::nullopt : std::optional(stated->get<std::int64_t>());  // of the whole pass
  TFD_TRY(check_evaluation(arguments_.program(), function, steps), "evaluate");
  if (const auto joined = join(); !joined) {
    put_raised(asker, Op::kEvaluate, joined.error());
    return {};
  }
  const auto metrics = TFD_TRY(coordinator_.evaluate(function, steps, Deadline::never()));
  JsonLine answer = asker.answer("ready");
  answer.add("value", metrics);
  answers_.put(asker, Kind::kOther, std::move(answer));
  return {};
}

Result<void> ClosureStream::join() {
  auto joined = coordinator_.join(Deadline::never());
  await_told();
  return joined;
}

// Answers a line without a closure.
Result<void> ClosureStream::answer_now(const AnswerLabel& asker, const ClosureLine& parsed) {
  JsonLine answer = asker.answer("ready");
  if (parsed.op == Op::kJoin) {
    if (const auto joined = join(); !joined) {
      put_raised(asker, parsed.op, joined.error());
      return {};
    }
  } else if (parsed.op == Op::kDone) {
    const auto all = coordinator_.done();
    if (all.value_or(true)) await_told();
    if (!all) {
      put_raised(asker, parsed.op, all.error());
      return {};
    }
    answer.add_raw("value", *all ? "true" : "false");
  } else if (parsed.op == Op::kRelease) {
    TFD_TRY(kept_.release(TFD_TRY(collect_released(parsed.of)), asker.line));
  } else {
    TFD_TRY(ops_.answer(parsed, name_for_files(asker), answer));
  }
  answers_.put(asker, Kind::kOther, std::move(answer));
  return {};
}

// Called on the I/O thread.
void ClosureStream::closure_done(const AnswerLabel& asker, const std::string& name, const RetainedValues::Place& place,
                                 const RemoteValue& value) {
  if (value.state() == ClosureState::kError && !options_.keep_going) {
    const MutexLock lock(mutex_);
    failures_.emplace(value.id(), asker.label());
    answers_.pass_limit(true);
  }
  const auto complete = kept_.put(place, value);
  put_closure(asker, name, value);
  for (const auto& fetch : complete) put_fetch(fetch);
  const MutexLock lock(mutex_);
  if (--untold_ > 0) return;
  failures_.clear();  // closures that they canceled have been answered
  told_.notify_all();
}

// Waits until all callbacks were called, so that the answers of closures precede that of the join: the coordinator
// returns a moment before the last callbacks.
void ClosureStream::await_told() {
  MutexLock lock(mutex_);
  const auto all_told = [this]() TFD_REQUIRES(mutex_) { return untold_ == 0; };
  while (!all_told() && !coordinator_.lost()) lock.wait(told_, Deadline::after(kReadSlice), all_told);
}

void ClosureStream::put_closure(const AnswerLabel& asker, const std::string& name, const RemoteValue& value) {
  if (value.state() == ClosureState::kError) return answers_.put_error(asker, Kind::kFailed, "error", value.error());
  if (value.state() != ClosureState::kCancelled)
    return answers_.put_value(
        asker, [this, name, value](std::string& out) { return values_.append(value.outcome(), {}, name, out); });
  JsonLine answer = asker.answer("cancelled");
  if (const auto cause = value.cause()) {
    const MutexLock lock(mutex_);
    const auto failure = failures_.find(*cause);
    if (failure != failures_.end()) answer.add_raw("because", failure->second);
  }
  answers_.put(asker, Kind::kCancelled, std::move(answer));
}

void ClosureStream::put_fetch(const std::shared_ptr<RetainedValues::Fetch>& fetch) {
  if (const Error* error = fetch->error()) return answers_.put_error(fetch->asker, Kind::kFailed, "error", *error);
  answers_.put_value(fetch->asker, [this, fetch](std::string& out) {
    const auto find = [&](const std::string& id) -> const task::ClosureOutcome& { return fetch->value(id).outcome(); };
    return values_.append_structure(fetch->of, find, fetch->name, out);
  });
}

// The error is counted by its closure's line, or at the end; here only schedules and evaluations count, as canceled.
void ClosureStream::put_raised(const AnswerLabel& asker, Op op, const Error& error) {
  answers_.pass_limit(false);  // all failures are told by now
  const bool is_run = op == Op::kJoin || op == Op::kDone;
  answers_.put_error(asker, is_run ? Kind::kOther : Kind::kCancelled, "raised", error);
}

}  // namespace

Result<ClosureStreamSummary> run_closures(ClusterCoordinator& coordinator, const program::Program& program,
                                          const ReadLine& read_line, const WriteText& write,
                                          const ClosureStreamOptions& options) {
  return ClosureStream(coordinator, program, write, options).run(read_line);
}

}  // namespace tfd::coordinator
