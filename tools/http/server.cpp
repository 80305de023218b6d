// SPDX-License-Identifier: Apache-2.0
#include "server.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <deque>
#include <thread>

#include "library.hpp"
#include "tfd/base/deadline.hpp"
#include "tfd/launch/listen.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::http {
namespace {

constexpr std::size_t kMostBytes = 16 * 1024;  // of a connection: its request with all headers
constexpr std::size_t kMostConnections = 64;
constexpr int kMostAccepted = 16;                             // at once, so that open connections are served, too
constexpr Duration kLongestVisit = std::chrono::seconds(10);  // a connection, whatever it does
constexpr Duration kTick = std::chrono::seconds(1);
constexpr Duration kPause = std::chrono::milliseconds(100);  // before the next try, where descriptors are short

}  // namespace

class Server::Thread {
 public:
  Thread(ServerOptions options, Library library, launch::Listener listener, process::Pipe ending)
      : options_(std::move(options)),
        library_(library),
        listener_(std::move(listener)),
        ending_(std::move(ending)),
        checks_host_(cluster::is_loopback(listener_.address)) {}

  ~Thread() {
    ending_.write.reset();
    if (thread_.joinable()) thread_.join();
    if (daemon_ != nullptr) library_.stop_daemon(daemon_);
  }

