// SPDX-License-Identifier: Apache-2.0
#include "messages.hpp"

#include <nlohmann/json.hpp>

#include "tfd/base/names.hpp"
#include "tfd/cluster/address.hpp"

namespace tfd::rendezvous {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostTasks = 4096;        // of a launcher
constexpr std::size_t kMostOfGroup = 1 << 20;   // tasks
constexpr int kMostWait = 24 * 60 * 60 * 1000;  // in milliseconds
constexpr NameTable<Command::Kind, 6> kCommands{{{{Command::Kind::kSay, "say"},
                                                  {Command::Kind::kStart, "start"},
                                                  {Command::Kind::kReplace, "replace"},
                                                  {Command::Kind::kHalt, "halt"},
                                                  {Command::Kind::kStop, "stop"},
                                                  {Command::Kind::kEnd, "end"}}}};
constexpr NameTable<Report::Kind, 6> kReports{{{{Report::Kind::kFailed, "failed"},
                                                {Report::Kind::kStanding, "standing"},
                                                {Report::Kind::kIdle, "idle"},
                                                {Report::Kind::kStop, "stop"},
                                                {Report::Kind::kLeave, "leave"},
                                                {Report::Kind::kExpired, "expired"}}}};

tl::unexpected<Error> malformed(std::string_view what) {
  return fail(Code::kInvalidArgument, "a malformed message of a launcher: {}", what);
}

/// Text that came from a task may be no UTF-8.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Result<Json> parse(std::string_view text) {
  Json out = Json::parse(text, nullptr, false);
  if (!out.is_object()) return malformed("no JSON object");
  return out;
}

/// A member that is a string; empty if there is none.
std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// A member that is a whole number from 0 to `most`.
Result<std::uint64_t> number_at(const Json& object, const char* key, std::uint64_t most) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() > most)
    return malformed(key);
  return found->get<std::uint64_t>();
}

Result<int> small_at(const Json& object, const char* key, int most) {
  return static_cast<int>(TFD_TRY(number_at(object, key, static_cast<std::uint64_t>(most))));
}

Result<bool> flag_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_boolean()) return malformed(key);
  return found->get<bool>();
}

constexpr int kMostCode = 255;
constexpr int kMostSignal = 64;
constexpr int kMostCount = 1'000'000'000;

Result<std::vector<std::string>> addresses_at(const Json& list, std::size_t most) {
  if (!list.is_array() || list.empty() || list.size() > most) return malformed("its tasks");
  std::vector<std::string> out;
  for (const Json& one : list) {
    if (!one.is_string() || !cluster::parse_address(one.get<std::string>())) return malformed("an address");
    out.push_back(one.get<std::string>());
  }
  return out;
}

Json json_of(const Plan& plan) {
  return Json{{"generation", plan.generation},
              {"node", plan.node},
              {"nodes", plan.nodes},
              {"addresses", plan.addresses},
              {"own", plan.own},
              {"least", plan.least},
              {"most", plan.most},
              {"joins", plan.joins}};
}

Result<Plan> plan_at(const Json& json) {
  if (!json.is_object()) return malformed("no plan");
  Plan out{.generation = TFD_TRY(small_at(json, "generation", kMostCount)),
           .nodes = TFD_TRY(small_at(json, "nodes", kMostCount)),
           .addresses = TFD_TRY(addresses_at(json.value("addresses", Json()), kMostOfGroup)),
           .own = {},
           .least = TFD_TRY(small_at(json, "least", kMostCount)),
           .most = TFD_TRY(small_at(json, "most", kMostCount))};
  out.node = TFD_TRY(small_at(json, "node", kMostCount));
  if (out.node >= out.nodes) return malformed("its node");
  const Json own = json.value("own", Json());
  if (!own.is_array() || own.empty() || own.size() > kMostTasks) return malformed("its own tasks");
  for (const Json& rank : own) {
    if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= out.addresses.size())
      return malformed("its own tasks");
    out.own.push_back(rank.get<int>());
  }
  out.joins = TFD_TRY(flag_at(json, "joins"));
  return out;
}

bool has_plan(const Command& command) {
  return command.kind == Command::Kind::kStart || command.kind == Command::Kind::kReplace;
}

Json json_of(const Command& command) {
  Json out{{"kind", kCommands.name(command.kind)},
           {"line", command.line},
           {"code", command.code},
           {"signal", command.signal},
           {"count", command.count},
           {"wait_ms", std::chrono::ceil<std::chrono::milliseconds>(command.wait).count()}};
  if (has_plan(command)) out["plan"] = json_of(command.plan);
  return out;
}

