// SPDX-License-Identifier: Apache-2.0
#include "sign_of_life.hpp"

namespace tfd::strategy {
namespace {

constexpr Duration kBetween = std::chrono::milliseconds(500);
constexpr Duration kPatience = std::chrono::seconds(1);  // the end of the thread may have to wait so long

tensor::Tensor vector_of(std::int64_t value) {
  auto out = tensor::Tensor::zeros(tensor::DType::kS64, {1});
  out.mutable_as<std::int64_t>()[0] = value;
  return out;
}

}  // namespace

SignOfLife::SignOfLife(runtime::Placement placement, runtime::ParameterServersOptions options, std::uint64_t epoch,
                       std::string_view variable, std::int64_t index)
    : placement_(std::move(placement)),
      options_(std::move(options)),
      epoch_(epoch),
      variable_(variable),
      index_(index),
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
    if (server) server->set_epoch(epoch_);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t beat = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    if (server &&
        !server->assign_rows({{variable::UpdateKind::kAssignRows, variable_, vector_of(beat), vector_of(index_)}},
                             Deadline::after(kPatience)))
      server.reset();
    std::unique_lock lock(mutex_);
    stopped_.wait_for(lock, stop, kBetween, [] { return false; });
  }
}

}  // namespace tfd::strategy
