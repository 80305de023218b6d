// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <memory>

#include "internal.hpp"
#include "tfd/base/names.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/thread_annotations.hpp"

namespace tfd::cli {
namespace {

constexpr NameTable<LogLevel, 4> kLevels{{{{LogLevel::kError, "error"},
                                           {LogLevel::kWarning, "warning"},
                                           {LogLevel::kInfo, "info"},
                                           {LogLevel::kDebug, "debug"}}}};

/// Levels that are printed. Written by make_log() only, then read by any thread; the mutex keeps lines whole.
struct Filter {
  LogLevel level = LogLevel::kWarning;
  std::map<std::string, LogLevel, std::less<>> rooms;
  std::string tool;
  bool color = false;
  Mutex mutex;
  Output err TFD_GUARDED_BY(mutex);

  explicit Filter(Output output) : err(output) {}
  void say(LogLevel at, std::string_view room, std::string_view message) {
    const auto found = rooms.find(room);
    if (at > (found == rooms.end() ? level : found->second)) return;
    const std::string where = at == LogLevel::kDebug && !room.empty() ? fmt::format("{}: ", room) : "";
    const std::string_view paint = at == LogLevel::kError     ? "\x1b[31m"
                                   : at == LogLevel::kWarning ? "\x1b[33m"
                                   : at == LogLevel::kDebug   ? "\x1b[2m"
                                                              : "";
    const bool painted = color && !paint.empty();
    const std::string line =
        fmt::format("{}{}:{} {}{}\n", painted ? paint : "", tool, painted ? "\x1b[0m" : "", where, printable(message));
    const MutexLock lock(mutex);
    (void)err.write(line);  // a failure can't be reported
  }
};

}  // namespace

Log make_log(std::string tool, Output err, int verbose, bool quiet, bool color, const std::string& tfd_log) {
  // Shared by every copy of the Log, whichever lives longest.
  auto filter = std::make_shared<Filter>(err);
  filter->tool = std::move(tool);
  filter->color = color;
  std::string wrong;
  for (const std::string& entry : split(tfd_log, ',')) {
    if (entry.empty()) continue;
    const std::size_t equals = entry.find('=');
    const auto level = kLevels.find(std::string_view(entry).substr(equals == std::string::npos ? 0 : equals + 1));
    if (!level) {
      wrong = entry;
    } else if (equals == std::string::npos) {
      filter->level = *level;
    } else {
      filter->rooms[entry.substr(0, equals)] = *level;
    }
  }
  if (quiet) {
    filter->level = LogLevel::kError;
  } else if (verbose > 0) {
    filter->level = verbose == 1 ? LogLevel::kInfo : LogLevel::kDebug;
  }
  Log log("cli", [filter](LogLevel level, std::string_view room, std::string_view message) {
    filter->say(level, room, message);
  });
  if (!wrong.empty())
    log.warning("TFD_LOG: '{}' is not LEVEL or ROOM=LEVEL; levels are {}", wrong, join_words(kLevels.names()));
  return log;
}

}  // namespace tfd::cli
