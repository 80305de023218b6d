// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow's ClusterCoordinator: its queue, its values, and whole programs on real task servers, asked as JSON lines.
#include <algorithm>
#include <deque>
#include <regex>
#include <set>
#include <thread>

#include "fake_engine.hpp"
#include "remote_value.hpp"
#include "sets.hpp"
#include "tfd/coordinator/closure_queue.hpp"
#include "tfd/coordinator/closures.hpp"
#include "tfd/coordinator/failures.hpp"
#include "tfd/task/task_server.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::vectors {
namespace {

using namespace std::chrono_literals;
using coordinator::ClosureId;
using coordinator::ClosureState;
using tensor::DType;
using tensor::Tensor;

std::string type_of(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return "InvalidArgumentError";
    case Code::kOutOfRange:
      return "OutOfRangeError";
    case Code::kCancelled:
      return "CancelledError";
    case Code::kUnavailable:
      return "UnavailableError";
    default:
      return std::string(code_name(code));
  }
}

// --- closure_queue

/// TensorFlow's traces name closures by letters. Which of those in flight finishes or fails they don't say.
class QueueTrace {
 public:
  explicit QueueTrace(const Json& steps) : steps_(steps) {}

  Json run() {
    Json trace = Json::array();
    for (at_ = 0; at_ < steps_.size(); ++at_) trace.push_back(step(steps_[at_]));
    return trace;
  }

 private:
  Json step(const Json& op) {
    Json out{{"op", op}};
    const auto error = apply(op, out);
    if (error) out["error"] = error_record(*error)["error"];
    out["queued"] = queue_.queued();
    out["inflight"] = queue_.in_flight();
    out["cancelled"] = cancelled_;
    return out;
  }
  std::optional<Error> apply(const Json& op, Json& out) {
    const std::string verb = op.at(0);
    if (verb == "put") {
      names_.push_back(op.at(1));
      if (op.size() > 2 && !op[2].is_null()) {
        queue_.put_for(op[2], names_.size() - 1);  // raises nothing
      } else {
        queue_.put(names_.size() - 1);
        if (auto raised = raise()) return raised;
      }
      out["result"] = "ok";
    } else if (verb == "get") {
      const auto id = op.size() > 1 && !op[1].is_null() ? queue_.take(op[1].get<std::size_t>()) : queue_.take();
      if (id && queue_.is_in_flight(*id)) flying_.push_back(*id);
      out["result"] = id ? Json(names_[*id]) : Json();
    } else if (verb == "wait" || verb == "done") {  // the wait times out
      if (auto raised = raise()) return raised;
      out["result"] = queue_.idle();
    } else if (verb == "finished" || verb == "failed" || verb == "put_back") {
      if (!end(verb, op)) return Error{Code::kInternal, "there is no inflight closure to mark", {}};
      out["result"] = "ok";
    } else {
      throw std::runtime_error("nobody knows the step " + op.dump());
    }
    return std::nullopt;
  }
  bool end(const std::string& verb, const Json& op) {
    const auto closure = verb == "put_back" ? named(op.at(1)) : one_not_put_back_later();
    if (closure == flying_.end()) {
      // Whichever it is, it isn't in flight.
      return verb == "finished" ? queue_.finished(0) : verb == "failed" && queue_.failed(0, {});
    }
    const ClosureId id = *closure;
    flying_.erase(closure);
    if (verb == "finished") return queue_.finished(id);
    if (verb == "failed") return queue_.failed(id, {code_of(op.at(1)), op.at(2), {}});
    if (queue_.put_back(id)) cancelled_.push_back(names_[id]);
    return true;
  }
  std::deque<ClosureId>::iterator named(const std::string& name) {
    return std::ranges::find_if(flying_, [&](ClosureId id) { return names_[id] == name; });
  }
  std::deque<ClosureId>::iterator one_not_put_back_later() {
    const auto stays = [&](ClosureId id) {
      for (std::size_t i = at_ + 1; i < steps_.size(); ++i)
        if (steps_[i].at(0) == "put_back" && steps_[i].at(1) == names_[id]) return false;
      return true;
    };
    const auto found = std::ranges::find_if(flying_, stays);
    return found == flying_.end() ? flying_.begin() : found;
  }
  std::optional<Error> raise() {
    std::vector<ClosureId> ids;
    auto raised = queue_.raise(&ids);
    for (const ClosureId id : ids) cancelled_.push_back(names_[id]);
    return raised;
  }

