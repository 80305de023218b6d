#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Writes a parameter server's parts of checkpoints to disk, on threads of its own, while updates go on. A coordinator
// chooses the place, so it is checked: only into directories that a probe of the present run has shown, only new
// files of a part's name, within the directory of an existing unfinished checkpoint. Thread rule: its functions
// are called on the endpoint's I/O thread, but stop().
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "tfd/base/thread_annotations.hpp"
#include "tfd/task/server_client.hpp"
#include "tfd/transport/endpoint.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::task {

class PartWriter {
 public:
  ~PartWriter() { stop(); }

  /// Answers a probe.
  void probe(std::uint64_t connection, DirectoryProbe probe, std::uint64_t epoch, transport::Responder responder);
  using Names = std::shared_ptr<const std::set<std::string>>;
  /// Writes values, whose memory is released one by one, and answers with the part. `export_id` ends the export.
  /// kInternal: one of `finite` is not finite, and no part is written.
  void write(std::uint64_t connection, std::uint64_t export_id, PartPlace place, tensor::NamedTensors values,
             Names finite, std::uint64_t epoch, transport::Responder responder);
  /// Somebody waits for this connection's write: it is no longer left to idle time.
  void hurry(std::uint64_t connection);
  /// Ends what was begun for an export of this connection, or for all of them.
  void cancel(std::uint64_t connection, std::uint64_t export_id);
  void cancel(std::uint64_t connection);
  /// Ends everything. Not on the I/O thread.
  void stop();

 private:
  static constexpr std::size_t kMostWaiting = 8;

  struct Work {
    Work(std::uint64_t of, std::uint64_t ends, transport::Responder to)
        : connection(of), export_id(ends), responder(std::move(to)) {}
    const std::uint64_t connection;
    const std::uint64_t export_id;  // 0: a probe
    std::atomic<bool> is_cancelled{false};
    std::atomic<bool> is_hurried{false};
    std::function<Result<transport::Message>(const Work& work)> run;
    transport::Responder responder;
  };
  void add(std::shared_ptr<Work> work);
  template <class Is>
  void set_if(std::atomic<bool> Work::*flag, const Is& is);
  void work();
  bool is_shown(const std::string& directory, std::uint64_t epoch) TFD_EXCLUDES(mutex_);
  void show(const std::string& directory, std::uint64_t epoch) TFD_EXCLUDES(mutex_);

  Mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Work>> waiting_ TFD_GUARDED_BY(mutex_);  // the first is under way; shared with the thread
  std::set<std::string> shown_ TFD_GUARDED_BY(mutex_);                // directories, by probes of this epoch
  std::uint64_t shown_epoch_ TFD_GUARDED_BY(mutex_) = 0;
  bool stopping_ TFD_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // started with the first work
};

}  // namespace tfd::task