  Result<void> start() {
    // The loop is ours, so that a connection can be dropped: the library's limits are of silence alone.
    daemon_ = library_.start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, nullptr, nullptr, &Thread::on_request,
                                    this, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMostBytes, MHD_OPTION_CONNECTION_LIMIT,
                                    static_cast<unsigned>(4 * kMostConnections), MHD_OPTION_NOTIFY_CONNECTION,
                                    &Thread::on_connection, this, MHD_OPTION_END);
    const MHD_DaemonInfo* const info =
        daemon_ == nullptr ? nullptr : library_.get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD);
    if (info == nullptr) return fail(Code::kSystem, "cannot start the HTTP server");
    epoll_ = info->epoll_fd;
    // Signals are for the tool's own threads.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return {};
  }

  const cluster::Address& address() const { return listener_.address; }

 private:
  struct Visit {
    int fd;
    Deadline ends;
    bool is_dropped = false;
  };

  void run() {
    Deadline tick = Deadline::after(kTick);
    for (;;) {
      const bool accepts = pause_.is_never() || pause_.expired();
      pollfd fds[] = {{ending_.read.get(), POLLIN, 0}, {epoll_, POLLIN, 0}, {listener_.fd.get(), POLLIN, 0}};
      ::poll(fds, accepts ? 3 : 2, next(tick).poll_ms());
      if (fds[0].revents != 0) return;
      if (accepts && fds[2].revents != 0) accept_some();
      library_.run(daemon_);
      for (Visit& visit : visits_)
        if (visit.ends.expired()) drop(visit);
      if (!tick.expired()) continue;
      tick = Deadline::after(kTick);
      if (options_.on_second) options_.on_second();
    }
  }

  /// When there is something to do, whoever comes.
  Deadline next(Deadline tick) const {
    Deadline out = pause_.is_never() ? tick : tick.earlier_of(pause_);
    MHD_UNSIGNED_LONG_LONG milliseconds = 0;
    if (library_.get_timeout(daemon_, &milliseconds) == MHD_YES && milliseconds < 1000)
      out = out.earlier_of(Deadline::after(std::chrono::milliseconds(milliseconds)));
    return out;
  }

  void accept_some() {
    pause_ = Deadline::never();
    for (int i = 0; i < kMostAccepted; ++i) {
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      auto* const address = reinterpret_cast<sockaddr*>(&from);
      const int fd = ::accept4(listener_.fd.get(), address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) pause_ = Deadline::after(kPause);
        return;
      }
      make_room();
      library_.add_connection(daemon_, fd, address, size);  // closes it where it fails
    }
  }

  /// Drops the oldest visit if there are as many as there may be.
  void make_room() {
    const auto stays = [](const Visit& visit) { return !visit.is_dropped; };
    if (static_cast<std::size_t>(std::ranges::count_if(visits_, stays)) < kMostConnections) return;
    drop(*std::ranges::find_if(visits_, stays));
  }

  /// The library sees the end of the connection, and closes it.
  static void drop(Visit& visit) {
    if (!std::exchange(visit.is_dropped, true)) ::shutdown(visit.fd, SHUT_RDWR);
  }

  static void on_connection(void* self, MHD_Connection* connection, void**, MHD_ConnectionNotificationCode what) {
    auto& thread = *static_cast<Thread*>(self);
    const MHD_ConnectionInfo* const info =
        thread.library_.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == nullptr) return;
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
      thread.visits_.push_back({info->connect_fd, Deadline::after(kLongestVisit)});
    else
      std::erase_if(thread.visits_, [&](const Visit& visit) { return visit.fd == info->connect_fd; });
  }

  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* path, const char* method,
                               const char*, const char*, std::size_t*, void** state) {
    auto& thread = *static_cast<Thread*>(self);
    const std::string_view asked(method);
    if (asked != "GET" && asked != "HEAD") return thread.answer(connection, {405, {}, "only GET and HEAD\n"});
    if (std::exchange(*state, self) == nullptr) return MHD_YES;  // the headers; it is called again at their end
    try {
      return thread.answer(connection, thread.answer_to(connection, path));
    } catch (...) {  // nothing may pass through the library, which is C: the connection ends
      return MHD_NO;
    }
  }

  Answer answer_to(MHD_Connection* connection, const char* path) const {
    const char* const host = library_.lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    if (checks_host_ && host != nullptr && !is_loopback_host(host))
      return {403, {}, "this page is for this host: ask for it as localhost\n"};
    return options_.handle(path);
  }

  MHD_Result answer(MHD_Connection* connection, const Answer& answer) const {
    MHD_Response* const response = library_.create_response_from_buffer(
        answer.body.size(), const_cast<char*>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
    if (response == nullptr) return MHD_NO;
    const std::string type(answer.type.empty() ? Answer().type : answer.type);
    const auto add = [&](const char* name, const std::string& value) {
      library_.add_response_header(response, name, value.c_str());
    };
    add("Content-Type", type);
    add("Content-Security-Policy", std::string(options_.content_security_policy));
    add("X-Content-Type-Options", "nosniff");
    add("Referrer-Policy", "no-referrer");
    add("Cross-Origin-Resource-Policy", "same-origin");
    add("Cache-Control", "no-store");
    add("Connection", "close");
    if (answer.status == 405) add("Allow", "GET, HEAD");
    const MHD_Result queued = library_.queue_response(connection, answer.status, response);
    library_.destroy_response(response);
    return queued;
  }

  const ServerOptions options_;
  const Library library_;
  const launch::Listener listener_;
  process::Pipe ending_;
  const bool checks_host_;
  MHD_Daemon* daemon_ = nullptr;
  int epoll_ = -1;                      // the library's
  std::deque<Visit> visits_;            // the oldest first
  Deadline pause_ = Deadline::never();  // nobody is accepted before
  std::thread thread_;
};

Server::Server(std::unique_ptr<Thread> thread) : thread_(std::move(thread)) {}
Server::~Server() = default;
const cluster::Address& Server::address() const { return thread_->address(); }

Result<std::unique_ptr<Server>> Server::start(ServerOptions options) {
  const Library library = TFD_TRY(load_library());
  auto listener = TFD_TRY(launch::listen_on(options.bind));
  auto ending = TFD_TRY(process::make_pipe());
  auto thread = std::make_unique<Thread>(std::move(options), library, std::move(listener), std::move(ending));
  TFD_TRY(thread->start());
  return std::unique_ptr<Server>(new Server(std::move(thread)));
}

bool is_loopback_host(std::string_view header) {
  const bool has_port = header.rfind(':') != std::string_view::npos && !header.ends_with(']');
  const auto address = cluster::parse_address(has_port ? std::string(header) : std::string(header) + ":80");
  return address && cluster::is_loopback(*address);
}

}  // namespace tfd::http
