// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow's ClusterCoordinator: its queue, its values, and whole programs on real task servers, asked as JSON lines.
#include <deque>
#include <thread>

#include "fake_engine.hpp"
#include "remote_value.hpp"
#include "sets.hpp"
#include "tfd/coordinate/closure_queue.hpp"
#include "tfd/coordinate/closures.hpp"
#include "tfd/coordinate/failures.hpp"

namespace tfd::vectors {
namespace {

using namespace std::chrono_literals;
using coordinate::ClosureId;
using coordinate::ClosureState;
using tensor::DType;
using tensor::Tensor;

/// "InvalidArgumentError", as the error's code.
Code code_of(const std::string& type) {
  static const std::map<std::string, Code> kCodes{{"InvalidArgumentError", Code::kInvalidArgument},
                                                  {"ValueError", Code::kInvalidArgument},
                                                  {"CancelledError", Code::kCancelled},
                                                  {"UnavailableError", Code::kUnavailable},
                                                  {"AbortedError", Code::kAborted},
                                                  {"OutOfRangeError", Code::kOutOfRange},
                                                  {"InternalError", Code::kInternal}};
  const auto found = kCodes.find(type);
  return found == kCodes.end() ? Code::kUnknown : found->second;
}
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

/// TensorFlow's traces name closures by letters, and finish whichever is in flight the longest.
class QueueTrace {
 public:
  Json step(const Json& op) {
    Json out{{"op", op}};
    const auto error = apply(op, out);
    if (error) out["error"] = error_record(*error)["error"];
    out["queued"] = queue_.queued();
    out["inflight"] = queue_.in_flight();
    out["cancelled"] = cancelled_;
    return out;
  }

 private:
  std::optional<Error> apply(const Json& op, Json& out) {
    const std::string verb = op.at(0);
    if (verb == "put") {
      names_.push_back(op.at(1));
      if (op.size() > 2)
        queue_.put_for(op.at(2), names_.size() - 1);
      else
        queue_.put(names_.size() - 1);
      if (auto raised = raise()) return raised;
      out["result"] = "ok";
    } else if (verb == "get") {
      const auto id = queue_.take(op.at(1).get<std::size_t>());
      if (id && queue_.is_in_flight(*id)) flying_.push_back(*id);
      out["result"] = id ? Json(names_[*id]) : Json();
    } else if (verb == "wait" || verb == "done") {
      if (auto raised = raise()) return raised;
      out["result"] = verb == "wait" || queue_.idle();
    } else {
      const ClosureId id = flying_.empty() ? 0 : flying_.front();
      if (!flying_.empty()) flying_.pop_front();
      const bool cancels = queue_.has_error();
      if (!end(verb, op, id)) return Error{Code::kInternal, "there is no inflight closure to mark", {}};
      if (verb == "put_back" && cancels) cancelled_.push_back(names_[id]);
      out["result"] = "ok";
    }
    return std::nullopt;
  }
  bool end(const std::string& verb, const Json& op, ClosureId id) {
    if (verb == "finished") return queue_.finished(id);
    if (verb == "failed") return queue_.failed(id, {code_of(op.at(1)), op.at(2), {}});
    const bool flew = queue_.is_in_flight(id);
    queue_.put_back(id);
    return flew;
  }
  std::optional<Error> raise() {
    std::vector<ClosureId> ids;
    auto raised = queue_.raise(&ids);
    for (const ClosureId id : ids) cancelled_.push_back(names_[id]);
    return raised;
  }

