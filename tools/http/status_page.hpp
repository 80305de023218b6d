#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// --http: a tool's page for browsers, Prometheus and Kubernetes, which is only read and has no secrets. Thread rule:
// main thread.
//
//   const auto page = TFD_TRY(http::StatusPage::start(asked.http, kTool, io));  // null: not asked for
//   if (page) page->ask(config.cluster, make_endpoint);
#include <memory>
#include <string>
#include <string_view>

#include "asker.hpp"
#include "board.hpp"
#include "server.hpp"
#include "tfd/cli/tool.hpp"

namespace tfd::http {

/// --http, the same in every tool that has it.
cli::Option http_option(std::string& target);

class StatusPage {
 public:
  /// `asked`: of --http, [HOST:]PORT; empty: returns null. Says on stderr where the page is. From here on what `io`
  /// logs is shown there, too. kUsage: no address of this host; errors of Server::start().
  static Result<std::unique_ptr<StatusPage>> start(const std::string& asked, std::string_view tool, cli::Io& io);

  /// Shows how these tasks are; one that can't be asked is warned of, for what the tool does matters more. At most
  /// once.
  void ask(const cluster::ClusterSpec& spec, const transport::EndpointFactory& make_endpoint);
  /// Outlives the page with whoever still tells it something.
  const std::shared_ptr<Board>& board() const { return board_; }

 private:
  StatusPage(std::shared_ptr<Board> board, Log log) : board_(std::move(board)), log_(std::move(log)) {}
  Answer answer(std::string_view path);

  const std::shared_ptr<Board> board_;  // with the log, and a training's sinks
  const Log log_;
  Mutex mutex_;
  std::unique_ptr<Asker> asker_ TFD_GUARDED_BY(mutex_);
  std::unique_ptr<Server> server_;  // last: its thread uses all of the above
};

}  // namespace tfd::http
