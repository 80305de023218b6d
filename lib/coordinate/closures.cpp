// SPDX-License-Identifier: Apache-2.0
#include "tfd/coordinate/closures.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <unordered_map>

#include "answers.hpp"
#include "closure_arguments.hpp"
#include "closure_line.hpp"
#include "closure_ops.hpp"
#include "closure_values.hpp"
#include "remote_refs.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::coordinate {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr Duration kReadSlice = std::chrono::milliseconds(250);  // between looks at whether a parameter server was lost

struct Fetch;

/// A closure that can be fetched: its value, and the fetches that wait for it.
struct Named {
  std::size_t results = 0;  // that its function has
  std::optional<RemoteValue> value;
  std::vector<std::shared_ptr<Fetch>> waiting;
};

/// What stays of an id, of which there may be many millions.
struct Known {
  static constexpr std::uint64_t kForgotten = ~std::uint64_t{0};  // by --forget, not by a line
  std::shared_ptr<Named> named;   // with its closure while that runs, and with its fetches until they are answered
  std::uint64_t released_by = 0;  // a line
  bool is_closure() const { return named || released_by > 0; }
};

struct Fetch {
  std::uint64_t line = 0;
  std::string label;
  std::string name;  // of files for it
  ordered_json of;
  std::map<std::string, std::shared_ptr<Named>> named;  // by the id's JSON text
  std::size_t missing = 0;
};

/// Those that raise what became of others. The ClusterCoordinator's, and an evaluation, which joins first.
bool raises(Op op) { return op == Op::kSchedule || op == Op::kJoin || op == Op::kDone || op == Op::kEvaluate; }

/// What follows the label.
std::string error_text(std::string_view status, const Error& error) {
  JsonLine object("status", status);
  object.add("error", error);
  return "," + std::move(object).text().substr(1);
}

std::size_t bytes_of_arguments(const Call& call) {
  std::size_t bytes = 0;
  const auto add = [&bytes](const Argument& value) {
    if (const auto* tensor = std::get_if<tensor::Tensor>(&value)) bytes += tensor->byte_size();
  };
  for (const Argument& value : call.args) add(value);
  for (const auto& [name, value] : call.kwargs) add(value);
  return bytes;
}

/// For files of this line's values: its id where it can be a file's name.
std::string file_name(std::uint64_t line, const std::optional<std::string>& id) {
  constexpr std::string_view kGood = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  if (!id) return fmt::format("line-{}", line);
  const std::string bare = id->starts_with('"') ? id->substr(1, id->size() - 2) : *id;
  const bool good =
      !bare.empty() && bare.size() <= 100 && bare.front() != '.' && bare.find_first_not_of(kGood) == std::string::npos;
  return good ? bare : fmt::format("line-{}", line);
}

