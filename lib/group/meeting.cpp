// SPDX-License-Identifier: Apache-2.0
#include "meeting.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "agreement_parts.hpp"
#include "tfd/base/random.hpp"
#include "tfd/base/text.hpp"
#include "tfd/cluster/address.hpp"

namespace tfd::group {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostMembers = 4096;
constexpr std::int64_t kMostDevices = 1 << 20;

tl::unexpected<Error> malformed(std::string_view what) {
  return fail(Code::kInvalidArgument, "a malformed message about a group: {}", what);
}

Result<collective::Secret> secret_of(const std::string& hex) {
  collective::Secret out{};
  if (hex.size() != 2 * out.size()) return malformed("its secret");
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto digit = [](char c) { return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= '0' && c <= '9' ? c - '0' : -1; };
    const int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return malformed("its secret");
    out[i] = static_cast<std::byte>(high * 16 + low);
  }
  return out;
}

/// A JSON object's string; empty if there is none.
std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<int> devices_at(const Json& object) {
  const auto found = object.find("devices");
  if (found == object.end() || !found->is_number_integer()) return malformed("its devices");
  const auto devices = found->get<std::int64_t>();
  if (devices < 1 || devices > kMostDevices) return malformed("its devices");
  return static_cast<int>(devices);
}

Result<std::uint64_t> incarnation_at(const Json& object) {
  const auto found = object.find("incarnation");
  if (found == object.end() || !found->is_number_unsigned()) return malformed("its incarnation");
  return found->get<std::uint64_t>();
}

Result<std::string> endpoint_at(const Json& object) {
  std::string out = text_at(object, "at");
  if (!cluster::parse_address(out)) return malformed("its address");
  return out;
}

Result<std::vector<std::string>> names_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array() || found->size() > kMostMembers) return malformed(key);
  std::vector<std::string> out;
  for (const Json& one : *found) {
    if (!one.is_string()) return malformed(key);
    out.push_back(one.get<std::string>());
  }
  return out;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// The members that a request names with their incarnations.
Result<std::vector<std::pair<std::string, std::uint64_t>>> unreached_at(const Json& object) {
  const auto found = object.find("unreached");
  if (found == object.end() || !found->is_array() || found->size() > kMostMembers) return malformed("unreached");
  std::vector<std::pair<std::string, std::uint64_t>> out;
  for (const Json& one : *found) {
    if (!one.is_array() || one.size() != 2 || !one[0].is_string() || !one[1].is_number_unsigned())
      return malformed("unreached");
    out.emplace_back(one[0].get<std::string>(), one[1].get<std::uint64_t>());
  }
  return out;
}

Result<Json> parse(std::string_view text) {
  Json out = Json::parse(text, nullptr, false);
  if (!out.is_object()) return malformed("no JSON object");
  return out;
}

}  // namespace

std::string format_join(const JoinRequest& request) {
  Json agreement = Json::array();
  for (const auto& [what, value] : request.agreement) agreement.push_back({what, value});
  Json unreached = Json::array();
  for (const auto& [name, incarnation] : request.unreached) unreached.push_back({name, incarnation});
  return Json{{"name", request.name},
              {"host", request.host},
              {"address", request.address},
              {"at", request.at},
              {"pid", request.pid},
              {"devices", request.devices},
              {"incarnation", request.incarnation},
              {"agreement", std::move(agreement)},
              {"generation", request.last.number},
              {"last", request.last.members},
              {"ended", request.ended},
              {"unreached", std::move(unreached)}}
      .dump();
}

Result<JoinRequest> parse_join(std::string_view text) {
  const Json json = TFD_TRY(parse(text));
  JoinRequest out{.name = text_at(json, "name"), .host = text_at(json, "host"), .address = text_at(json, "address")};
  if (out.name.empty() || out.host.empty() || out.address.empty()) return malformed("its name, host or address");
  out.at = TFD_TRY(endpoint_at(json));
  const auto pid = json.find("pid");
  if (pid != json.end() && pid->is_number_integer()) out.pid = pid->get<std::int64_t>();
  out.devices = TFD_TRY(devices_at(json));
  out.incarnation = TFD_TRY(incarnation_at(json));
  const auto agreement = json.find("agreement");
  if (agreement == json.end() || !agreement->is_array()) return malformed("what it agrees on");
  for (const Json& one : *agreement) {
    if (!one.is_array() || one.size() != 2 || !one[0].is_string() || !one[1].is_string())
      return malformed("what it agrees on");
    out.agreement.emplace_back(one[0].get<std::string>(), one[1].get<std::string>());
  }
  const auto generation = json.find("generation");
  if (generation == json.end() || !generation->is_number_unsigned()) return malformed("its generation");
  out.last.number = generation->get<std::uint64_t>();
  out.last.members = TFD_TRY(names_at(json, "last"));
  out.ended = TFD_TRY(names_at(json, "ended"));
  out.unreached = TFD_TRY(unreached_at(json));
  if ((out.last.number == 0) != out.last.members.empty()) return malformed("its generation");
  return out;
}

