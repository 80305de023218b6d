// SPDX-License-Identifier: Apache-2.0
//
// A farm: many tasks in one process, the real servers with the real protocol, whose functions return their arguments
// and compute nothing. All share libzmq's threads: a task has two of its own, where it would have four, and 7
// descriptors, not 12.
//   bench-farm JOB FIRST COUNT
// Prints a line for each task, its address, and ends when stdin does.
#include <dlfcn.h>
#include <unistd.h>
#include <zmq.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tfd/base/descriptors.hpp"
#include "tfd/task/key.hpp"
#include "tfd/task/task_server.hpp"

using namespace tfd;

namespace {

template <class Function>
Function* in_libzmq(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

thread_local std::string monitored;  // the name of the monitor that this thread began last

}  // namespace

// In place of libzmq's: one context for all, never ended, in which each monitor has a name of its own.
extern "C" {
void* zmq_ctx_new() {
  static void* const shared = [] {
    void* const made = in_libzmq<void*()>("zmq_ctx_new")();
    zmq_ctx_set(made, ZMQ_MAX_SOCKETS, 65535);
    return made;
  }();
  return shared;
}
int zmq_ctx_term(void*) { return 0; }
int zmq_socket_monitor(void* socket, const char* name, int events) {
  static auto* const begin = in_libzmq<int(void*, const char*, int)>("zmq_socket_monitor");
  if (name != nullptr) monitored = fmt::format("{}-{}", name, fmt::ptr(socket));
  return begin(socket, name == nullptr ? nullptr : monitored.c_str(), events);
}
int zmq_connect(void* socket, const char* name) {
  static auto* const connect = in_libzmq<int(void*, const char*)>("zmq_connect");
  return connect(socket, std::string_view(name).starts_with("inproc://") ? monitored.c_str() : name);
}
}

namespace {

class Nothing final : public function::Function {
 public:
  explicit Nothing(hlo::Signature signature) : signature_(std::move(signature)) {}
  const hlo::Signature& signature() const override { return signature_; }
  Result<std::vector<tensor::Tensor>> call(const std::vector<tensor::Tensor>& arguments) override { return arguments; }

 private:
  const hlo::Signature signature_;
};

class NoEngine final : public function::Engine {
 public:
  const function::PluginInfo& plugin() const override { return plugin_; }
  Result<std::shared_ptr<function::Function>> compile(const hlo::Module& module) override {
    return std::make_shared<Nothing>(module.signature);
  }

 private:
  const function::PluginInfo plugin_{.path = "none", .platform = "none"};
};

Result<void> serve(const std::string& job, int first, int count) {
  raise_descriptor_limit();
  const auto make_endpoint = TFD_TRY(task::endpoints_under(std::nullopt, Environment::of_process()));
  const auto engine = std::make_shared<NoEngine>();  // shared by all tasks
  std::vector<std::unique_ptr<task::TaskServer>> all;
  for (int i = first; i < first + count; ++i) {
    task::TaskServerOptions options;
    options.task = {job, i};
    options.bind = "127.0.0.1:0";
    options.make_endpoint = make_endpoint;
    options.make_engine = [engine]() -> Result<std::shared_ptr<function::Engine>> { return engine; };
    all.push_back(TFD_TRY(task::start_task_server(std::move(options)), fmt::format("{}:{}", job, i)));
    std::printf("%s\n", all.back()->address().c_str());
  }
  std::fflush(stdout);
  for (char byte = 0; ::read(STDIN_FILENO, &byte, 1) > 0;) {
  }
  std::_Exit(0);  // thousands of threads needn't be joined
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench-farm JOB FIRST COUNT\n");
    return 64;
  }
  const auto served = serve(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
  std::fprintf(stderr, "bench-farm: %s\n", served ? "" : served.error().message.c_str());
  return 1;
}
