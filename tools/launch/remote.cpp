// SPDX-License-Identifier: Apache-2.0
#include "remote.hpp"

#include <poll.h>
#include <signal.h>

#include <charconv>

#include "tfd/base/json_line.hpp"
#include "tfd/base/units.hpp"
#include "tfd/cluster/json_value.hpp"
#include "tfd/task/key.hpp"

namespace tfd::tool_launch {
namespace {

constexpr std::size_t kLongest = 60 * 1024;  // a LineReader cuts longer lines
constexpr std::string_view kAnnouncement = "\x01tfd-launch rendezvous ";
constexpr std::string_view kSignal = "signal ";

template <class Number>
std::optional<Number> number_behind(std::string_view line, std::string_view mark) {
  if (!line.starts_with(mark)) return std::nullopt;
  line.remove_prefix(mark.size());
  Number out = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), out);
  return error == std::errc() && end == line.data() + line.size() ? std::optional(out) : std::nullopt;
}

}  // namespace

Result<std::string> format_preamble(const Preamble& preamble) {
  JsonLine variables;
  for (const auto& [name, value] : preamble.variables.values()) variables.add(name, value);
  std::string object = preamble.variables.values().empty() ? "{}" : std::move(variables).text();
  if (object.ends_with('\n')) object.pop_back();
  JsonLine line("key", preamble.key ? task::key_to_text(*preamble.key) : "");
  line.add_raw("variables", object);
  std::string out = std::move(line).text();
  if (out.size() > kLongest)
    return fail(Code::kInvalidArgument, "the variables for other hosts have more than {} KiB", kLongest / 1024);
  return out;
}

Result<Preamble> parse_preamble(std::string_view line) {
  using cluster::JsonValue;
  const auto json = TFD_TRY(cluster::parse_json(line, "stdin"));
  const JsonValue* key = json.find("key");
  const JsonValue* variables = json.find("variables");
  if (key == nullptr || !key->is(JsonValue::Kind::kString) || variables == nullptr ||
      !variables->is(JsonValue::Kind::kObject))
    return fail(Code::kInvalidArgument, "stdin: not the message of a tfd-launch to the ones it starts");
  Preamble out;
  if (!key->text.empty()) out.key = TFD_TRY(task::key_from_text(key->text), "stdin");
  for (std::size_t i = 0; i < variables->keys.size(); ++i)
    if (variables->items[i].is(JsonValue::Kind::kString))
      out.variables.set(variables->keys[i], variables->items[i].text);
  return out;
}

std::string format_announcement(std::uint16_t port) { return fmt::format("{}{}\n", kAnnouncement, port); }

std::optional<std::uint16_t> parse_announcement(std::string_view line) {
  return number_behind<std::uint16_t>(line, kAnnouncement);
}

Result<Preamble> RemoteInput::wait_preamble(Deadline deadline) {
  while (lines_.empty()) {
    pollfd wait{.fd = reader_.fd(), .events = POLLIN, .revents = 0};
    if (deadline.expired())
      return fail(Code::kDeadlineExceeded, "nothing has come from the tfd-launch that started this one");
    if (::poll(&wait, 1, deadline.poll_ms()) <= 0) continue;
    const bool goes_on = reader_.read([this](std::string_view line) { lines_.emplace_back(line); });
    if (!goes_on && lines_.empty())
      return fail(Code::kUnavailable, "the connection to the tfd-launch that started this one has ended");
  }
  auto preamble = parse_preamble(lines_.front());
  lines_.pop_front();
  return preamble;
}

void RemoteInput::watch(process::EventLoop& loop, std::function<void(int)> on_signal) {
  loop_ = &loop;
  on_signal_ = std::move(on_signal);
  loop.watch(reader_.fd(), POLLIN, [this](short) { work(); });
}

void RemoteInput::work() {
  const bool goes_on = reader_.read([this](std::string_view line) { lines_.emplace_back(line); });
  for (; !lines_.empty(); lines_.pop_front())
    if (const auto signal = number_behind<int>(lines_.front(), kSignal); signal && *signal > 0 && *signal < NSIG)
      on_signal_(*signal);
  if (goes_on) return;
  loop_->forget(reader_.fd());
  on_signal_(SIGTERM);
}

}  // namespace tfd::tool_launch