std::string format_referral(const Referral& referral) {
  return Json{{"ask", referral.to},          {"generation", referral.generation}, {"at", referral.at},
              {"missing", referral.missing}, {"members", referral.members},       {"apart", referral.apart}}
      .dump();
}

std::optional<Referral> parse_referral(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const auto to = json.is_object() ? json.find("ask") : json.end();
  if (to == json.end() || !to->is_string()) return std::nullopt;
  const auto generation = json.find("generation");
  const std::string at = text_at(json, "at");
  return Referral{
      .to = to->get<std::string>(),
      .generation = generation != json.end() && generation->is_number_unsigned() ? generation->get<std::uint64_t>() : 0,
      .at = cluster::parse_address(at) ? at : "",
      .missing = names_at(json, "missing").value_or(std::vector<std::string>()),
      .members = names_at(json, "members").value_or(std::vector<std::string>()),
      .apart = names_at(json, "apart").value_or(std::vector<std::string>())};
}

std::string format_result(const MeetingResult& result) {
  Json members = Json::array();
  for (std::size_t i = 0; i < result.members.size(); ++i) {
    const collective::Member& one = result.members[i];
    members.push_back({{"name", one.name},
                       {"host", one.host},
                       {"address", one.address},
                       {"at", result.at[i]},
                       {"devices", result.devices[i]},
                       {"incarnation", result.incarnations[i]}});
  }
  return Json{{"generation", result.generation}, {"members", std::move(members)}, {"secret", hex_of(result.secret)}}
      .dump();
}

Result<MeetingResult> parse_result(std::string_view text) {
  const Json json = TFD_TRY(parse(text));
  MeetingResult out;
  const auto generation = json.find("generation"), members = json.find("members");
  if (generation == json.end() || !generation->is_number_unsigned()) return malformed("its generation");
  out.generation = generation->get<std::uint64_t>();
  if (members == json.end() || !members->is_array() || members->size() > kMostMembers) return malformed("its members");
  for (const Json& one : *members) {
    collective::Member member{text_at(one, "name"), text_at(one, "host"), text_at(one, "address")};
    if (member.name.empty() || member.host.empty() || member.address.empty()) return malformed("its members");
    out.members.push_back(std::move(member));
    out.devices.push_back(TFD_TRY(devices_at(one)));
    out.incarnations.push_back(TFD_TRY(incarnation_at(one)));
    out.at.push_back(TFD_TRY(endpoint_at(one)));
  }
  out.secret = TFD_TRY(secret_of(text_at(json, "secret")));
  return out;
}

Result<void> check_agreement(const JoinRequest& one, const JoinRequest& other) {
  const auto &first = one.agreement, &second = other.agreement;
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    const bool has_both = i < first.size() && i < second.size();
    if (has_both && first[i] == second[i]) continue;
    if (!has_both || first[i].first != second[i].first)
      return fail(Code::kInvalidArgument, "{} and {} are of different versions of tfd", one.name,
                  printable(other.name));
    const auto [what, mine, theirs] = find_difference(first[i].first, first[i].second, second[i].second);
    return fail(Code::kInvalidArgument, "the members differ in {}: {} has {}, {} has {}", printable(what), one.name,
                mine, printable(other.name), theirs);
  }
  return {};
}

bool has_quorum(const Generation& last, const std::vector<std::string>& present,
                const std::vector<std::string>& ended) {
  const auto is_present = [&](const std::string& name) { return contains(present, name); };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(last.members, is_present));
  if (2 * count > last.members.size()) return true;
  if (2 * count == last.members.size() && is_present(last.members.front())) return true;
  return count > 0 && std::ranges::all_of(last.members, [&](const std::string& name) {
           return is_present(name) || contains(ended, name);
         });
}

Result<int> Meeting::join(const JoinRequest& request) {
  if (is_over_)
    return fail(Code::kFailedPrecondition, "the group started without this process; it takes no more members");
  const std::size_t at = TFD_TRY(place_of(request.name));
  seen_.insert(request.name);
  std::optional<JoinRequest>& place = joined_[at];
  if (place && (place->pid != request.pid || place->host != request.host))
    return fail(Code::kAlreadyExists, "{} has joined already, as process {}", request.name, place->pid);
  if (difference_) return fail(*difference_);
  const auto first = std::ranges::find_if(joined_, [](const auto& one) { return one.has_value(); });
  const auto agrees = first != joined_.end() ? check_agreement(**first, request) : Result<void>();
  if (!agrees && needs_all_) difference_ = agrees.error();
  TFD_TRY(agrees);
  place = request;
  return static_cast<int>(at);
}