Result<void> append_structure(const ordered_json& value, const Fetch& fetch, ValueWriter& values, int& files,
                              std::string& out) {
  if (is_remote(value)) {
    const RemoteRef ref = read_remote(value);
    return values.append(fetch.named.at(ref.id)->value->outcome(), ref.result,
                         fmt::format("{}.{}", fetch.name, files++), out);
  }
  if (!value.is_structured()) {
    out += value.dump(-1, ' ', false, json::error_handler_t::replace);
    return {};
  }
  out += value.is_array() ? '[' : '{';
  for (auto member = value.begin(); member != value.end(); ++member) {
    if (member != value.begin()) out += ',';
    if (value.is_object()) {
      append_json_string(member.key(), out);
      out += ':';
    }
    TFD_TRY(append_structure(*member, fetch, values, files, out));
  }
  out += value.is_array() ? ']' : '}';
  return {};
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
        answers_(write, options.ordered, options.most_unanswered) {}
  Result<ClosureStreamSummary> run(const ReadLine& read_line);

 private:
  using Kind = Answers::Kind;

  void handle(const std::string& text);
  void answer_rest(const ReadLine& read_line, const Error& lost);
  Result<void> schedule(std::uint64_t line, const std::string& label, const ClosureLine& parsed);
  Result<void> fetch(std::uint64_t line, const std::string& label, const ClosureLine& parsed);
  Result<void> evaluate(std::uint64_t line, const std::string& label, const ClosureLine& parsed);
  Result<std::string> answer_now(std::uint64_t line, const ClosureLine& parsed);
  Result<void> release(std::uint64_t line, const ClosureLine& parsed);
  Result<void> check_kept(const std::string& id) const;
  Result<void> check_arguments_kept(const ClosureLine& parsed);
  Result<void> join();

  void closure_done(std::uint64_t line, const std::string& label, const std::string& name, Known* known,
                    const std::shared_ptr<Named>& named, const RemoteValue& value);
  void keep_value(Known& known, const std::shared_ptr<Named>& named, const RemoteValue& value);
  void await_told();
  void put_closure(std::uint64_t line, const std::string& label, const std::string& name, const RemoteValue& value);
  void put_fetch(const std::shared_ptr<Fetch>& fetch);
  using AppendValue = std::function<Result<void>(std::string&)>;
  void put_value(std::uint64_t line, const std::string& label, AppendValue append);
  void put_text(std::uint64_t line, Kind kind, const std::string& label, std::string rest);
  void put_error(std::uint64_t line, const std::string& label, std::string_view status, const Error& error);
  void put_raised(std::uint64_t line, const std::string& label, Op op, const Error& error);
  std::string name_for_files(std::uint64_t line, const std::optional<std::string>& id) const {
    return options_.inline_limit ? file_name(line, id) : std::string();
  }

  ClusterCoordinator& coordinator_;
  const ClosureStreamOptions& options_;
  ArgumentReader arguments_;
  ValueWriter values_;
  ClosureOps ops_;
  std::unordered_map<std::string, Known> known_;  // every id seen; its elements stay where they are

  std::mutex mutex_;  // for what follows, and for the Known, Named and Fetch objects: the I/O thread fills them
  std::shared_ptr<Named> nothing_;                       // with every id whose closure had no results
  std::unordered_map<ClosureId, std::string> failures_;  // label of those that cancel others
  std::size_t untold_ = 0;                               // scheduled, and on_done hasn't been called
  std::condition_variable told_;
  std::atomic<std::uint64_t> unwritten_{0};  // values whose files could not be written
  Answers answers_;                          // last: its thread reads the above
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
  (void)coordinator_.join(Deadline::never());  // whose error it is, its own line has said
  const auto finished = answers_.finish();
  {
    std::unique_lock lock(mutex_);  // all callbacks have answered: let the last one leave
    told_.wait(lock, [this] { return untold_ == 0; });
  }
  TFD_TRY(finished);
  if (auto lost = coordinator_.lost()) return fail(std::move(*lost));
  if (error) return fail(std::move(*error));
  ClosureStreamSummary summary = answers_.summary();
  summary.ready -= unwritten_;
  summary.failed += unwritten_;
  return summary;
}

// Nothing can be run any more: lines that are there already are answered by that, and nobody waits for others.
void ClosureStream::answer_rest(const ReadLine& read_line, const Error& lost) {
  while (!answers_.broken()) {
    const auto text = read_line(Deadline::after(Duration::zero()));
    if (!text || !*text) return;
    if ((*text)->find_first_not_of(" \t\r") == std::string::npos) {
      answers_.skip();
      continue;
    }
    const std::uint64_t line = answers_.begin();
    std::optional<std::string> id;
    const auto parsed = parse_closure_line(**text, &id);
    const std::string label = id ? "{\"id\":" + *id : fmt::format("{{\"line\":{}", line);
    if (parsed && raises(parsed->op))
      put_raised(line, label, parsed->op, lost);
    else
      put_error(line, label, "error", lost);
  }
}