  const Json& steps_;
  std::size_t at_ = 0;
  coordinator::ClosureQueue queue_;
  std::vector<std::string> names_;
  std::deque<ClosureId> flying_;
  std::vector<std::string> cancelled_;
};

void run_closure_queue(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"steps"});
  Json wanted = expected;
  for (Json& step : wanted.at("trace")) {
    // An assertion of TensorFlow's: that it fails is what binds.
    if (step.contains("error") && step["error"].value("type", "") == "AssertionError")
      step["error"]["accidental"] = true;
  }
  report.compare(wanted, Json{{"trace", QueueTrace(input.at("steps")).run()}}, "case");
}

// --- error_classification, transient_failures

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// The parameter servers that a text of TensorFlow's names.
std::set<int> servers_in(const std::string& text) {
  static const std::regex kServer("/job:ps/replica:0/task:([0-9]+)");
  std::set<int> out;
  for (std::sregex_iterator it(text.begin(), text.end(), kServer), end; it != end; ++it)
    out.insert(std::stoi((*it)[1].str()));
  return out;
}

struct TypedError {
  Error error;
  std::string text;
};

/// TensorFlow says in texts what tfd has in fields: the task of an error, and the code for a peer that has
/// lost its data, which here the transport finds by its incarnation. All words of the runtime's are here.
TypedError typed_error(const Json& stated, const Environment& env, bool is_input = false) {
  check_keys(stated, {"type", "message", "original"});
  const std::string type = stated.at("type");
  if (stated.contains("original")) {
    if (type != "ClosureInputError" && type != "ClosureAbortedError") throw std::runtime_error("nobody knows " + type);
    return typed_error(stated.at("original"), env, true);
  }
  const std::string text = stated.at("message");
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  Error out{code_of(type), text, {}};
  const bool of_server = says(text, "GRPC error information from remote target /job:ps");
  if (of_server)
    out.task = "ps:" + (servers_in(text).empty() ? "" : std::to_string(*servers_in(text).begin()));
  else if (says(text, "/job:worker"))
    out.task = "worker:";
  const bool lost = type == "InvalidArgumentError" &&
                    (says(lower, "unknown device") || says(text, "Unable to find the relevant tensor remote_handle") ||
                     (!of_server && says(text, "Primary device is not remote")));
  const bool lost_by_worker =
      !of_server && ((type == "NotFoundError" && says(text,
                                                      "is neither a type of a primitive operation nor a name of "
                                                      "a function registered")) ||
                     (type == "TypeError" && says(text, "Binding inputs to tf.function")));
  if (lost || lost_by_worker) out.code = Code::kUnavailable;
  if (!is_input && type == "UnknownError" && says(text, "Graph execution error") &&
      std::stoi(env.find("TF_PS_HANDLE_UNKNOWN_ERROR").value_or("0")) > 0)
    out = {Code::kUnavailable, text, "worker:"};
  // A closure that was given too little time is the same whoever tells of it; an input's error isn't the closure's.
  if (type == "DeadlineExceededError") out = {is_input ? Code::kUnknown : out.code, text, {}};
  return {out, text};
}

Environment environment_of(const Json& input) {
  Environment env;
  const Json variables = input.value("env", Json::object());
  for (const auto& [name, value] : variables.items()) env.set(name, value.get<std::string>());
  return env;
}

