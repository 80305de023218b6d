// SPDX-License-Identifier: Apache-2.0
#include "joblog.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tfd/base/file.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::exec {
namespace {

constexpr std::string_view kHeader = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";
constexpr std::size_t kColumns = 9;

Result<void> write_text(int fd, std::string_view text, const std::string& path) {
  auto bytes = std::as_bytes(std::span(text));
  if (const int saved_errno = write_all(fd, bytes)) return fail_errno(saved_errno, "cannot write " + printable(path));
  return {};
}

Result<void> read_line(const std::string& line, std::map<std::uint64_t, Done>& out) {
  const std::vector<std::string> fields = split(line, '\t');
  if (fields.size() != kColumns) return fail(Code::kInvalidArgument, "{} columns, not {}", fields.size(), kColumns);
  const auto number = TFD_TRY(parse_integer(fields[0], 1, INT64_MAX), "Seq");
  const auto exit_value = TFD_TRY(parse_integer(fields[6], kNoExit, 255), "Exitval");
  const auto signal = TFD_TRY(parse_integer(fields[7], 0, 255), "Signal");
  if (exit_value == kNoExit && signal == 0) return {};  // lost with its worker
  out[static_cast<std::uint64_t>(number)] = {fields[8], exit_value != 0 || signal != 0};
  return {};
}

}  // namespace

std::string as_field(const std::string& command) {
  std::string out;
  for (const char c : command) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else
      out += c;
  }
  return out;
}

Result<std::map<std::uint64_t, Done>> load_joblog(const std::string& path) {
  std::map<std::uint64_t, Done> out;
  const auto text = load_file(path);
  if (!text && text.error().code == Code::kNotFound) return out;
  if (!text) return fail(text.error());
  std::size_t number = 0;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = text->find('\n', at);
    if (end == std::string::npos) break;  // cut off when it was written
    const std::string line = text->substr(at, end - at);
    at = end + 1;
    if (++number == 1 && line + "\n" == kHeader) continue;
    TFD_TRY(read_line(line, out), fmt::format("{}: line {} is not a line of a joblog", printable(path), number));
  }
  return out;
}

Result<JobLog> JobLog::open(const std::string& path, bool append) {
  process::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0666));
  if (!file) return fail_errno(errno, "cannot open " + printable(path));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return fail_errno(errno, "cannot open " + printable(path));
  if (info.st_size > 0 && S_ISREG(info.st_mode)) {
    // A truncated last line is dropped, so that the next one isn't appended to it.
    const std::string text = TFD_TRY(load_file(path));
    info.st_size = static_cast<off_t>(text.rfind('\n') + 1);
    if (::ftruncate(file.get(), info.st_size) != 0) return fail_errno(errno, "cannot write " + printable(path));
  }
  if (info.st_size == 0) TFD_TRY(write_text(file.get(), kHeader, path));
  return JobLog(std::move(file), path);
}

Result<void> JobLog::write(const LogLine& line) {
  return write_text(
      file_.get(),
      fmt::format("{}\t{}\t{:.3f}\t{:.3f}\t{}\t{}\t{}\t{}\t{}\n", line.number, line.host, line.started, line.duration,
                  line.sent, line.received, line.exit_value, line.signal, as_field(line.command)),
      path_);
}

}  // namespace tfd::exec