  coordinate::ClosureQueue queue_;
  std::vector<std::string> names_;
  std::deque<ClosureId> flying_;
  std::vector<std::string> cancelled_;
};

void run_closure_queue(const Json&, const Json& expected, Report& report) {
  QueueTrace trace;
  Json actual = Json::array();
  Json wanted = expected.at("trace");
  for (Json& step : wanted) {
    actual.push_back(trace.step(step.at("op")));
    // An assertion of TensorFlow's: that it fails is what binds.
    if (step.contains("error") && step["error"].value("type", "") == "AssertionError")
      step["error"]["accidental"] = true;
  }
  report.compare(wanted, actual, "trace");
}

// --- error_classification, transient_failures

/// TensorFlow's error as tfd has it: whose it is stands in the task, not in the text.
Error typed_error(const Json& error) {
  if (error.contains("original")) return typed_error(error.at("original"));
  const std::string text = error.at("message"), type = error.at("type");
  const auto task_after = [&](std::string_view marker) {
    const auto at = text.find(marker);
    const auto task = at == std::string::npos ? at : text.find("/task:", at);
    return task == std::string::npos ? std::string()
                                     : text.substr(task + 6, text.find_first_not_of("0123456789", task + 6) - task - 6);
  };
  Error out{type == "DeadlineExceededError" ? Code::kDeadlineExceeded : code_of(type), text, {}};
  const std::string server = task_after("GRPC error information from remote target /job:ps/");
  const std::string worker = task_after("/job:worker/");
  if (!server.empty())
    out.task = "ps:" + server;
  else if (!worker.empty())
    out.task = "worker:" + worker;
  // A worker that has lost what it was given: the transport says so, by its incarnation.
  if (text.starts_with("Unknown device")) out.code = Code::kUnavailable;
  return out;
}

void run_error_classification(const Json& input, const Json& expected, Report& report) {
  const Error error = typed_error(input.at("error"));
  const auto failure = coordinate::classify(error);
  Json actual{{"is_ps_failure", failure == coordinate::Failure::kServer},
              {"is_worker_failure", failure == coordinate::Failure::kWorker},
              {"failed_ps_instances", Json::array()}};
  if (failure == coordinate::Failure::kServer) actual["failed_ps_instances"].push_back(std::stoi(error.task.substr(3)));
  Json wanted = expected;
  wanted.erase("str");  // the texts are our own
  report.compare(wanted, actual, "case");
}

void run_transient_failures(const Json& input, const Json& expected, Report& report) {
  Environment env;
  const Json variables = input.value("env", Json::object());
  for (const auto& [name, value] : variables.items()) env.set(name, value.get<std::string>());
  coordinate::TransientFailures transient(coordinate::read_transient_limits(env).value(), input.at("num_workers"));
  Json actual{{"decisions", Json::array()}, {"ps_counts", Json::array()}};
  for (const Json& one : input.at("errors")) {
    const Error error = typed_error(one);
    const bool passes = transient.pass(error);
    const bool is_server = coordinate::classify(error) == coordinate::Failure::kServer;
    actual["decisions"].push_back(
        {{"ignored_as_transient_ps", passes && is_server}, {"ignored_as_timeout", passes && !is_server}});
  }
  for (int i = 0; i < input.at("num_ps").get<int>(); ++i)
    actual["ps_counts"].push_back(transient.reports_of("ps:" + std::to_string(i)));
  actual["timeouts"] = transient.timeouts();
  report.compare(expected, actual, "case");
}

// --- remote_value

std::string status_name(ClosureState state) {
  if (state == ClosureState::kNotReady) return "NOT_READY";
  return state == ClosureState::kAborted ? "ABORTED" : "READY";  // with a value, an error or its cancellation
}

void run_remote_value(const Json& input, const Json& expected, Report& report) {
  const auto board = std::make_shared<coordinate::FetchBoard>();  // with the value
  const auto shared = std::make_shared<coordinate::RemoteValue::Shared>(ClosureId{1}, board);
  const coordinate::RemoteValue value(shared);
  Json trace = Json::array({{{"op", "new"}, {"status", status_name(value.state())}}});
  for (const Json& op : input.at("steps")) {
    const std::string verb = op.at(0);
    Json step{{"op", op}};
    if (verb == "set_values") {
      shared->set_outcome({{Tensor::scalar(DType::kS32, op.at(1).get<std::int32_t>())}, {}});
    } else if (verb == "set_error" && code_of(op.at(1)) == Code::kCancelled) {
      shared->set_cancelled({Code::kCancelled, op.at(2), {}}, std::nullopt);
    } else if (verb == "set_error") {
      shared->set_error({code_of(op.at(1)), op.at(2), {}});
    } else if (verb == "set_aborted") {
      shared->set_aborted({code_of(op.at(1)), op.at(2), {}});
    } else {
      const auto fetched = value.fetch(Deadline::after(5s));
      step["get"] = fetched ? Json(fetched->results.at(0).as<std::int32_t>()[0]) : error_record(fetched.error());
    }
    step["status"] = status_name(value.state());
    step["has_error"] = value.state() != ClosureState::kReady;
    trace.push_back(std::move(step));
  }
  report.compare(expected, Json{{"trace", trace}}, "case");
}

// --- ps_verify

void run_ps_verify(const Json& input, const Json& expected, Report& report) {
  cluster::ClusterConfig config;
  const auto spec = cluster::cluster_spec_from_json(input.at("cluster").dump(), "case");
  if (!spec) return report.compare(expected, Json{{"verify", error_record(spec.error())}}, "case");
  config.cluster = *spec;
  if (const auto type = optional_member<std::string>(input, "task_type"))
    config.task = cluster::TaskId{*type, optional_member<int>(input, "task_id").value_or(0)};
  const auto checked = coordinate::check_cluster(config);
  report.compare(expected, Json{{"verify", checked ? Json("ok") : error_record(checked.error())}}, "case");
}

// --- coordinator

constexpr std::string_view kProgram = R"({"v": 1,
  "variables": {"v": {"shape": [], "dtype": "s32", "init": {"zeros": {}}},
                "f": {"shape": [], "dtype": "f32", "init": {"zeros": {}}}},
  "datasets": {"data": [{"range": DATA}]},
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
  explicit Cluster(int elements) {
    std::string document(kProgram);
    document.replace(document.find("DATA"), 4, std::to_string(elements));
    program_ = value(
        program::parse_program(document, "case.json", "/",
                               [](const std::string& path) -> Result<std::string> { return kModules.at(path); }, {}));
    for (const auto& [job, count] : std::map<std::string, int>{{"ps", 3}, {"worker", 2}})
      for (int i = 0; i < count; ++i) start({job, i});
    coordinate::CoordinatorOptions options;
    options.make_endpoint = factory();
    options.keep_servers = true;
    coordinator_ = value(coordinate::ClusterCoordinator::connect(program_, config_, std::move(options)));
    const Deadline deadline = Deadline::after(10s);  // it needs one worker, the cases have two
    while (coordinator_->workers_up() < 2 && !deadline.expired()) std::this_thread::yield();
  }

