// SPDX-License-Identifier: Apache-2.0
//
// A task for the tests to kill, stop and start again: echoes requests ("who" is answered with its incarnation, "count"
// with the number of others it has executed). echo-task BIND FD|-1 [PUBLIC SECRET]: prints its address, then lives
// until stdin ends.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tfd/transport/endpoint.hpp"

int main(int argc, char** argv) {
  using namespace tfd::transport;
  if (argc < 2) return 64;
  EndpointOptions options;
  options.name = "worker:0";
  options.bind = argv[1];
  if (argc > 2) options.listen_fd = std::atoi(argv[2]);
  if (argc > 4) options.key = CurveKey{argv[3], argv[4]};
  options.incarnation = make_incarnation();
  options.heartbeat_interval = std::chrono::milliseconds(200);
  options.heartbeat_timeout = std::chrono::milliseconds(1000);
  auto executed = std::make_shared<std::atomic<int>>(0);
  options.handler = [executed, incarnation = options.incarnation](const Caller&, Message request, Responder responder) {
    if (request.meta == "never") {
      static std::vector<Responder> kept;
      kept.push_back(std::move(responder));
      return;
    }
    if (request.meta == "who")
      request.meta = std::to_string(incarnation);
    else if (request.meta == "count")
      request.meta = std::to_string(executed->load());
    else
      ++*executed;
    responder.reply(std::move(request));
  };
  const auto endpoint = make_zmq_endpoint(std::move(options));
  if (!endpoint) {
    std::fprintf(stderr, "echo-task: %s\n", endpoint.error().message.c_str());
    return 1;
  }
  std::printf("%s\n", (*endpoint)->address().c_str());
  std::fflush(stdout);
  char byte = 0;
  while (read(0, &byte, 1) > 0) {
  }
  return 0;
}
