// SPDX-License-Identifier: Apache-2.0
#include "tfd/train/event_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>

#include "tfd/base/protobuf.hpp"
#include "tfd/base/text.hpp"
#include "tfd/data/tfrecord.hpp"

namespace tfd::train {
namespace {

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// tf.Event: 1 wall_time, 2 step, 3 file_version, 5 summary.
std::string version_event() {
  std::string event;
  protobuf::append_double(event, 1, wall_time());
  protobuf::append_bytes(event, 3, "brain.Event:2");
  return event;
}

/// tf.Summary: 1 value, of which 1 is the tag and 2 a number.
std::string metrics_event(std::int64_t step, const Metrics& metrics) {
  std::string summary;
  for (const auto& [name, number] : metrics) {
    std::string value;
    protobuf::append_bytes(value, 1, name);
    protobuf::append_float(value, 2, static_cast<float>(number));
    protobuf::append_bytes(summary, 1, value);
  }
  std::string event;
  protobuf::append_double(event, 1, wall_time());
  protobuf::append_number(event, 2, static_cast<std::uint64_t>(step));
  protobuf::append_bytes(event, 5, summary);
  return event;
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

Result<void> make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return {};
  return fail(Code::kSystem, "{}", fail_errno(error.value(), "cannot make " + printable(path)).value().message);
}

}  // namespace

struct EventFiles::File {
  std::string path;
  int fd = -1;
  off_t size = 0;  // end of the last complete record

  ~File() {
    if (fd >= 0) ::close(fd);
  }

  Result<void> append(const std::string& records) {
    std::size_t done = 0;
    while (done < records.size()) {
      const ssize_t n = ::pwrite(fd, records.data() + done, records.size() - done, size + static_cast<off_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        const int why = errno;
        [[maybe_unused]] const int cut = ::ftruncate(fd, size);  // else the next record would follow a partial one
        return fail_errno(why, "cannot write " + printable(path));
      }
      done += static_cast<std::size_t>(n);
    }
    size += static_cast<off_t>(records.size());
    return {};
  }
};

EventFiles::EventFiles(std::string directory) : directory_(std::move(directory)) {}
EventFiles::~EventFiles() = default;

Result<std::unique_ptr<EventFiles>> EventFiles::open(std::string directory) {
  TFD_TRY(make_directory(directory));
  return std::unique_ptr<EventFiles>(new EventFiles(std::move(directory)));
}

Result<EventFiles::File*> EventFiles::file_of(const std::string& run) {
  if (const auto found = files_.find(run); found != files_.end()) return found->second.get();
  const std::string folder = directory_ + "/" + run;
  TFD_TRY(make_directory(folder));
  auto file = std::make_unique<File>();
  // A run that continues within the same second gets another file: TensorBoard reads all files of a folder.
  file->path = fmt::format("{}/events.out.tfevents.{}.{}.{}", folder, static_cast<std::int64_t>(wall_time()),
                           host_name(), ::getpid());
  file->fd = ::open(file->path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file->fd < 0) return fail_errno(errno, "cannot write " + printable(file->path));
  std::string record;
  data::append_record(record, version_event());
  TFD_TRY(file->append(record));
  return files_.emplace(run, std::move(file)).first->second.get();
}

Result<void> EventFiles::add(const std::string& run, std::int64_t step, const Metrics& metrics) {
  if (metrics.empty()) return {};
  File* const file = TFD_TRY(file_of(run));
  std::string record;
  data::append_record(record, metrics_event(step, metrics));
  return file->append(record);
}

}  // namespace tfd::train
