// SPDX-License-Identifier: Apache-2.0
//
// An all-reduce of f32 among processes of this host, by shared memory and over TCP, plain and encrypted, and what two
// bare sockets take to exchange as many bytes. CPU time is that of one process per all-reduce: comparable on a busy
// machine too, where latencies aren't. Prints a JSON object for each way and size.
//
// usage: bench-collective PROCESSES BYTES…
//        TFD_MPI_PLUGIN=PLUGIN mpirun -n PROCESSES bench-collective mpi WAY FOLDER BYTES…    by that MPI; FOLDER is
//        empty
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tfd/base/file.hpp"
#include "tfd/collective/communicator.hpp"

namespace {

using namespace tfd;
using collective::EngineKind;

double seconds_of_cpu() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

std::int64_t rounds_of(std::int64_t bytes) { return std::clamp<std::int64_t>((64 << 20) / bytes, 3, 2000); }

void print(const std::string& way, int processes, std::int64_t bytes, std::vector<double> times, double cpu) {
  std::ranges::sort(times);
  fmt::print(R"({{"way":"{}","processes":{},"bytes":{},"median_us":{:.1f},"least_us":{:.1f},"cpu_us":{:.1f}}})"
             "\n",
             way, processes, bytes, times[times.size() / 2], times.front(), cpu);
  std::fflush(stdout);
}

Result<void> measure(collective::Communicator& communicator, const std::string& way, std::int64_t bytes) {
  std::vector<float> values(static_cast<std::size_t>(bytes) / 4);
  auto* const data = reinterpret_cast<std::byte*>(values.data());
  const tensor::SumPart part{.leaves = {communicator.rank(), 1}, .data = data};
  collective::SumLayout layout{communicator.size(), {}, {}};
  for (int i = 0; i < communicator.size(); ++i) layout.shares.push_back({i, 1});
  const std::int64_t count = rounds_of(bytes);
  std::vector<double> times;
  double before = 0;
  for (std::int64_t i = -3; i < count; ++i) {
    if (i == 0) before = seconds_of_cpu();
    const auto began = Clock::now();
    TFD_TRY(communicator.all_reduce({"w", i, {tensor::DType::kF32, {bytes / 4}}}, layout, {&part, 1}, data,
                                    Deadline::after(std::chrono::seconds(60))));
    if (i >= 0) times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - began).count());
  }
  const double cpu = (seconds_of_cpu() - before) / static_cast<double>(count) * 1e6;
  if (communicator.rank() == 0) print(way, communicator.size(), bytes, times, cpu);
  return {};
}

/// All of it, in this direction.
void move(int socket, std::byte* data, std::size_t size, bool sends) {
  for (std::size_t at = 0; at < size;) {
    const ssize_t moved = sends ? ::send(socket, data + at, size - at, 0) : ::recv(socket, data + at, size - at, 0);
    if (moved <= 0) std::abort();
    at += static_cast<std::size_t>(moved);
  }
}

/// Bare round trips over TCP: a number of bytes there, then back.
void measure_bare(const std::vector<std::int64_t>& sizes) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0), ours = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, any, length) != 0 || ::listen(listener, 1) != 0 || ::getsockname(listener, any, &length) != 0)
    std::abort();
  const int on = 1;
  const pid_t child = ::fork();
  if (child == 0) {
    const int peer = ::accept(listener, nullptr, nullptr);
    ::setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (const std::int64_t bytes : sizes) {
      std::vector<std::byte> data(static_cast<std::size_t>(bytes));
      for (std::int64_t i = -3; i < rounds_of(bytes); ++i)
        for (const bool sends : {false, true}) move(peer, data.data(), data.size(), sends);
    }
    ::_exit(0);
  }
  if (::connect(ours, any, length) != 0) std::abort();
  ::setsockopt(ours, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  for (const std::int64_t bytes : sizes) {
    std::vector<std::byte> data(static_cast<std::size_t>(bytes));
    std::vector<double> times;
    double before = 0;
    for (std::int64_t i = -3; i < rounds_of(bytes); ++i) {
      if (i == 0) before = seconds_of_cpu();
      const auto began = Clock::now();
      for (const bool sends : {true, false}) move(ours, data.data(), data.size(), sends);
      if (i >= 0) times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - began).count());
    }
    print("bare", 2, bytes, times, (seconds_of_cpu() - before) / static_cast<double>(rounds_of(bytes)) * 1e6);
  }
  ::waitpid(child, nullptr, 0);
  for (const int socket : {listener, ours}) ::close(socket);
}