void run_error_classification(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"error", "env"});
  const auto [error, text] = typed_error(input.at("error"), environment_of(input));
  const auto failure = coordinator::classify(error);
  Json wanted = expected;
  wanted.erase("str");  // the texts are our own
  report.compare(wanted,
                 Json{{"is_ps_failure", failure == coordinator::Failure::kServer},
                      {"is_worker_failure", failure == coordinator::Failure::kWorker},
                      {"failed_ps_instances", servers_in(text)}},
                 "case");
}

/// A text may name several parameter servers; an error of tfd's is one's.
bool pass_all(coordinator::TransientFailures& transient, const TypedError& stated) {
  if (coordinator::classify(stated.error) != coordinator::Failure::kServer) return transient.pass(stated.error);
  return std::ranges::all_of(servers_in(stated.text), [&](int server) {
    Error one = stated.error;
    one.task = "ps:" + std::to_string(server);
    return transient.pass(one);
  });
}

void run_transient_failures(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"num_workers", "num_ps", "env", "errors"});
  const Environment env = environment_of(input);
  coordinator::TransientFailures transient(coordinator::read_transient_limits(env).value(), input.at("num_workers"));
  Json actual{{"decisions", Json::array()}, {"ps_counts", Json::array()}};
  for (const Json& one : input.at("errors")) {
    const TypedError stated = typed_error(one, env);
    const bool passes = pass_all(transient, stated);
    const bool is_server = coordinator::classify(stated.error) == coordinator::Failure::kServer;
    actual["decisions"].push_back(
        {{"ignored_as_transient_ps", passes && is_server}, {"ignored_as_timeout", passes && !is_server}});
  }
  for (int i = 0; i < input.at("num_ps").get<int>(); ++i)
    actual["ps_counts"].push_back(transient.reports_of("ps:" + std::to_string(i)));
  actual["timeouts"] = transient.timeouts();
  report.compare(expected, actual, "case");
}

// --- remote_value

/// The leaves of a structure, as one result each; texts are no tensors here, and stay in the structure.
void flatten(const Json& value, std::vector<Tensor>& out) {
  if (value.is_structured()) {
    for (const Json& part : value) flatten(part, out);
  } else if (value.is_number_float()) {
    out.push_back(Tensor::scalar(DType::kF64, value.get<double>()));
  } else if (value.is_boolean()) {
    out.push_back(Tensor::scalar(DType::kBool, static_cast<std::uint8_t>(value.get<bool>())));
  } else if (value.is_number()) {
    out.push_back(Tensor::scalar(DType::kS64, value.get<std::int64_t>()));
  }
}

Json unflatten(const Json& like, const std::vector<Tensor>& results, std::size_t& at) {
  if (like.is_structured()) {
    Json out = like;
    for (Json& part : out) part = unflatten(part, results, at);
    return out;
  }
  if (!like.is_number() && !like.is_boolean()) return like;
  return Json::parse(tensor::tensor_to_json(results.at(at++)).dump());
}

/// A value of some structure, and what its state becomes.
class ValueTrace {
 public:
  Json step(const Json& op) {
    const std::string verb = op.at(0);
    Json out{{"op", op}};
    if (verb == "set_values") {
      structures_.push_back(op.at(1));
      task::ClosureOutcome outcome;
      flatten(op.at(1), outcome.results);
      outcome.results.push_back(Tensor::scalar(DType::kS64, static_cast<std::int64_t>(structures_.size() - 1)));
      shared_->set_outcome(std::move(outcome));
    } else if (verb == "set_error" && code_of(op.at(1)) == Code::kCancelled) {
      shared_->set_cancelled({Code::kCancelled, op.at(2), {}}, std::nullopt);
    } else if (verb == "set_error") {
      shared_->set_error({code_of(op.at(1)), op.at(2), {}});
    } else if (verb == "set_aborted") {
      shared_->error = {Code::kCancelled, "aborted; schedule it again: " + op.at(2).get<std::string>(), {}};
      shared_->become(ClosureState::kAborted);
    } else if (verb == "observe") {
      const auto fetched = value_.fetch(Deadline::after(5s));
      out["get"] = fetched ? get(fetched->results) : error_record(fetched.error());
    } else {
      throw std::runtime_error("nobody knows the step " + op.dump());
    }
    out["status"] = status();
    out["has_error"] = value_.state() != ClosureState::kReady;
    return out;
  }
  std::string status() const {
    if (value_.state() == ClosureState::kNotReady) return "NOT_READY";
    return value_.state() == ClosureState::kAborted ? "ABORTED" : "READY";  // a value, an error or its cancellation
  }

