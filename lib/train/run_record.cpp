// SPDX-License-Identifier: Apache-2.0
#include "run_record.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tfd/base/file.hpp"

namespace tfd::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kPrefix = "settings-", kSuffix = ".json";

/// The number in a name of settings; 0: it is another name.
int attempt_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return 0;
  const std::string_view digits = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : 0;
}

int next_attempt(const std::string& directory) {
  namespace fs = std::filesystem;
  int last = 0;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error); !error && entry != fs::directory_iterator();
       entry.increment(error))
    last = std::max(last, attempt_of(entry->path().filename().string()));
  return last + 1;
}

std::string settings_in(const std::string& directory, int attempt) {
  return fmt::format("{}/{}{:04}{}", directory, kPrefix, attempt, kSuffix);
}

/// "2026-11-29T16:00:00Z".
std::string now_in_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

/// The settings with the run's own facts around them, from its `start` event.
Json settings_of(const std::string& run, int attempt, std::string_view start) {
  const Json event = Json::parse(start, nullptr, false);
  Json out{{"v", 1}, {"run", run}, {"attempt", attempt}};
  out["time"] = now_in_utc();
  if (!event.is_object()) return out;
  for (const auto& [key, value] : event.items())
    if (key != "event" && key != "task" && key != "settings") out[key] = value;
  if (const auto settings = event.find("settings"); settings != event.end())
    for (const auto& [key, value] : settings->items()) out[key] = value;
  return out;
}

}  // namespace

bool is_run_record(std::string_view name) { return name == kEventsName || attempt_of(name) > 0; }

std::optional<std::string> find_other_program(const std::string& directory, std::string_view settings) {
  const int last = next_attempt(directory) - 1;
  if (last == 0) return std::nullopt;
  std::string path = settings_in(directory, last);
  const auto text = load_file(path);
  if (!text) return std::nullopt;
  const Json before = Json::parse(*text, nullptr, false), now = Json::parse(settings, nullptr, false);
  constexpr const char* kProgram = "program_sha256";
  if (!before.contains(kProgram) || !now.contains(kProgram) || before[kProgram] == now[kProgram]) return std::nullopt;
  return path;
}

RunRecord::RunRecord(std::string directory, const std::string& run, std::string_view start, Log log)
    : directory_(std::move(directory)), log_(std::move(log)) {
  const int attempt = next_attempt(directory_);
  const std::string text = settings_of(run, attempt, start).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (const auto saved = save_file(settings_in(directory_, attempt), text); !saved) {
    give_up(saved.error().message);
    return;
  }
  const std::string events = fmt::format("{}/{}", directory_, kEventsName);
  events_ = process::Fd(::open(events.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!events_) give_up(fail_errno(errno, "cannot open " + events).value().message);
}

void RunRecord::add(std::string_view event) {
  while (events_ && !event.empty()) {
    const ssize_t written = ::write(events_.get(), event.data(), event.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return give_up(fail_errno(errno, fmt::format("{}/{}", directory_, kEventsName)).value().message);
    event.remove_prefix(static_cast<std::size_t>(written));
  }
}

void RunRecord::give_up(const std::string& why) {
  log_.warning("{}: the training continues without this record of it", why);
  events_.reset();
}

}  // namespace tfd::train
