// SPDX-License-Identifier: Apache-2.0
#include "sign_of_life.hpp"

namespace tfd::strategy {
namespace {

constexpr Duration kBetween = std::chrono::milliseconds(500);
constexpr Duration kPatience = std::chrono::seconds(1);  // the end of the thread may have to wait so long

}  // namespace

SignOfLife::SignOfLife(runtime::Placement placement, runtime::ParameterServersOptions options, std::uint64_t epoch,
                       variable::Update beat)
    : placement_(std::move(placement)),
      options_(std::move(options)),
      epoch_(epoch),
      beat_(std::move(beat)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void SignOfLife::run(const std::stop_token& stop) {
  placement_.ps.resize(1);
  options_.name += "/alive";
  options_.rejoin = kPatience;
  options_.log = {};
  std::unique_ptr<runtime::ParameterServers> server;
  while (!stop.stop_requested()) {
    if (!server)
      if (auto connected = runtime::ParameterServers::connect(placement_, options_, Deadline::after(kPatience)))
        server = std::move(*connected);
    if (server && !server->update(epoch_, {beat_}, Deadline::after(kPatience))) server.reset();
    std::unique_lock lock(mutex_);
    stopped_.wait_for(lock, stop, kBetween, [] { return false; });
  }
}

}  // namespace tfd::strategy
