// SPDX-License-Identifier: Apache-2.0
#include "sockets.hpp"

#include "tfd/base/random.hpp"
#include "tfd/process/local_socket.hpp"
#include "tfd/process/tcp_socket.hpp"

namespace tfd::collective {
namespace {

constexpr std::string_view kUnix = "unix:";

}  // namespace

Result<std::unique_ptr<Listener>> Listener::bind(const std::string& host) {
  process::TcpListener listener = TFD_TRY(process::listen_by_tcp(host));
  return std::make_unique<SocketListener>(std::move(listener.socket), std::move(listener.address));
}

Result<std::unique_ptr<SocketListener>> listen_on_host() {
  const std::string name = "tfd-collective-" + random_text();
  return std::make_unique<SocketListener>(TFD_TRY(process::listen_locally(name)), std::string(kUnix) + name);
}

Result<process::Fd> start_connecting(const std::string& address) {
  if (address.starts_with(kUnix)) return process::connect_locally(std::string_view(address).substr(kUnix.size()));
  return process::start_connecting_by_tcp(address);
}

}  // namespace tfd::collective
