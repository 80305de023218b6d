// SPDX-License-Identifier: Apache-2.0
//
// The coordination service: what its state machine decides, and what clients of a task see of it.
#include <future>

#include "coordinated.hpp"
#include "coordination/coordination_service.hpp"
#include "small_cluster.hpp"
#include "tfd/task/parameter_servers.hpp"
#include "tfd/task/task_server.hpp"
#include "tfd/task/worker_group.hpp"

namespace tfd::task::test {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

TEST_CASE("coordination state: keys have versions, and are put where nobody else has put them since") {
  Coordinated all;
  CHECK(all.now<KeyState>(1, {GetKey{"k", {}}})->version == 0);
  const auto first = all.now<KeyState>(1, {PutKey{"k", "a", 0}})->version;
  CHECK(first > 0);
  CHECK(all.now<KeyState>(2, {PutKey{"k", "b", 0}}).error().code == Code::kFailedPrecondition);
  CHECK(all.now<KeyState>(2, {PutKey{"k", "b", first}})->version > first);
  CHECK(all.now<KeyState>(2, {PutKey{"k", "c", {}}}).has_value());
  CHECK(all.now<KeyState>(1, {GetKey{"k", {}}})->value == "c");
}

TEST_CASE("coordination state: who waits for a key is answered when it changes, or as it stands") {
  Coordinated all;
  const auto waits = all.ask(1, {GetKey{"k", 0}, kWaits}), other = all.ask(1, {GetKey{"other", 0}, kWaits});
  CHECK_FALSE(all.is_answered(waits));
  const auto version = all.now<KeyState>(2, {PutKey{"k", "a", {}}})->version;
  CHECK(all.answer<KeyState>(waits)->value == "a");
  CHECK_FALSE(all.is_answered(other));
  CHECK(all.now<KeyState>(1, {GetKey{"k", 0}, kWaits})->version == version);  // newer already
  const auto newer = all.ask(1, {GetKey{"k", version}, kWaits});
  CHECK_FALSE(all.is_answered(newer));
  all.keep(all.state.wait_over(newer));
  CHECK(all.answer<KeyState>(newer)->version == version);
  CHECK(all.now<KeyState>(1, {GetKey{"k", version}, 0})->version == version);
  all.keep(all.state.wait_over(newer));  // once
}

TEST_CASE("coordination state: counters are added to and read, all at once") {
  Coordinated all;
  using Values = std::vector<std::int64_t>;
  CHECK(all.now<CounterValues>(1, {AddCounters{{{"a", 2}, {"b", -1}}}})->values == Values{2, -1});
  CHECK(all.now<CounterValues>(2, {AddCounters{{{"b", 0}, {"a", 1}, {"a", 1}, {"c", 0}}}})->values ==
        Values{-1, 3, 4, 0});
}

TEST_CASE("coordination state: members are there as long as their connections, or until they leave") {
  Coordinated all;
  REQUIRE(all.now<GroupState>(1, {JoinGroup{"g", "x"}}));
  REQUIRE(all.now<GroupState>(2, {JoinGroup{"g", "y"}}));
  const auto joined = all.now<GroupState>(9, {ReadGroup{"g", {}}}).value();
  CHECK(members_of(joined) == "x+ y+ ");
  REQUIRE(all.now<GroupState>(1, {JoinGroup{"g", "x"}}));  // again: nothing new
  CHECK(all.now<GroupState>(9, {ReadGroup{"g", {}}})->version == joined.version);
  const auto waits = all.ask(9, {ReadGroup{"g", joined.version}, kWaits});
  all.keep(all.state.connection_gone(1));
  CHECK(members_of(all.answer<GroupState>(waits).value()) == "x! ");  // the changed member
  CHECK(members_of(all.now<GroupState>(9, {ReadGroup{"g", {}}}).value()) == "x! y+ ");
  REQUIRE(all.now<GroupState>(2, {LeaveGroup{"g", "y"}}));
  REQUIRE(all.now<GroupState>(3, {JoinGroup{"g", "x"}}));
  CHECK(members_of(all.now<GroupState>(9, {ReadGroup{"g", {}}}).value()) == "x+ y- ");
  all.keep(all.state.connection_gone(1));  // no longer its own
  all.keep(all.state.connection_gone(2));  // left before
  CHECK(members_of(all.now<GroupState>(9, {ReadGroup{"g", {}}}).value()) == "x+ y- ");
  REQUIRE(all.now<GroupState>(4, {JoinGroup{"g", "x"}}));  // the newest connection has the name
  CHECK(all.now<GroupState>(3, {LeaveGroup{"g", "x"}}).error().code == Code::kFailedPrecondition);
  CHECK(all.now<GroupState>(3, {LeaveGroup{"g", "z"}}).error().code == Code::kNotFound);
}

TEST_CASE("coordination state: who is gone gets no answers, and what he waited for is forgotten") {
  Coordinated all;
  for (int time = 0; time < 3; ++time) {
    std::vector<std::uint64_t> waiting;
    for (std::size_t i = 0; i < kMostWaitingOfOne; ++i) waiting.push_back(all.ask(1, {GetKey{"k", 0}, kWaits}));
    CHECK(all.now<KeyState>(1, {GetKey{"k", 0}, kWaits}).error().code == Code::kResourceExhausted);
    all.keep(all.state.connection_gone(1));
    for (const auto ticket : waiting) CHECK_FALSE(all.is_answered(ticket));
  }
  const auto waits = all.ask(2, {GetKey{"k", 0}, kWaits});
  all.keep(all.state.end({Code::kPermissionDenied, "another run", {}}));
  CHECK(all.answer<KeyState>(waits).error().code == Code::kPermissionDenied);
  CHECK(all.now<KeyState>(2, {PutKey{"k", "a", {}}}));
}

TEST_CASE("coordination state: numbers are given to one client each, and again when it is gone") {
  std::set<std::int64_t> applied;
  Coordinated all([&](std::int64_t number) { return applied.contains(number); });
  const auto request = [](std::uint64_t client, std::optional<std::int64_t> end) {
    return CoordinationRequest{
        TakeNumbers{
            .queue = "q", .client = client, .name = "w" + std::to_string(client), .end = end, .most = 4, .sharers = 2},
        kWaits};
  };
  using Range = std::pair<std::int64_t, std::uint32_t>;
  const auto take = [&](std::uint64_t client, std::optional<std::int64_t> end = {}) {
    const auto taken = all.now<NumbersState>(client, request(client, end)).value();
    for (std::uint32_t i = 0; i < taken.count; ++i) CHECK(taken.settled <= taken.first + i);
    return Range{taken.first, taken.count};
  };
  CHECK(take(1) == Range{0, 4});
  CHECK(take(2) == Range{4, 4});
  applied = {0, 1, 2, 3, 4};
  CHECK(take(1) == Range{8, 4});
  // All that client 2 had comes back: other tasks may not have had its last update.
  all.keep(all.state.connection_gone(2));
  CHECK(take(3) == Range{4, 4});
  // Steps that client 1 didn't make come back when it takes others.
  applied.insert({8, 9});
  CHECK(take(1) == Range{10, 2});
  applied.insert({5, 6, 7, 10, 11});
  // Each takes less toward the end, and a client that finds none waits for those that others have.
  CHECK(take(3, 17) == Range{12, 1});
  CHECK(take(1, 17) == Range{13, 1});
  applied.insert({12, 13});
  CHECK(take(3, 15) == Range{14, 1});  // the end is the least that anybody says
  const auto waiting = all.ask(1, request(1, 17));
  CHECK_FALSE(all.is_answered(waiting));
  all.keep(all.state.connection_gone(3));
  CHECK(all.answer<NumbersState>(waiting)->first == 14);
  CHECK(all.answer<NumbersState>(waiting)->count == 1);
  CHECK(take(1) == Range{14, 1});  // it gave it back
  const auto other = all.ask(4, request(4, {}));
  CHECK_FALSE(all.is_answered(other));
  applied.insert(14);
  CHECK(all.now<NumbersState>(1, request(1, {}))->is_over);
  CHECK(all.answer<NumbersState>(other)->is_over);
}

TEST_CASE("coordination state: numbers that are done don't come back where all is known here, or they are given back") {
  for (const bool has_all : {true, false})
    for (const bool leaves : {true, false}) {
      std::set<std::int64_t> applied;
      Coordinated all([&](std::int64_t number) { return applied.contains(number); });
      TakeNumbers take{.queue = "q", .client = 1, .name = "w", .most = 4, .has_all = has_all};
      CHECK(all.now<NumbersState>(1, {take, kWaits})->count == 4);
      applied = {0, 1};
      take.most = 0;
      if (leaves) CHECK(all.now<NumbersState>(1, {take, kWaits})->count == 0);
      all.keep(all.state.connection_gone(1));
      take.client = 2;
      take.most = 4;
      CHECK(all.now<NumbersState>(2, {take, kWaits})->first == (has_all || leaves ? 2 : 0));
    }
}

TEST_CASE("coordination state: who is busy with something else after its last number holds nobody up") {
  std::set<std::int64_t> applied;
  Coordinated all([&](std::int64_t number) { return applied.contains(number); });
  const CoordinationRequest one{TakeNumbers{.queue = "q", .client = 1, .name = "w1", .end = 1}, kWaits};
  const CoordinationRequest two{TakeNumbers{.queue = "q", .client = 2, .name = "w2", .end = 1}, kWaits};
  CHECK(all.now<NumbersState>(1, one)->count == 1);
  const auto waiting = all.ask(2, two);
  CHECK_FALSE(all.is_answered(waiting));
  applied.insert(0);
  all.keep(all.state.wait_over(waiting));
  CHECK_FALSE(all.answer<NumbersState>(waiting)->is_over);
  CHECK(all.answer<NumbersState>(waiting)->held_by == Names{"w1"});
  CHECK(all.now<NumbersState>(2, two)->is_over);
}

TEST_CASE("coordination state: what callers have it keep is bounded") {
  Coordinated all;
  const std::string long_name(kMostNameBytes + 1, 'n'), large(kMostValueBytes + 1, 'v');
  const auto code = [&]<class T>(CoordinationRequest request) {
    const auto answer = all.now<T>(1, std::move(request));
    return answer ? std::optional<Code>() : answer.error().code;
  };
  CHECK(code.operator()<KeyState>({PutKey{long_name, "", {}}}) == Code::kInvalidArgument);
  CHECK(code.operator()<KeyState>({PutKey{"", "", {}}}) == Code::kInvalidArgument);
  CHECK(code.operator()<KeyState>({PutKey{"k", large, {}}}) == Code::kResourceExhausted);
  CHECK(code.operator()<KeyState>({PutKey{".epoch", "9", {}}}) == Code::kPermissionDenied);
  CHECK(code.operator()<CounterValues>({AddCounters{{{long_name, 1}}}}) == Code::kInvalidArgument);
  CHECK(code.operator()<GroupState>({JoinGroup{"g", long_name}}) == Code::kInvalidArgument);
  const TakeNumbers good{.queue = "q", .name = "w"};
  std::vector<TakeNumbers> bad(6, good);
  bad[0].queue = long_name;
  bad[1].name = "";
  bad[2].end = -1;
  bad[3].end = kMostNumber + 1;
  bad[4].most = kMostNumbers + 1;
  bad[5].sharers = 0;
  CHECK_FALSE(code.operator()<NumbersState>({good}));
  for (const TakeNumbers& take : bad) CHECK(code.operator()<NumbersState>({take}) == Code::kInvalidArgument);
  const std::string most(kMostValueBytes, 'v');
  std::size_t keys = 0;
  while (!code.operator()<KeyState>({PutKey{std::to_string(keys), most, {}}})) ++keys;
  CHECK(keys == kMostKeptBytes / kMostValueBytes);
  CHECK_FALSE(code.operator()<KeyState>({PutKey{"0", "less", {}}}));
  CHECK_FALSE(code.operator()<KeyState>({PutKey{"more", "less", {}}}));
}

TEST_CASE("coordination state: an epoch is refused while its holder answers") {
  EpochClaims claims("ps:0");
  const auto now = Clock::now();
  const auto first = claims.claim({1, "a"}, {.host = "h", .pid = 5}, 0, now);
  const auto epoch = std::get<std::uint64_t>(first);
  CHECK(std::get<EpochClaims::Ping>(claims.claim({2, "b"}, {}, 0, now)).connection == 1);
  const auto refused = std::get<Error>(claims.claim({2, "b"}, {}, 0, now + 3s, 1));
  CHECK(refused.code == Code::kPermissionDenied);
  CHECK(refused.message == "ps:0 is in use by a on h (process 5), for 3s; --take-over takes the cluster from it");
  CHECK(std::get<std::uint64_t>(claims.claim({3, "a"}, {.held = epoch}, 0, now)) == epoch);  // a new connection
  claims.is_silent(1);                                                                       // the former one
  CHECK(std::holds_alternative<EpochClaims::Ping>(claims.claim({2, "b"}, {}, 0, now)));
  claims.is_silent(3);
  CHECK(std::get<std::uint64_t>(claims.claim({2, "b"}, {}, 0, now)) == epoch + 1);
  CHECK(std::get<Error>(claims.claim({3, "a"}, {.held = epoch}, 0, now)).code == Code::kPermissionDenied);
  claims.is_silent(2);
  CHECK(std::get<Error>(claims.claim({3, "a"}, {.held = epoch}, epoch + 1, now)).code == Code::kPermissionDenied);
  CHECK(std::get<std::uint64_t>(claims.claim({4, "c"}, {.take_over = true}, 0, now)) == epoch + 2);
  CHECK(std::get<std::uint64_t>(claims.claim({4, "c"}, {.adopt = true}, 77, now)) == 77);
}

/// One parameter server, and clients that may be killed.
class CoordinationBed {
 public:
  CoordinationBed() {
    TaskServerOptions options;
    options.task = {"ps", 0};
    options.bind = "ps0:1";
    options.make_endpoint = endpoints();
    server_ = start_task_server(std::move(options)).value();
  }
  std::unique_ptr<ParameterServers> client(const std::string& name) {
    ParameterServersOptions options;
    options.name = name;
    options.make_endpoint = endpoints();
    options.rejoin = 2s;
    return ParameterServers::connect(placement, std::move(options), soon()).value();
  }
  void kill(const std::string& name) { network_->kill(name); }
  static Deadline soon() { return Deadline::after(60s); }
  /// "w", to be loaded.
  PackedProgram place_one_variable() {
    Parts parts;
    parts.document = R"({"v": 1, "variables": {"w": {"shape": [], "init": {"zeros": {}}}}})";
    const auto program = parse(parts);
    placement = place_variables(program, placement.ps);
    return PackedProgram::pack(program, placement);
  }