 private:
  /// The last result says which structure the others were.
  Json get(const std::vector<Tensor>& results) const {
    std::size_t at = 0;
    return unflatten(structures_.at(static_cast<std::size_t>(results.back().as<std::int64_t>()[0])), results, at);
  }

  std::vector<Json> structures_;
  std::shared_ptr<coordinator::RemoteValue::Shared> shared_ = std::make_shared<coordinator::RemoteValue::Shared>(
      ClosureId{1}, std::make_shared<coordinator::CoordinatorLink>());
  coordinator::RemoteValue value_{shared_};
};

void run_remote_value(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"steps"});
  ValueTrace value;
  Json trace = Json::array({{{"op", "new"}, {"status", value.status()}}});
  for (const Json& op : input.at("steps")) trace.push_back(value.step(op));
  report.compare(expected, Json{{"trace", trace}}, "case");
}

// --- ps_verify

void run_ps_verify(const Json& input, const Json& expected, Report& report) {
  check_keys(input, {"cluster", "task_type", "task_id"});
  cluster::ClusterConfig config;
  const auto spec = cluster::cluster_spec_from_json(input.at("cluster").dump(), "case");
  if (!spec) return report.compare(expected, Json{{"verify", error_record(spec.error())}}, "case");
  config.cluster = *spec;
  if (const auto type = optional_member<std::string>(input, "task_type"))
    config.task = cluster::TaskId{*type, optional_member<int>(input, "task_id").value_or(0)};
  const auto checked = coordinator::check_cluster(config);
  report.compare(expected, Json{{"verify", checked ? Json("ok") : error_record(checked.error())}}, "case");
}

// --- coordinator

constexpr std::string_view kProgram = R"({"v": 1,
  "variables": {"v": {"shape": [], "dtype": "s32", "init": {"zeros": {}}},
                "f": {"shape": [], "dtype": "f32", "init": {"zeros": {}}}},
  "datasets": {"data": [DATA]},
  "functions": {
    "add": {"module": "add.mlir", "inputs": [{"arg": 0}], "outputs": [{"assign_add": "v"}, {"result": 0}]},
    "fail": {"module": "fail.mlir", "inputs": [{"arg": 0}], "outputs": [{"assign_add": "v"}]},
    "count": {"module": "count.mlir", "inputs": [], "outputs": [{"assign_add": "f"}]},
    "next": {"module": "next.mlir", "inputs": [{"arg": 0}], "outputs": [{"result": 0}]},
    "three": {"module": "three.mlir", "inputs": [{"arg": 0}], "outputs": [{"result": 0}, {"result": 1}, {"result": 2}]}}})";

const std::map<std::string, std::string> kModules{
    {"add.mlir", "module { func.func public @main(%x: tensor<i32>) -> (tensor<i32>, tensor<i32>) { } }"},
    {"fail.mlir", "module { func.func public @main(%x: tensor<i32>) -> tensor<i32> { } }"},
    {"count.mlir", "module { func.func public @main() -> tensor<f32> { } }"},
    {"next.mlir", "module { func.func public @main(%x: tensor<i64>) -> tensor<i64> { } }"},
    {"three.mlir",
     "module { func.func public @main(%x: tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i32>) { } }"}};

using Tensors = std::vector<Tensor>;
Tensor number(std::int32_t value) { return Tensor::scalar(DType::kS32, value); }
std::int32_t number(const Tensor& tensor) { return tensor.as<std::int32_t>()[0]; }