int run(collective::Members members, collective::Listener* listener, const collective::Engine& engine,
        const std::string& way, const std::vector<std::int64_t>& sizes) {
  const auto communicator = connect(std::move(members), listener, engine, Deadline::after(std::chrono::seconds(60)));
  if (!communicator) {
    fmt::print(stderr, "{}\n", communicator.error().message);
    return 1;
  }
  for (const std::int64_t bytes : sizes)
    if (const auto done = measure(**communicator, way, bytes); !done) {
      fmt::print(stderr, "{}\n", done.error().message);
      return 1;
    }
  (*communicator)->leave();
  return 0;
}

/// A process for each member.
bool run_group(int size, EngineKind engine, bool is_encrypted, const std::string& way,
               const std::vector<std::int64_t>& sizes) {
  collective::Members members{.generation = 1, .rank = 0, .all = {}, .secret = {}, .is_encrypted = is_encrypted};
  std::vector<std::unique_ptr<collective::Listener>> listeners;
  for (int i = 0; i < size; ++i) {
    listeners.push_back(collective::Listener::bind("127.0.0.1").value());
    members.all.push_back({fmt::format("worker:{}", i), "this", listeners.back()->address()});
  }
  std::vector<pid_t> children;
  for (int i = 0; i < size; ++i) {
    members.rank = i;
    children.push_back(::fork());
    if (children.back() == 0) ::_exit(run(members, listeners[static_cast<std::size_t>(i)].get(), engine, way, sizes));
  }
  bool is_good = true;
  for (const pid_t child : children) {
    int status = 0;
    is_good = ::waitpid(child, &status, 0) == child && status == 0 && is_good;
  }
  return is_good;
}

/// One member of those that mpirun has started; their addresses are files of the folder.
int run_by_mpi(const std::string& way, const std::string& folder, const std::vector<std::int64_t>& sizes) {
  const auto number = [](std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (const char* const text = std::getenv(name)) return std::atoi(text);
    return 0;
  };
  const int size = number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"});
  collective::Members members{
      .generation = 1, .rank = number({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}), .all = {}, .secret = {}};
  const auto listener = collective::Listener::bind("127.0.0.1").value();
  if (!save_file(fmt::format("{}/{}", folder, members.rank), listener->address())) return 1;
  for (int i = 0; i < size; ++i) {
    Result<std::string> address = fail(Code::kNotFound, "it isn't there yet");
    while (!address || address->empty()) address = load_file(fmt::format("{}/{}", folder, i));
    members.all.push_back({fmt::format("worker:{}", i), "this", *address});
  }
  const char* const plugin = std::getenv("TFD_MPI_PLUGIN");
  const auto mpi = collective::load_mpi_plugin(plugin != nullptr ? plugin : "");
  if (!mpi) fmt::print(stderr, "{}\n", mpi.error().message);
  return mpi ? run(std::move(members), listener.get(), {EngineKind::kMpi, *mpi}, way, sizes) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 4 && std::string(argv[1]) == "mpi") {
    std::vector<std::int64_t> sizes;
    for (int i = 4; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
    return run_by_mpi(argv[2], argv[3], sizes);
  }
  if (argc < 3) {
    fmt::print(stderr, "usage: bench-collective PROCESSES BYTES…\n");
    return 64;
  }
  const int size = std::atoi(argv[1]);
  std::vector<std::int64_t> sizes;
  for (int i = 2; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  bool is_good = run_group(size, EngineKind::kShm, false, "shm", sizes);
  is_good = run_group(size, EngineKind::kTcp, false, "tcp", sizes) && is_good;
  is_good = run_group(size, EngineKind::kTcp, true, "encrypted", sizes) && is_good;
  if (size == 2) measure_bare(sizes);
  return is_good ? 0 : 1;
}