/// The place of a task, which somebody who is new gets here.
Result<std::size_t> Meeting::place_of(const std::string& name) {
  const auto found = std::ranges::find(names_, name);
  const auto at = static_cast<std::size_t>(found - names_.begin());
  if (found == names_.end() && most_ == 0)
    return fail(Code::kInvalidArgument, "{} is none of the {} members of this group", printable(name), names_.size());
  const auto here = static_cast<std::size_t>(std::ranges::count_if(joined_, [](const auto& one) { return !!one; }));
  if (most_ > 0 && here >= most_ && (found == names_.end() || !joined_[at]))
    return fail(Code::kFailedPrecondition, "{} is too many: the group has {} members of at most {}", printable(name),
                here, most_);
  if (found != names_.end()) return at;
  names_.push_back(name);
  joined_.emplace_back();
  is_lost_.push_back(false);
  return at;
}

void Meeting::forget(int place) {
  if (!is_over_) joined_[static_cast<std::size_t>(place)].reset();
}

void Meeting::set_lost(const std::string& name, bool is_lost) {
  const auto found = std::ranges::find(names_, name);
  if (found != names_.end()) is_lost_[static_cast<std::size_t>(found - names_.begin())] = is_lost;
}

/// The newest generation that one of the present members was in.
const Generation& Meeting::last() const {
  static const Generation none;
  const Generation* newest = &none;
  for (const auto& one : joined_)
    if (one && one->last.number > newest->number) newest = &one->last;
  return *newest;
}

std::vector<std::string> Meeting::present() const {
  std::vector<std::string> out;
  for (const auto& one : joined_)
    if (one && one->last == last()) out.push_back(one->name);
  return out;
}

std::vector<std::string> Meeting::joined() const {
  std::vector<std::string> out;
  for (const auto& one : joined_)
    if (one) out.push_back(one->name);
  return out;
}

std::vector<std::string> Meeting::missing() const {
  std::vector<std::string> absent, awaited, ended;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (joined_[i]) {
      std::ranges::copy(joined_[i]->ended, std::back_inserter(ended));
      // Another process of this name: the one that was a member has ended.
      if (joined_[i]->last != last()) ended.push_back(names_[i]);
      continue;
    }
    absent.push_back(names_[i]);
    if (!is_lost_[i] && contains(last().members, names_[i])) awaited.push_back(names_[i]);
  }
  if (last().number == 0) return absent;
  if (!awaited.empty()) return awaited;
  const auto out = left_out();
  auto here = present();
  std::erase_if(here, [&](const std::string& name) { return contains(out, name); });
  const auto count = names_.size() - absent.size() - out.size();
  if (has_quorum(last(), here, ended) && count >= least_) return {};
  std::ranges::copy(out, std::back_inserter(absent));
  return absent;
}

/// Only members of the last generation are heard: a new one may not have connected to all of them yet.
bool Meeting::are_apart(const JoinRequest& one, const JoinRequest& other) const {
  const auto says = [this](const JoinRequest& who, const JoinRequest& of) {
    return who.last == last() &&
           std::ranges::find(who.unreached, std::pair(of.name, of.incarnation)) != who.unreached.end();
  };
  return says(one, other) || says(other, one);
}

/// Members that have come: those of the last generation as they were, then others.
std::vector<const JoinRequest*> Meeting::in_order() const {
  const Generation& before = last();
  std::vector<const JoinRequest*> out;
  for (const std::string& name : before.members)
    for (const auto& one : joined_)
      if (one && one->name == name && one->last == before) out.push_back(&*one);
  for (const auto& one : joined_)
    if (one && std::ranges::find(out, &*one) == out.end()) out.push_back(&*one);
  return out;
}

std::vector<std::string> Meeting::left_out() const {
  std::vector<std::string> out;
  for (std::vector<const JoinRequest*> left = in_order();;) {
    const auto apart = [&](const JoinRequest* one) {
      return std::ranges::count_if(left, [&](const JoinRequest* other) { return are_apart(*one, *other); });
    };
    const auto most = std::ranges::max_element(left.rbegin(), left.rend(), {}, apart);
    if (most == left.rend() || apart(*most) == 0) return out;
    out.push_back((*most)->name);
    left.erase(std::next(most).base());
  }
}

std::vector<std::string> Meeting::apart_from(const std::string& name) const {
  std::vector<std::string> out;
  const auto of = std::ranges::find_if(joined_, [&](const auto& one) { return one && one->name == name; });
  if (of == joined_.end()) return out;
  for (const auto& one : joined_)
    if (one && are_apart(**of, *one)) out.push_back(one->name);
  return out;
}

MeetingResult Meeting::end(const collective::Secret& secret) {
  is_over_ = true;
  std::vector<const JoinRequest*> order = in_order();
  std::erase_if(order, [out = left_out()](const JoinRequest* one) { return contains(out, one->name); });
  MeetingResult out{.generation = last().number + 1, .secret = secret};
  for (const JoinRequest* const one : order) {
    out.members.push_back({one->name, one->host, one->address});
    out.devices.push_back(one->devices);
    out.incarnations.push_back(one->incarnation);
    out.at.push_back(one->at);
  }
  return out;
}

}  // namespace tfd::group