std::shared_ptr<function::Engine> make_engine() {
  return std::make_shared<kit::FakeEngine>(std::map<std::string, kit::Body>{
      {"add.mlir",
       [](const Tensors& in) -> Result<Tensors> {
         return Tensors{in[0], number(10 * number(in[0]))};
       }},
      {"fail.mlir", [](const Tensors&) -> Result<Tensors> { return fail(Code::kInvalidArgument, "assertion failed"); }},
      {"count.mlir", [](const Tensors&) -> Result<Tensors> { return Tensors{Tensor::scalar(DType::kF32, 1.0F)}; }},
      {"next.mlir", [](const Tensors& in) -> Result<Tensors> { return Tensors{in[0]}; }},
      {"three.mlir", [](const Tensors& in) -> Result<Tensors> {
         const auto x = number(in[0]);
         return Tensors{number(x + 1), number(2 * x), number(x - 1)};
       }}});
}

/// Two workers and three parameter servers in this process, and a coordinator of theirs.
class Cluster {
 public:
  explicit Cluster(const std::string& data = R"({"range": 1})") {
    std::string document(kProgram);
    document.replace(document.find("DATA"), 4, data);
    program_ = value(
        program::parse_program(document, "case.json", "/",
                               [](const std::string& path) -> Result<std::string> { return kModules.at(path); }, {}));
    for (const auto& [job, count] : std::map<std::string, int>{{"ps", 3}, {"worker", 2}})
      for (int i = 0; i < count; ++i) start({job, i});
    coordinator::CoordinatorOptions options;
    options.make_endpoint = factory();
    options.keep_servers = true;
    coordinator_ = value(coordinator::ClusterCoordinator::connect(program_, config_, std::move(options)));
    const Deadline deadline = Deadline::after(10s);  // it needs one worker, the cases have two
    while (coordinator_->workers_up() < 2 && !deadline.expired()) std::this_thread::yield();
  }

  coordinator::ClusterCoordinator& coordinator() { return *coordinator_; }

  /// The answers to these lines, in their order.
  std::vector<Json> ask(std::deque<std::string> lines) {
    std::string written;
    coordinator::ClosureStreamOptions options;
    options.ordered = true;
    const auto read = [&](Deadline) -> Result<std::optional<std::string>> {
      if (lines.empty()) return std::nullopt;
      std::string line = std::move(lines.front());
      lines.pop_front();
      return line;
    };
    const auto write = [&](std::string_view text) -> Result<void> {
      written += text;
      return {};
    };
    value(coordinator::run_closures(*coordinator_, program_, read, write, options));
    std::vector<Json> answers;
    for (std::size_t at = 0, end = 0; (end = written.find('\n', at)) != std::string::npos; at = end + 1)
      answers.push_back(Json::parse(written.substr(at, end - at)));
    return answers;
  }

  template <class T>
  static T value(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message);
    return std::move(*result);
  }

 private:
  void start(const cluster::TaskId& task) {
    const std::string address = fmt::format("{}{}:1", task.job, task.index);
    config_.cluster.add_task(task.job, task.index, address);
    task::TaskServerOptions options;
    options.task = task;
    options.bind = address;
    options.make_endpoint = factory();
    options.make_engine = [] { return Result<std::shared_ptr<function::Engine>>(make_engine()); };
    tasks_.push_back(value(task::start_task_server(std::move(options))));
  }
  transport::EndpointFactory factory() {
    return [this](transport::EndpointOptions options) { return network_->make_endpoint(std::move(options)); };
  }

  std::unique_ptr<transport::InprocNetwork> network_ = transport::make_inproc_network();
  cluster::ClusterConfig config_;
  program::Program program_;
  std::vector<std::unique_ptr<task::TaskServer>> tasks_;
  std::unique_ptr<coordinator::ClusterCoordinator> coordinator_;  // ends before the tasks
};