void ClosureStream::handle(const std::string& text) {
  const std::uint64_t line = answers_.begin();
  std::optional<std::string> id;
  auto parsed = parse_closure_line(text, &id);
  const std::string label = id ? "{\"id\":" + *id : fmt::format("{{\"line\":{}", line);
  if (!parsed) return put_error(line, label, "error", parsed.error());
  if (id && !known_.try_emplace(*id).second)
    return put_error(line, label, "error", {Code::kAlreadyExists, fmt::format("id {} was used before", *id), {}});
  Result<void> taken;
  switch (parsed->op) {
    case Op::kSchedule:
      taken = schedule(line, label, *parsed);
      break;
    case Op::kFetch:
      taken = fetch(line, label, *parsed);
      break;
    case Op::kEvaluate:
      taken = evaluate(line, label, *parsed);
      break;
    default: {
      auto rest = answer_now(line, *parsed);
      if (rest) return put_text(line, Kind::kOther, label, std::move(*rest));
      if (!raises(parsed->op)) return put_error(line, label, "error", rest.error());
      return put_raised(line, label, parsed->op, rest.error());
    }
  }
  if (!taken) put_error(line, label, "error", taken.error());
}

Result<void> ClosureStream::schedule(std::uint64_t line, const std::string& label, const ClosureLine& parsed) {
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
  Known* const known = parsed.id ? &known_.at(*parsed.id) : nullptr;
  const auto named = known != nullptr && !options_.forget ? std::make_shared<Named>() : nullptr;
  const std::string name = name_for_files(line, parsed.id);
  call.label = parsed.id ? "closure " + *parsed.id : fmt::format("line {}", line);
  call.on_done = [this, line, label, name, known, named](const RemoteValue& value) {
    closure_done(line, label, name, known, named, value);
  };
  const auto results = TFD_TRY(arguments_.find_results(call.function));
  const bool is_one = call.replicas == program::Replicas::kOne;
  const auto replicas = static_cast<std::size_t>(is_one ? 1 : coordinator_.num_replicas_in_sync());
  answers_.expect(bytes_of_arguments(call) + results.bytes * replicas);
  if (named) named->results = results.count;
  {
    const std::scoped_lock lock(mutex_);
    if (known != nullptr) known->named = named;
    if (known != nullptr && options_.forget) known->released_by = Known::kForgotten;
    ++untold_;
  }
  auto value = coordinator_.schedule(std::move(call));
  if (value) return {};
  {
    const std::scoped_lock lock(mutex_);
    --untold_;
    if (known != nullptr) *known = {};
  }
  await_told();
  put_raised(line, label, Op::kSchedule, value.error());
  return {};
}

Result<void> ClosureStream::fetch(std::uint64_t line, const std::string& label, const ClosureLine& parsed) {
  auto fetch = std::make_shared<Fetch>();  // with the closures it waits for
  fetch->line = line;
  fetch->label = label;
  fetch->of = parsed.of;
  fetch->name = name_for_files(line, parsed.id);
  std::vector<RemoteRef> remotes;
  TFD_TRY(collect_remotes("fetch", fetch->of, remotes));
  std::unique_lock lock(mutex_);
  for (const RemoteRef& ref : remotes) {
    const auto known = known_.find(ref.id);
    if (known == known_.end() || !known->second.is_closure())
      return fail(Code::kInvalidArgument, "fetch: no closure was scheduled with the id {}", ref.id);
    TFD_TRY(check_kept(ref.id), "fetch");
    const auto& named = known->second.named;
    if (ref.result && *ref.result >= named->results)
      return fail(Code::kInvalidArgument, "fetch: no result {} of closure {}: it has {}, counted from 0", *ref.result,
                  ref.id, named->results);
    fetch->named.emplace(ref.id, named);
  }
  for (const auto& [id, named] : fetch->named) {
    if (named->value) continue;
    ++fetch->missing;
    named->waiting.push_back(fetch);
  }
  if (fetch->missing > 0) return {};
  lock.unlock();
  put_fetch(fetch);
  return {};
}

