// SPDX-License-Identifier: Apache-2.0
//
// The messages of the coordination service (kCoordinate): which request or answer it is, and its parts.
#include "protocol.hpp"
#include "wire_format.hpp"

namespace tfd::task {
namespace {

constexpr std::size_t kLeastName = 4;  // an empty one

// The tags are the variants' indices, but for the gaps, which were a barrier's until 0.2.
enum class RequestTag : std::uint8_t { kGet, kPut, kAdd, kJoin, kLeave, kRead, kNumbers = 7 };
enum class AnswerTag : std::uint8_t { kKey, kCounters, kGroup, kNumbers = 4 };

/// The tag of a variant's index: the last alternative's follows the gap.
template <class Tag>
Tag tag_of(std::size_t index, Tag last) {
  return index + 1 < static_cast<std::size_t>(last) ? static_cast<Tag>(index) : last;
}

void put_texts(Writer& out, const std::vector<std::string>& texts) {
  out.count(texts.size());
  for (const std::string& text : texts) out.put(text);
}

std::vector<std::string> take_texts(Reader& in) {
  std::vector<std::string> texts(in.count(kLeastName));
  for (std::string& text : texts) text = in.text();
  return texts;
}

void put_version(Writer& out, const std::optional<std::uint64_t>& version) {
  out.put(version.has_value());
  if (version) out.put(*version);
}

std::optional<std::uint64_t> take_version(Reader& in) {
  if (!in.flag()) return std::nullopt;
  return in.number<std::uint64_t>();
}

void put_request(Writer& out, const GetKey& get) {
  out.put(get.key);
  put_version(out, get.after);
}
void put_request(Writer& out, const PutKey& put) {
  out.put(put.key);
  out.put(put.value);
  put_version(out, put.expected);
}
void put_request(Writer& out, const AddCounters& add) {
  out.count(add.deltas.size());
  for (const auto& [name, delta] : add.deltas) {
    out.put(name);
    out.put(delta);
  }
}
void put_request(Writer& out, const JoinGroup& join) {
  out.put(join.group);
  out.put(join.member);
}
void put_request(Writer& out, const LeaveGroup& leave) {
  out.put(leave.group);
  out.put(leave.member);
}
void put_request(Writer& out, const ReadGroup& read) {
  out.put(read.group);
  put_version(out, read.after);
}
void put_request(Writer& out, const TakeNumbers& take) {
  out.put(take.queue);
  out.put(take.client);
  out.put(take.name);
  out.put(take.end.has_value());
  if (take.end) out.put(*take.end);
  out.put(take.most);
  out.put(take.sharers);
  out.put(take.has_all);
}

decltype(CoordinationRequest::what) take_request(Reader& in) {
  switch (in.choice(RequestTag::kNumbers)) {
    case RequestTag::kGet: {
      GetKey get{in.text(), {}};
      get.after = take_version(in);
      return get;
    }
    case RequestTag::kPut: {
      PutKey put{in.text(), {}, {}};
      put.value = in.text();
      put.expected = take_version(in);
      return put;
    }
    case RequestTag::kAdd: {
      AddCounters add;
      for (std::size_t left = in.count(kLeastName + sizeof(std::int64_t)); left > 0; --left) {
        std::string name = in.text();
        add.deltas.emplace_back(std::move(name), in.number<std::int64_t>());
      }
      return add;
    }
    case RequestTag::kJoin: {
      JoinGroup join{in.text(), {}};
      join.member = in.text();
      return join;
    }
    case RequestTag::kLeave: {
      LeaveGroup leave{in.text(), {}};
      leave.member = in.text();
      return leave;
    }
    case RequestTag::kRead: {
      ReadGroup read{in.text(), {}};
      read.after = take_version(in);
      return read;
    }
    case RequestTag::kNumbers: {
      TakeNumbers take{.queue = in.text(), .client = in.number<std::uint64_t>(), .name = in.text(), .end = {}};
      if (in.flag()) take.end = in.number<std::int64_t>();
      take.most = in.number<std::uint32_t>();
      take.sharers = in.number<std::uint32_t>();
      take.has_all = in.flag();
      return take;
    }
  }
  in.require(false);
  return {};
}

void put_answer(Writer& out, const KeyState& key) {
  out.put(key.value);
  out.put(key.version);
}
void put_answer(Writer& out, const CounterValues& counters) {
  out.count(counters.values.size());
  for (const std::int64_t value : counters.values) out.put(value);
}
void put_answer(Writer& out, const GroupState& group) {
  out.put(group.version);
  out.count(group.members.size());
  for (const GroupMember& member : group.members) {
    out.put(member.name);
    out.put(member.state);
  }
}
void put_answer(Writer& out, const NumbersState& numbers) {
  out.put(numbers.first);
  out.put(numbers.count);
  out.put(numbers.settled);
  out.put(numbers.is_over);
  put_texts(out, numbers.held_by);
}

CoordinationAnswer take_answer(Reader& in) {
  switch (in.choice(AnswerTag::kNumbers)) {
    case AnswerTag::kKey: {
      KeyState key{in.text(), 0};
      key.version = in.number<std::uint64_t>();
      return key;
    }
    case AnswerTag::kCounters: {
      CounterValues counters;
      for (std::size_t left = in.count(sizeof(std::int64_t)); left > 0; --left)
        counters.values.push_back(in.number<std::int64_t>());
      return counters;
    }
    case AnswerTag::kGroup: {
      GroupState group{in.number<std::uint64_t>(), {}};
      for (std::size_t left = in.count(kLeastName + 1); left > 0; --left) {
        std::string name = in.text();
        group.members.push_back({std::move(name), in.choice(MemberState::kGone)});
      }
      return group;
    }
    case AnswerTag::kNumbers: {
      NumbersState numbers{.first = in.number<std::int64_t>()};
      numbers.count = in.number<std::uint32_t>();
      numbers.settled = in.number<std::int64_t>();
      numbers.is_over = in.flag();
      numbers.held_by = take_texts(in);
      return numbers;
    }
  }
  in.require(false);
  return {};
}

}  // namespace

transport::Message encode(const CoordinationRequest& request, std::uint64_t epoch) {
  Writer out;
  out.put(request.wait_ms);
  out.put(tag_of(request.what.index(), RequestTag::kNumbers));
  std::visit([&](const auto& what) { put_request(out, what); }, request.what);
  return make_message(Kind::kCoordinate, out, {}, epoch);
}

Result<CoordinationRequest> decode_coordination(const transport::Message& message) {
  Reader in(message, Kind::kCoordinate);
  CoordinationRequest out;
  out.wait_ms = in.number<std::uint32_t>();
  out.what = take_request(in);
  TFD_TRY(in.end("coordination"));
  return out;
}

transport::Message encode(const CoordinationAnswer& answer) {
  Writer out;
  out.put(tag_of(answer.index(), AnswerTag::kNumbers));
  std::visit([&](const auto& what) { put_answer(out, what); }, answer);
  return make_message(Kind::kCoordinate, out);
}

Result<CoordinationAnswer> decode_coordination_answer(const transport::Message& message) {
  Reader in(message, Kind::kCoordinate);
  auto out = take_answer(in);
  TFD_TRY(in.end("coordination"));
  return out;
}

}  // namespace tfd::task
