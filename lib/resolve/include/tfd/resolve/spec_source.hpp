#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where a tool finds its cluster spec: the one place with the rule:
//
// 1. --cluster FILE|-|KIND|env|none.
// 2. stdin, if it is a FIFO, a socket or a regular file: one JSON document. The end of the file before the first byte
// falls through. Where TF_CONFIG names a cluster, a silent stdin is given up after SpecSource::patience, and the stdin
// of mpirun and srun isn't read at all.
// 3. TF_CONFIG, if it names a cluster. It comes before stdin for tools that are members rather than ends of a pipeline
// (SpecSource::prefers_environment).
//
// Thread rule: one thread; blocks until the deadline.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/environment.hpp"
#include "tfd/base/log.hpp"
#include "tfd/base/units.hpp"
#include "tfd/base/wait_report.hpp"
#include "tfd/cluster/cluster_config.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::resolve {

/// Reads stdin through one buffer, so that a spec and the lines behind it can share the descriptor.
class InputReader {
 public:
  /// `name` is for messages.
  explicit InputReader(int fd, std::string name = "stdin") : fd_(fd), name_(std::move(name)) {}
  /// One JSON document (an object), as soon as its last brace has come. nullopt at an end of file before the first byte
  /// that isn't white space. kInvalidArgument if it can't become JSON, kDataLoss for a document that is cut off,
  /// kResourceExhausted for one of more than 256 MiB, kDeadlineExceeded. `on_wait` is called when a line
  /// about the wait is due.
  Result<std::optional<std::string>> next_document(Deadline deadline,
                                                   const std::function<void(const WaitReport&)>& on_wait);
  /// One line without its newline; nullopt at the end of file. The last line needs no newline.
  Result<std::optional<std::string>> next_line(Deadline deadline);
  int fd() const { return fd_; }
  /// Keeps a descriptor open as long as this reader lives, so that whoever writes into a pipe doesn't get SIGPIPE.
  void hold(process::Fd fd) { held_.push_back(std::move(fd)); }

 private:
  Result<bool> fill(Deadline deadline);  // false at the end of file
  Result<bool> skip_to_document(Deadline deadline, const std::function<void(const WaitReport&)>& on_wait);
  std::string take(std::size_t count);

  int fd_;
  std::string name_;
  std::string buffer_;
  std::size_t start_ = 0;  // bytes before it were handed out
  bool ended_ = false;
  bool after_document_ = false;  // the rest of a document's line is not a line of its own
  std::vector<process::Fd> held_;
};

struct SpecSource {
  std::string cluster;                           // the --cluster option; empty where it wasn't given
  std::string jobs = {};                         // the --jobs option: of a kind whose tasks have no jobs by themselves
  std::string hostfile = {};                     // the --hostfile option: of mpi
  std::optional<cluster::TaskId> task;           // the --task option: overrides the spec's
  bool required = true;                          // else: an empty config where there is none, and stdin is left alone
  bool prefers_environment = false;              // stdin isn't looked at where TF_CONFIG names a cluster
  Duration patience = std::chrono::seconds(10);  // with a silent stdin, where TF_CONFIG names a cluster
  /// The options of tfd-resolve that this tool has, too: messages name others as tfd-resolve's.
  std::vector<std::string_view> options = {};
};

/// --cluster takes a file, - for stdin, none, or what is_kind() says: env (also tf-config), slurm, kubernetes, tpu,
/// mpi, auto. With jobs, "ps=2,worker=3", it is slurm or mpi (kUsage: another one), by default the one that is here;
/// with a hostfile it is mpi.
/// kUsage where a spec is required and there is none: says the three ways; kDeadlineExceeded (75) after the
/// deadline on a silent stdin; kInvalidArgument for an empty spec or bad JSON.
Result<cluster::ClusterConfig> find_spec(const SpecSource& source, InputReader& input, const Environment& env,
                                         Deadline deadline, const Log& log);

/// A resolver's message in the words of a tool that has only these of its options: "give --hostfile FILE" becomes "give
/// tfd-resolve mpi --hostfile FILE". Options of other programs stay ("mpirun's --map-by").
std::string in_words_of_tool(std::string_view message, std::string_view kind,
                             std::span<const std::string_view> options);

}  // namespace tfd::resolve
