#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The log of long-running parts (supervisor, coordinator). They get a Log from the tool that made them; the tool
// decides what is printed. A default-made Log is silent. Thread rule: thread-safe if the sink is.
#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>

namespace tfd {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

class Log {
 public:
  using Sink = std::function<void(LogLevel, std::string_view room, std::string_view message)>;
  Log() = default;
  Log(std::string room, Sink sink) : room_(std::move(room)), sink_(std::move(sink)) {}
  /// The same sink, another room's name.
  Log for_room(std::string room) const { return Log(std::move(room), sink_); }

  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) const {
    say(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void warning(fmt::format_string<Args...> format, Args&&... args) const {
    say(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    say(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) const {
    say(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  void say(LogLevel level, const std::string& message) const {
    if (sink_) sink_(level, room_, message);
  }
  std::string room_;
  Sink sink_;
};

}  // namespace tfd