Result<Command> command_of(const Json& json) {
  if (!json.is_object()) return malformed("no command");
  const auto kind = kCommands.find(text_at(json, "kind"));
  if (!kind) return malformed("an unknown command");
  Command out{.kind = *kind, .line = text_at(json, "line")};
  out.code = TFD_TRY(small_at(json, "code", kMostCode));
  out.signal = TFD_TRY(small_at(json, "signal", kMostSignal));
  out.count = TFD_TRY(small_at(json, "count", kMostCount));
  out.wait = std::chrono::milliseconds(TFD_TRY(small_at(json, "wait_ms", kMostWait)));
  if (has_plan(out)) out.plan = TFD_TRY(plan_at(json.value("plan", Json())));
  return out;
}

}  // namespace

std::string format_joining(const Joining& joining) {
  Json same = Json::array();
  for (const auto& [what, value] : joining.same) same.push_back(Json::array({what, value}));
  return dump(Json{{"host", joining.host}, {"addresses", joining.addresses}, {"same", std::move(same)}});
}

Result<Joining> parse_joining(std::string_view text) {
  const Json json = TFD_TRY(parse(text));
  Joining out{.host = text_at(json, "host"),
              .addresses = TFD_TRY(addresses_at(json.value("addresses", Json()), kMostTasks))};
  if (out.host.empty()) return malformed("its host");
  const Json same = json.value("same", Json());
  if (!same.is_array()) return malformed("its options");
  for (const Json& one : same) {
    if (!one.is_array() || one.size() != 2 || !one[0].is_string() || !one[1].is_string())
      return malformed("its options");
    out.same.emplace_back(one[0].get<std::string>(), one[1].get<std::string>());
  }
  return out;
}

std::string format_report(const Report& report) {
  return dump(Json{{"kind", kReports.name(report.kind)},
                   {"generation", report.generation},
                   {"task", report.task},
                   {"line", report.line},
                   {"cause", report.cause},
                   {"time", report.time},
                   {"step", report.step ? Json(*report.step) : Json()},
                   {"code", report.code},
                   {"signal", report.signal},
                   {"count", report.count},
                   {"refused", report.is_refused},
                   {"final", report.is_final},
                   {"running", report.standings.running},
                   {"alone", report.standings.alone},
                   {"members", report.standings.members},
                   {"done", report.standings.done},
                   {"over", report.standings.is_over}});
}

Result<Report> parse_report(std::string_view text) {
  const Json json = TFD_TRY(parse(text));
  const auto kind = kReports.find(text_at(json, "kind"));
  if (!kind) return malformed("an unknown report");
  Report out{.kind = *kind,
             .generation = TFD_TRY(small_at(json, "generation", kMostCount)),
             .task = text_at(json, "task"),
             .line = text_at(json, "line"),
             .cause = text_at(json, "cause")};
  const auto time = json.find("time");
  if (time == json.end() || !time->is_number()) return malformed("its time");
  out.time = time->get<double>();
  if (const auto step = json.find("step"); step == json.end() || !step->is_null())
    out.step = static_cast<std::int64_t>(TFD_TRY(number_at(json, "step", INT64_MAX)));
  out.code = TFD_TRY(small_at(json, "code", kMostCode));
  out.signal = TFD_TRY(small_at(json, "signal", kMostSignal));
  out.count = TFD_TRY(small_at(json, "count", kMostCount));
  out.is_refused = TFD_TRY(flag_at(json, "refused"));
  out.is_final = TFD_TRY(flag_at(json, "final"));
  launch::Standings& standings = out.standings;
  standings.running = TFD_TRY(small_at(json, "running", kMostCount));
  standings.alone = TFD_TRY(small_at(json, "alone", standings.running));
  standings.members = TFD_TRY(small_at(json, "members", standings.running));
  standings.done = TFD_TRY(small_at(json, "done", kMostCount));
  const auto over = json.find("over");
  standings.is_over = over != json.end() && over->is_boolean() && over->get<bool>();
  return out;
}

std::string format_commands(const Commands& commands) {
  Json list = Json::array();
  for (const auto& [number, command] : commands) {
    Json one = json_of(command);
    one["number"] = number;
    list.push_back(std::move(one));
  }
  return dump(Json{{"commands", std::move(list)}});
}

Result<Commands> parse_commands(std::string_view text) {
  const Json json = TFD_TRY(parse(text));
  const Json list = json.value("commands", Json());
  if (!list.is_array()) return malformed("no commands");
  Commands out;
  for (const Json& one : list) {
    Command command = TFD_TRY(command_of(one));
    out.emplace_back(TFD_TRY(number_at(one, "number", kMostCount)), std::move(command));
  }
  return out;
}

std::string format_seen(std::uint64_t seen) { return dump(Json{{"seen", seen}}); }

Result<std::uint64_t> parse_seen(std::string_view text) {
  const Json json = TFD_TRY(parse(text));
  return number_at(json, "seen", kMostCount);
}

}  // namespace tfd::rendezvous