  coordinate::ClusterCoordinator& coordinator() { return *coordinator_; }

  /// The answers to these lines, in their order.
  std::vector<Json> ask(std::deque<std::string> lines) {
    std::string written;
    coordinate::ClosureStreamOptions options;
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
    value(coordinate::run_closures(*coordinator_, program_, read, write, options));
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
    runtime::TaskServerOptions options;
    options.task = task;
    options.bind = address;
    options.make_endpoint = factory();
    options.make_engine = [] { return Result<std::shared_ptr<function::Engine>>(make_engine()); };
    tasks_.push_back(value(runtime::start_task_server(std::move(options))));
  }
  runtime::EndpointFactory factory() {
    return [this](transport::EndpointOptions options) { return network_->make_endpoint(std::move(options)); };
  }

  std::unique_ptr<transport::InprocNetwork> network_ = transport::make_inproc_network();
  cluster::ClusterConfig config_;
  program::Program program_;
  std::vector<std::unique_ptr<runtime::TaskServer>> tasks_;
  std::unique_ptr<coordinate::ClusterCoordinator> coordinator_;  // ends before the tasks
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
  Cluster cluster(1);
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
  Cluster cluster(1);
  const auto answers = cluster.ask({schedule("fail", 1, "bad"), kJoin, fetch(remote("bad")), kJoin, kDone,
                                    schedule("add", input.at("value"), "good"), fetch(remote("good")), kJoin, kReadV});
  return {{"join_error_type", error_type(answers.at(1))},
          {"failed_fetch_error_type", error_type(answers.at(2))},
          {"second_join", ok(answers.at(3))},
          {"done", answers.at(4)["value"]},
          {"after", answers.at(6)["value"]},
          {"variable", answers.at(8)["value"]}};
}

Json run_schedule_after_error(const Json&) {
  Cluster cluster(1);
  // The first error may come at any later schedule; with the value there it comes at the next one.
  auto bad = Cluster::value(cluster.coordinator().schedule({.function = "fail", .args = {number(1)}}));
  (void)bad.fetch(Deadline::after(10s));
  const auto answers = cluster.ask({schedule("add", 5, "cancelled"), kDone, kReadV});
  return {{"schedule_error_type", error_type(answers.at(0))},
          {"done", answers.at(1)["value"]},
          {"variable_unchanged", answers.at(2)["value"]}};
}

Json run_bad_args(const Json&) {
  Cluster cluster(1);
  const auto answers =
      cluster.ask({schedule("add", 1, "a"), schedule("add", remote("a"), "b"), schedule("lambda x: x", 1, "c"), kJoin});
  coordinate::CoordinatorOptions options;
  cluster::ClusterConfig no_servers;
  no_servers.cluster.add_task("chief", 0, "c:1");
  return {{"remote_value_arg", {{"error", answers.at(1)["error"]}}},
          {"python_function", {{"error", answers.at(2)["error"]}}},
          {"unsupported_strategy", error_record(coordinate::check_cluster(no_servers).error())}};
}

Json run_per_worker_dataset(const Json& input) {
  const int n = input.at("n");
  Cluster cluster(n);
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

Json run_end_of_data(const Json&) {
  Cluster cluster(2);
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

Json run_no_return(const Json&) {
  Cluster cluster(1);
  const auto answers = cluster.ask({R"({"op": "schedule", "function": "count", "id": "a"})", fetch(remote("a")), kJoin,
                                    R"({"op": "read", "variable": "f"})"});
  return {{"fetch", answers.at(1)["value"]}, {"variable", answers.at(3)["value"]}};
}

Json run_structure(const Json& input) {
  Cluster cluster(1);
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
  if (kind == kKinds.end()) return report.not_implemented("kind " + input.at("kind").dump());
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