std::string schedule(const std::string& function, const Json& argument, const std::string& id) {
  return Json{{"op", "schedule"}, {"function", function}, {"args", Json::array({argument})}, {"id", id}}.dump();
}
std::string fetch(const Json& of) { return Json{{"op", "fetch"}, {"of", of}}.dump(); }
Json remote(const std::string& id) { return {{"remote", id}}; }

const std::string kJoin = R"({"op": "join"})";
const std::string kDone = R"({"op": "done"})";
const std::string kReadV = R"({"op": "read", "variable": "v"})";
const std::string kCreate = R"({"op": "create_per_worker_dataset", "dataset": "data"})";
const Json kPerWorker{{"per_worker", "data"}};

std::string error_type(const Json& answer) {
  return answer.contains("error") ? type_of(parse_code(answer["error"]["code"].get<std::string>())) : "none";
}
Json ok(const Json& answer) { return answer["status"] == "ready" ? Json("ok") : answer; }

Json run_sum(const Json& input) {
  check_keys(input, {"kind", "values"});
  if (input.at("values").empty()) throw std::runtime_error("there is no first one to fetch");
  Cluster cluster;
  std::deque<std::string> lines;
  Json all = Json::array();
  for (std::size_t i = 0; i < input.at("values").size(); ++i) {
    lines.push_back(schedule("add", input["values"][i], "c" + std::to_string(i)));
    all.push_back(remote("c" + std::to_string(i)));
  }
  lines.insert(lines.end(), {kJoin, kDone, kReadV, fetch(all),
                             fetch({{"a", all.front()}, {"b", Json::array({all.back(), 7})}, {"c", "text"}})});
  const auto answers = cluster.ask(std::move(lines));
  const std::size_t n = all.size();
  return {{"done", answers.at(n + 1)["value"]},
          {"variable", answers.at(n + 2)["value"]},
          {"fetched", answers.at(n + 3)["value"]},
          {"fetch_structure", answers.at(n + 4)["value"]}};
}

Json run_error_then_continue(const Json& input) {
  check_keys(input, {"kind", "value"});
  Cluster cluster;
  const auto answers = cluster.ask({schedule("fail", 1, "bad"), kJoin, fetch(remote("bad")), kJoin, kDone,
                                    schedule("add", input.at("value"), "good"), fetch(remote("good")), kJoin, kReadV});
  return {{"join_error_type", error_type(answers.at(1))},
          {"failed_fetch_error_type", error_type(answers.at(2))},
          {"second_join", ok(answers.at(3))},
          {"done", answers.at(4)["value"]},
          {"after", answers.at(6)["value"]},
          {"variable", answers.at(8)["value"]}};
}

Json run_schedule_after_error(const Json& input) {
  check_keys(input, {"kind"});
  Cluster cluster;
  // The first error may come at any later schedule; with the value there it comes at the next one.
  auto bad = Cluster::value(cluster.coordinator().schedule({.function = "fail", .args = {number(1)}}));
  (void)bad.fetch(Deadline::after(10s));
  const auto answers = cluster.ask({schedule("add", 5, "cancelled"), kDone, kReadV});
  return {{"schedule_error_type", error_type(answers.at(0))},
          {"done", answers.at(1)["value"]},
          {"variable_unchanged", answers.at(2)["value"]}};
}

Json run_bad_args(const Json& input) {
  check_keys(input, {"kind"});
  Cluster cluster;
  const auto answers =
      cluster.ask({schedule("add", 1, "a"), schedule("add", remote("a"), "b"), schedule("lambda x: x", 1, "c"), kJoin});
  coordinator::CoordinatorOptions options;
  cluster::ClusterConfig no_servers;
  no_servers.cluster.add_task("chief", 0, "c:1");
  return {{"remote_value_arg", {{"error", answers.at(1)["error"]}}},
          {"python_function", {{"error", answers.at(2)["error"]}}},
          {"unsupported_strategy", error_record(coordinator::check_cluster(no_servers).error())}};
}

