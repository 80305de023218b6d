// SPDX-License-Identifier: Apache-2.0
#include "announce.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>

#include "tfd/base/file.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/process/notify.hpp"
#include "tfd/process/relay.hpp"

namespace tfd::serve {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);  // time for the reader of --ready-fd to take the line

}  // namespace

Result<std::string> spec_line(const Announcement& announcement) {
  if (!announcement.with_process_id && announcement.key_file.empty() && announcement.data_root.empty())
    return cluster::cluster_config_to_json(announcement.config);
  cluster::ClusterConfig config = announcement.config;
  auto extra = nlohmann::ordered_json::parse(config.extra, nullptr, false);
  if (!extra.is_object()) return fail(Code::kInternal, "the spec's other keys are not a JSON object");
  if (!announcement.key_file.empty()) extra["key_file"] = announcement.key_file;
  if (!announcement.data_root.empty()) extra["data_root"] = announcement.data_root;
  if (announcement.with_process_id) extra["supervisor"] = {{"pid", ::getpid()}};
  config.extra = extra.dump();
  return cluster::cluster_config_to_json(config);
}

Result<void> announce(const Announcement& announcement, const std::string& line, const Environment& env) {
  if (!announcement.output_file.empty()) TFD_TRY(save_file(announcement.output_file, line));
  if (announcement.ready_fd >= 0) {
    const process::Fd fd(announcement.ready_fd);
    process::QueuedOutput out(fd.get());
    out.add(line);
    out.flush_until(Deadline::after(kPatience));
  }
  return process::notify_service_manager(env, "READY=1");
}

}  // namespace tfd::serve