  Placement placement{.ps = {{"ps:0", "ps0:1"}}, .variables = {}, .placed = {}};

 private:
  transport::EndpointFactory endpoints() {
    return [this](transport::EndpointOptions options) { return network_->make_endpoint(std::move(options)); };
  }
  std::unique_ptr<transport::InprocNetwork> network_ = transport::make_inproc_network();
  std::unique_ptr<TaskServer> server_;
};

constexpr auto kProcess = CoordinationScope::kProcess;

TEST_CASE("coordination: waits that are answered leave nothing behind") {
  struct Nobody final : transport::Responder::Impl {
    explicit Nobody(int& count) : answers(count) {}
    void reply(Result<transport::Message>) override { ++answers; }
    int& answers;
  };
  int answers = 0, posts = 0;
  CoordinationService service(
      "ps:0", [](std::uint64_t, const auto&) {}, [&](Clock::time_point, const auto&) { ++posts; },
      [](std::int64_t) { return false; });
  const auto ask = [&](std::uint64_t connection, const CoordinationRequest& request) {
    const transport::Caller caller{.connection = connection};
    service.handle(caller, encode(request, 0), transport::Responder(std::make_unique<Nobody>(answers)));
  };
  for (int i = 0; i < 1000; ++i) {
    ask(1, {GetKey{"busy", 1'000'000}, 60'000});
    ask(2, {PutKey{"busy", "x", {}}});
    if (i % 2 == 0) service.caller_gone({.connection = 1});
  }
  CHECK(answers >= 1000);
  CHECK(posts <= 1);
}

TEST_CASE("coordination: a member that is killed is gone, and whoever waits is told") {
  CoordinationBed bed;
  const auto looker = bed.client("looker"), member = bed.client("worker:1");
  const auto looks = looker->coordination(kProcess);
  REQUIRE(member->coordination(kProcess).join("g", "worker:1", bed.soon()));
  const auto joined = looks.members("g", bed.soon()).value();
  CHECK(members_of(joined) == "worker:1+ ");
  auto waiting =
      std::async(std::launch::async, [&] { return looks.wait_for_members("g", joined.version, bed.soon()); });
  bed.kill("worker:1");
  CHECK(members_of(waiting.get().value()) == "worker:1! ");
  const auto again = bed.client("worker:1");
  REQUIRE(again->coordination(kProcess).join("g", "worker:1", bed.soon()));
  CHECK(members_of(looks.members("g", bed.soon()).value()) == "worker:1+ ");
}

TEST_CASE("coordination: a wait ends with its caller, and when it is asked to") {
  CoordinationBed bed;
  const auto other = bed.client("other"), caller = bed.client("caller");
  caller->task(0).coordinate(
      {GetKey{"k", 0}, 10000}, bed.soon(), [](const Result<CoordinationAnswer>&) {}, kProcess);
  std::stop_source stop;
  auto stopped = std::async(std::launch::async, [&] {
    return other->coordination(kProcess).wait_for_key("k", 0, bed.soon(), stop.get_token());
  });
  stop.request_stop();
  CHECK(stopped.get().error().code == Code::kCancelled);
  bed.kill("caller");
  const auto version = other->coordination(kProcess).put("k", "v", bed.soon());
  REQUIRE(version);
  CHECK(other->coordination(kProcess).wait_for_key("k", 0, bed.soon())->value == "v");
  CHECK(other->coordination(kProcess).put("k", "w", bed.soon(), 0).error().code == Code::kFailedPrecondition);
}

TEST_CASE("coordination: what is of a run ends with it") {
  CoordinationBed bed;
  const auto packed = bed.place_one_variable();
  const auto old = bed.client("old"), next = bed.client("next");
  REQUIRE(old->coordination().get("k", bed.soon()).error().code == Code::kFailedPrecondition);
  REQUIRE(old->load(packed, 7, bed.soon()));
  REQUIRE(old->coordination().put("k", "v", bed.soon()));
  const auto epoch = next->coordination(kProcess).get(kEpochKey, bed.soon()).value();
  CHECK(epoch.value == "7");
  auto waiting =
      std::async(std::launch::async, [&] { return old->coordination().wait_for_key("other", 0, bed.soon()); });
  REQUIRE(next->load(packed, 8, bed.soon()));
  CHECK(next->coordination().get("k", bed.soon())->version == 0);
  CHECK(waiting.get().error().code == Code::kPermissionDenied);
  CHECK(old->coordination().get("k", bed.soon()).error().code == Code::kPermissionDenied);
  CHECK(next->coordination(kProcess).wait_for_key(kEpochKey, epoch.version, bed.soon())->value == "8");
}

TEST_CASE("coordination: a membership lasts over connections, and hears of what it watches") {
  CoordinationBed bed;
  const auto packed = bed.place_one_variable();
  const auto chief = bed.client("chief"), worker = bed.client("worker:1");
  REQUIRE(chief->load(packed, 7, bed.soon()));
  worker->set_epoch(7);
  auto run = chief->coordination();
  std::optional<Membership> membership;
  membership.emplace(worker->endpoint(), worker->task(0), "workers", "worker:1", "stopped", KeyState());
  auto group = run.wait_for_members("workers", 0, bed.soon()).value();
  CHECK(members_of(group) == "worker:1+ ");
  REQUIRE(run.put("stopped", "1", bed.soon()));
  const Deadline deadline = bed.soon();
  while (membership->watched().version == 0 && !deadline.expired()) std::this_thread::yield();
  CHECK(membership->watched().value == "1");
  membership.reset();
  REQUIRE(worker->coordination().leave("workers", "worker:1", bed.soon()));
  CHECK(members_of(run.wait_for_members("workers", group.version, bed.soon()).value()) == "worker:1- ");
}

/// The groups of a chief and two workers, which have loaded a program.
class GroupBed : public CoordinationBed {
 public:
  GroupBed() { REQUIRE(clients_[0]->load(packed_, 7, soon())); }
  WorkerGroup group(std::size_t worker, Duration linger = 20s) {
    ParameterServers& client = *clients_[worker];
    client.set_epoch(7);
    WorkerGroupOptions options{.self = names_[worker], .workers = names_, .linger = linger};
    options.log = Log("task", [this](LogLevel, std::string_view, std::string_view line) { said.append(line) += "\n"; });
    return {client.endpoint(), client.task(0), client.coordination(), std::move(options)};
  }
  CoordinationClient run() { return clients_[0]->coordination(); }
  std::string said;

 private:
  const std::vector<std::string> names_{"chief:0", "worker:0", "worker:1"};
  const PackedProgram packed_ = place_one_variable();
  std::vector<std::unique_ptr<ParameterServers>> clients_ = make_clients();
  std::vector<std::unique_ptr<ParameterServers>> make_clients() {
    std::vector<std::unique_ptr<ParameterServers>> out;
    for (const std::string& name : names_) out.push_back(client(name));
    return out;
  }
};

TEST_CASE("worker group: the others have left once each has said so") {
  GroupBed bed;
  auto chief = bed.group(0), first = bed.group(1), second = bed.group(2);
  CHECK(chief.is_chief());
  CHECK(first.chief() == "chief:0");
  for (WorkerGroup* one : {&chief, &first, &second}) REQUIRE(one->join());
  CHECK_FALSE(chief.have_others_left(Deadline::after(0s)).value());
  REQUIRE(first.leave());
  CHECK_FALSE(chief.have_others_left(Deadline::after(0s)).value());
  REQUIRE(second.leave());
  CHECK(chief.have_others_left(bed.soon()).value());
  REQUIRE(chief.wait_for_others());
  CHECK(bed.said.empty());
}

TEST_CASE("worker group: one that never came is given up, and named") {
  GroupBed bed;
  auto chief = bed.group(0, 100ms), first = bed.group(1);
  for (WorkerGroup* one : {&chief, &first}) REQUIRE(one->join());
  REQUIRE(first.leave());
  REQUIRE(chief.wait_for_others());
  CHECK(bed.said == "worker:1 did not appear within 100ms: ending without it\n");
}

TEST_CASE("worker group: all hear that they are to stop, and who comes later too; updates count over lives") {
  GroupBed bed;
  auto chief = bed.group(0), first = bed.group(1);
  for (WorkerGroup* one : {&chief, &first}) REQUIRE(one->join());
  CHECK_FALSE(first.has_stopped());
  CHECK(first.updates_before() == 0);
  first.count_update();
  REQUIRE(chief.stop_all());
  CHECK(chief.has_stopped());
  const Deadline deadline = bed.soon();
  while (!first.has_stopped() && !deadline.expired()) std::this_thread::yield();
  CHECK(first.has_stopped());
  CHECK(first.read_stopped().value());
  auto again = bed.group(1);
  REQUIRE(again.join());
  CHECK(again.has_stopped());
  CHECK(again.updates_before() == 1);
}

TEST_CASE("worker group: the chief is the process that said so last") {
  GroupBed bed;
  auto chief = bed.group(0);
  REQUIRE(chief.check_chief());  // nobody has said so
  REQUIRE(chief.become_chief());
  REQUIRE(chief.check_chief());
  REQUIRE(bed.run().put("chief", "elsewhere (process 1)", bed.soon()));
  const auto checked = chief.check_chief();
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == Code::kPermissionDenied);
  CHECK(checked.error().message == "another chief:0 has taken the training over: the one on elsewhere (process 1)");
}

}  // namespace
}  // namespace tfd::task::test