// All of them, or none where one isn't known. One that still runs has its value dropped when that is there: only its
// line and the fetches before this one get it.
Result<void> ClosureStream::release(std::uint64_t line, const ClosureLine& parsed) {
  const auto ids = TFD_TRY(collect_released(parsed.of));
  std::vector<std::shared_ptr<Named>> dropped;  // without the lock: their tensors may be large
  const std::scoped_lock lock(mutex_);
  for (const std::string& id : ids) {
    const auto known = known_.find(id);
    if (known == known_.end() || !known->second.is_closure())
      return fail(Code::kInvalidArgument, "release: no closure was scheduled with the id {}", id);
  }
  for (const std::string& id : ids) {
    Known& known = known_.at(id);
    if (!known.named) continue;  // released before
    dropped.push_back(std::exchange(known.named, nullptr));
    known.released_by = line;
  }
  return {};
}

// Under the lock.
Result<void> ClosureStream::check_kept(const std::string& id) const {
  const auto known = known_.find(id);
  if (known == known_.end() || known->second.released_by == 0) return {};
  if (known->second.released_by == Known::kForgotten)
    return fail(Code::kFailedPrecondition, "the value of {} was released: --forget keeps none beyond its answer", id);
  return fail(Code::kFailedPrecondition, "the value of {} was released by line {}", id, known->second.released_by);
}

// No argument may be remote, but who reads that it's to be fetched first should be able to.
Result<void> ClosureStream::check_arguments_kept(const ClosureLine& parsed) {
  std::vector<RemoteRef> remotes;
  for (const char* key : {"args", "kwargs"})
    if (const auto found = parsed.fields.find(key); found != parsed.fields.end())
      (void)collect_remotes("schedule", ordered_json(*found), remotes);  // what isn't one is another error
  const std::scoped_lock lock(mutex_);
  for (const RemoteRef& ref : remotes) TFD_TRY(check_kept(ref.id), "schedule");
  return {};
}

// Everything before it has run, and nothing behind it is read before its end: variables stay as they are meanwhile.
Result<void> ClosureStream::evaluate(std::uint64_t line, const std::string& label, const ClosureLine& parsed) {
  const auto& function = parsed.fields["function"].get_ref<const std::string&>();
  const auto stated = parsed.fields.find("steps");
  const auto steps =
      stated == parsed.fields.end() ? std::nullopt : std::optional(stated->get<std::int64_t>());  // of the whole pass
  TFD_TRY(check_evaluation(arguments_.program(), function, steps), "evaluate");
  if (const auto joined = join(); !joined) {
    put_raised(line, label, Op::kEvaluate, joined.error());
    return {};
  }
  JsonLine answer("status", "ready");
  answer.add("value", TFD_TRY(coordinator_.evaluate(function, steps, Deadline::never())));
  put_text(line, Kind::kOther, label, "," + std::move(answer).text().substr(1));
  return {};
}

Result<void> ClosureStream::join() {
  auto joined = coordinator_.join(Deadline::never());
  await_told();
  return joined;
}

// What follows the label of an answer that comes from no closure.
Result<std::string> ClosureStream::answer_now(std::uint64_t line, const ClosureLine& parsed) {
  if (parsed.op == Op::kJoin) {
    TFD_TRY(join());
    return ",\"status\":\"ready\"}\n";
  }
  if (parsed.op == Op::kRelease) {
    TFD_TRY(release(line, parsed));
    return ",\"status\":\"ready\"}\n";
  }
  if (parsed.op == Op::kDone) {
    const auto all = coordinator_.done();
    if (all.value_or(true)) await_told();
    if (!all) return fail(all.error());
    return fmt::format(",\"status\":\"ready\",\"value\":{}}}\n", *all);
  }
  return ops_.answer(parsed, name_for_files(line, parsed.id));
}

// On the I/O thread.
void ClosureStream::closure_done(std::uint64_t line, const std::string& label, const std::string& name, Known* known,
                                 const std::shared_ptr<Named>& named, const RemoteValue& value) {
  std::vector<std::shared_ptr<Fetch>> complete;
  {
    const std::scoped_lock lock(mutex_);
    if (value.state() == ClosureState::kError && !options_.keep_going) failures_.emplace(value.id(), label);
    if (named) {
      keep_value(*known, named, value);
      for (auto& fetch : std::exchange(named->waiting, {}))
        if (--fetch->missing == 0) complete.push_back(std::move(fetch));
    }
  }
  put_closure(line, label, name, value);
  for (const auto& fetch : complete) put_fetch(fetch);
  const std::scoped_lock lock(mutex_);
  if (--untold_ > 0) return;
  failures_.clear();  // whatever they cancelled has said so
  told_.notify_all();
}