Json run_per_worker_dataset(const Json& input) {
  check_keys(input, {"kind", "n", "steps"});
  const int n = input.at("n");
  Cluster cluster(fmt::format(R"({{"range": {}}}, {{"repeat": {{}}}})", n));
  std::deque<std::string> lines{kCreate};
  const int steps = input.at("steps");
  for (int i = 0; i < steps; ++i) lines.push_back(schedule("next", kPerWorker, "c" + std::to_string(i)));
  const auto answers = cluster.ask(std::move(lines));
  bool in_range = true;
  int values = 0;
  for (std::size_t i = 1; i < answers.size(); ++i) {
    if (!answers[i].contains("value")) continue;
    ++values;
    in_range = in_range && answers[i]["value"] >= 0 && answers[i]["value"] < n;
  }
  return {{"num_values", values}, {"all_in_range", in_range}, {"workers", cluster.coordinator().workers_up()}};
}

Json run_end_of_data(const Json& input) {
  check_keys(input, {"kind"});
  Cluster cluster(R"({"range": 2})");
  std::deque<std::string> lines{kCreate};
  for (int i = 0; i < 5; ++i) lines.push_back(schedule("next", kPerWorker, "c" + std::to_string(i)));  // 2 x 2 elements
  lines.insert(lines.end(), {kJoin, kJoin});
  const auto answers = cluster.ask(std::move(lines));
  // Whoever sees the first one: a schedule or the join.
  std::string type = "none";
  for (std::size_t i = 1; i < 7; ++i)
    if (answers.at(i)["status"] == "raised") type = error_type(answers[i]);
  return {{"join_error_type", type}, {"second_join", ok(answers.at(7))}};
}

Json run_no_return(const Json& input) {
  check_keys(input, {"kind"});
  Cluster cluster;
  const auto answers = cluster.ask({R"({"op": "schedule", "function": "count", "id": "a"})", fetch(remote("a")), kJoin,
                                    R"({"op": "read", "variable": "f"})"});
  return {{"fetch", answers.at(1)["value"]}, {"variable", answers.at(3)["value"]}};
}

Json run_structure(const Json& input) {
  check_keys(input, {"kind", "value"});
  Cluster cluster;
  const auto result = [](int i) { return Json{{"remote", "a"}, {"result", i}}; };
  const Json of{{"a", result(0)}, {"b", Json::array({result(1), Json::array({result(2)})})}};
  return {{"fetch", cluster.ask({schedule("three", input.at("value"), "a"), fetch(of)}).at(1)["value"]}};
}

void run_coordinator(const Json& input, const Json& expected, Report& report) {
  static const std::map<std::string, Json (*)(const Json&)> kKinds{{"sum", run_sum},
                                                                   {"error_then_continue", run_error_then_continue},
                                                                   {"schedule_after_error", run_schedule_after_error},
                                                                   {"bad_args", run_bad_args},
                                                                   {"per_worker_dataset", run_per_worker_dataset},
                                                                   {"end_of_data", run_end_of_data},
                                                                   {"no_return", run_no_return},
                                                                   {"structure", run_structure}};
  const auto kind = kKinds.find(input.at("kind").get<std::string>());
  if (kind == kKinds.end()) throw std::runtime_error("nobody knows the kind " + input.at("kind").dump());
  Json wanted = expected;
  // Names and objects of Python alone: a coordinator is a value here, and nothing can be called on an iterator.
  for (const char* key : {"type", "next_on_per_worker", "same_instance"}) wanted.erase(key);
  report.compare(wanted, kind->second(input), "case");
}

}  // namespace

Sets coordinator_sets() {
  return {{"closure_queue", run_closure_queue},
          {"remote_value", run_remote_value},
          {"error_classification", run_error_classification},
          {"transient_failures", run_transient_failures},
          {"ps_verify", run_ps_verify},
          {"coordinator", run_coordinator}};
}

}  // namespace tfd::vectors
