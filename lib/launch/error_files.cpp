// SPDX-License-Identifier: Apache-2.0
#include "tfd/launch/error_files.hpp"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <utility>

#include "tfd/base/file.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/base/units.hpp"
#include "tfd/cluster/json_value.hpp"

namespace tfd::launch {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 20;

using cluster::JsonValue;

std::optional<double> number_of(const JsonValue* value) {
  if (value == nullptr) return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(value->text.data(), value->text.data() + value->text.size(), number);
  return error == std::errc() && number > 0 ? std::optional(number) : std::nullopt;
}

/// Its first line: torch's holds a traceback below.
std::string text_of(const JsonValue& value) { return value.text.substr(0, value.text.find('\n')); }

std::string summary(const TaskError& error) {
  JsonLine line("task", error.task);
  line.add("code", error.code).add("message", error.message).add("host", error.host);
  line.add("pid", error.pid).add("signal", error.signal);
  if (error.step) line.add_raw("step", *error.step);
  line.add_raw("time", fmt::format("{:.3f}", error.time));
  return std::move(line).text();
}

}  // namespace

Result<ErrorFiles> ErrorFiles::make(const std::string& directory, const Environment& env) {
  if (!directory.empty()) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) return fail_errno(error.value(), fmt::format("cannot make the directory {}", directory));
    const auto full = std::filesystem::absolute(directory, error);  // a task may change its working directory
    return ErrorFiles(error ? directory : full.string(), false);
  }
  std::string path = env.get("TMPDIR", "/tmp") + "/tfd-launch-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr)
    return fail_errno(errno, fmt::format("cannot make a directory in {}", env.get("TMPDIR", "/tmp")));
  return ErrorFiles(path, true);
}

ErrorFiles::ErrorFiles(ErrorFiles&& other) noexcept
    : directory_(std::move(other.directory_)), is_temporary_(std::exchange(other.is_temporary_, false)) {}

ErrorFiles::~ErrorFiles() {
  std::error_code ignored;  // a task may still write into it
  if (is_temporary_) std::filesystem::remove_all(directory_, ignored);
}

std::string ErrorFiles::path_of(const cluster::TaskId& task) const {
  return directory_ + "/" + file_name_of(task) + ".json";
}

std::string ErrorFiles::member_path_of(const cluster::TaskId& task) const {
  return directory_ + "/" + file_name_of(task) + ".member";
}

void ErrorFiles::clear_standing(const cluster::TaskId& task) const { ::unlink(member_path_of(task).c_str()); }

void ErrorFiles::clear(const cluster::TaskId& task) const { ::unlink(path_of(task).c_str()); }

TaskError ErrorFiles::complete(const cluster::TaskId& task, TaskError own) const {
  const auto text = load_file(path_of(task), kMost);
  if (!text) return own;
  const auto written = cluster::parse_json(*text, "");
  if (!written) return own;
  const JsonValue* message = written->find("message");
  const JsonValue* time = written->find("time");
  if (message != nullptr && message->is(JsonValue::Kind::kObject)) {  // torch.distributed.elastic's
    if (const JsonValue* more = message->find("extraInfo"); more != nullptr) time = more->find("timestamp");
    message = message->find("message");
  }
  if (message != nullptr && message->is(JsonValue::Kind::kString)) own.message = text_of(*message);
  if (const auto when = number_of(time)) own.time = *when;
  if (const JsonValue* code = written->find("code"); code != nullptr && code->is(JsonValue::Kind::kInteger))
    if (const auto number = parse_integer(code->text, 0, 255)) own.stated_code = static_cast<int>(*number);
  if (const JsonValue* step = written->find("step"); step != nullptr && step->is(JsonValue::Kind::kInteger))
    own.step = step->text;
  return own;
}

Result<void> ErrorFiles::save(const cluster::TaskId& task, const TaskError& error) const {
  if (is_temporary_) return {};  // nobody will read it
  return save_file(path_of(task), summary(error));
}

std::string file_name_of(const cluster::TaskId& task) { return fmt::format("{}-{}", task.job, task.index); }

std::string describe_end(const process::ExitStatus& status) {
  if (!status.is_known) return "ended, and its exit code is lost";
  if (status.signal == 0) return fmt::format("exited with {}", status.code);
  return fmt::format("was killed by {}{}", signal_name(status.signal), status.is_oom ? ", out of memory" : "");
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? fmt::format("signal {}", number) : fmt::format("SIG{}", name);
}

}  // namespace tfd::launch