// Of those without results one stands for all: what they have in common needs no memory for each.
void ClosureStream::keep_value(Known& known, const std::shared_ptr<Named>& named, const RemoteValue& value) {
  named->value = value;
  if (value.state() != ClosureState::kReady || !value.outcome().results.empty()) return;
  if (!nothing_) nothing_ = named;
  if (known.named) known.named = nothing_;
}

// Who reads that all is done has read what came of it: the coordinator returns a moment before the callbacks of the
// last closures.
void ClosureStream::await_told() {
  std::unique_lock lock(mutex_);
  while (untold_ > 0 && !coordinator_.lost()) told_.wait_for(lock, kReadSlice);
}

void ClosureStream::put_closure(std::uint64_t line, const std::string& label, const std::string& name,
                                const RemoteValue& value) {
  switch (value.state()) {
    case ClosureState::kError:
      return put_error(line, label, "error", value.error());
    case ClosureState::kCancelled: {
      std::string because;
      if (const auto cause = value.cause()) {
        const std::scoped_lock lock(mutex_);
        const auto failure = failures_.find(*cause);
        // {"id":"b" or {"line":3: what follows the colon
        if (failure != failures_.end())
          because = ",\"because\":" + failure->second.substr(failure->second.find(':') + 1);
      }
      return put_text(line, Kind::kCancelled, label, ",\"status\":\"cancelled\"" + because + "}\n");
    }
    default:
      break;
  }
  put_value(line, label,
            [this, name, value](std::string& out) { return values_.append(value.outcome(), {}, name, out); });
}

// On the writing thread: a value may go into files, and they may fail.
void ClosureStream::put_value(std::uint64_t line, const std::string& label, AppendValue append) {
  answers_.put(line, Kind::kReady, [this, label, append = std::move(append)](std::string& out) {
    const std::size_t before = out.size();
    out += label;
    out += ",\"status\":\"ready\",\"value\":";
    if (auto written = append(out); !written) {
      ++unwritten_;
      out.resize(before);
      out += label + error_text("error", written.error());
      return;
    }
    out += "}\n";
  });
}

void ClosureStream::put_fetch(const std::shared_ptr<Fetch>& fetch) {
  for (const auto& [id, named] : fetch->named)
    if (named->value->state() != ClosureState::kReady)
      return put_error(fetch->line, fetch->label, "error", named->value->error());
  put_value(fetch->line, fetch->label, [this, fetch](std::string& out) -> Result<void> {
    int files = 0;
    return append_structure(fetch->of, *fetch, values_, files, out);
  });
}

void ClosureStream::put_text(std::uint64_t line, Kind kind, const std::string& label, std::string rest) {
  answers_.put(line, kind, [label, rest = std::move(rest)](std::string& out) { out.append(label).append(rest); });
}

void ClosureStream::put_error(std::uint64_t line, const std::string& label, std::string_view status,
                              const Error& error) {
  put_text(line, Kind::kFailed, label, error_text(status, error));
}

// What it is about has its own line, or is said at the end: only of a schedule or an evaluation something isn't run.
void ClosureStream::put_raised(std::uint64_t line, const std::string& label, Op op, const Error& error) {
  const bool is_run = op == Op::kJoin || op == Op::kDone;
  put_text(line, is_run ? Kind::kOther : Kind::kCancelled, label, error_text("raised", error));
}

}  // namespace

Result<ClosureStreamSummary> run_closures(ClusterCoordinator& coordinator, const program::Program& program,
                                          const ReadLine& read_line, const WriteText& write,
                                          const ClosureStreamOptions& options) {
  return ClosureStream(coordinator, program, write, options).run(read_line);
}

}  // namespace tfd::coordinate
