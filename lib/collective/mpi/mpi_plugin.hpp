#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// MPI as a plug-in has it (share/mpi/tfd-mpi.c): loaded when it is asked for, and started once in a process. Thread
// rule: a plug-in is thread-safe; a link is used by one thread at a time.
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "tfd/collective/communicator.hpp"

struct tfd_mpi;
struct tfd_mpi_group;
struct tfd_mpi_request;

namespace tfd::collective {

/// Sums and broadcasts by MPI among the members of a group, all of which begin the same ones in the same order.
class MpiLink {
 public:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

  /// Memory that MPI is given: nobody can take it back before MPI has done its part, so it isn't the caller's.
  class Piece {
   public:
    std::byte* data() { return memory_.get(); }

   private:
    friend class MpiLink;
    std::unique_ptr<std::byte[]> memory_;
    std::size_t size_ = 0;
    bool is_taken_ = false;
    tfd_mpi_request* request_ = nullptr;  // the plug-in's, while it is MPI's
  };

  MpiLink(std::shared_ptr<MpiPlugin> plugin, tfd_mpi_group* group) : plugin_(std::move(plugin)), group_(group) {}
  /// Memory that MPI still uses stays allocated for good.
  ~MpiLink();
  MpiLink(const MpiLink&) = delete;
  MpiLink& operator=(const MpiLink&) = delete;

  /// A piece of `bytes`, at most kPieceBytes, until give_back(); null: others must come back first.
  Piece* take(std::size_t bytes);
  /// The sum of all members' `elements` takes their place. Half types can't be added. kUnavailable: MPI has failed.
  Result<void> begin_sum(Piece& piece, tensor::DType dtype, std::size_t elements);
  /// The root's bytes take the place of all others'.
  Result<void> begin_broadcast(Piece& piece, int root, std::size_t bytes);
  /// True once the begun transfer is complete. Doesn't wait.
  Result<bool> is_done(Piece& piece);
  void give_back(Piece& piece) { piece.is_taken_ = false; }
  /// The members end in order: MPI may be ended when the plug-in is no longer needed.
  void leave();

 private:
  const std::shared_ptr<MpiPlugin> plugin_;  // shared with whoever loaded it
  tfd_mpi_group* const group_;               // the plug-in's
  std::array<Piece, 4> pieces_;
};

class MpiPlugin : public std::enable_shared_from_this<MpiPlugin> {
 public:
  /// Loads a plug-in as load_mpi_plugin() says.
  static Result<std::shared_ptr<MpiPlugin>> load(const std::string& path);
  /// Ends MPI, if members have left in order: waits for all of them, but not for good.
  ~MpiPlugin();
  MpiPlugin(const MpiPlugin&) = delete;
  MpiPlugin& operator=(const MpiPlugin&) = delete;

  /// Starts MPI, whose processes are exactly the members. Waits for them, and asks `meanwhile` again and again, whose
  /// error ends the wait. kFailedPrecondition: MPI has other processes. kDeadlineExceeded: some of them don't start it.
  /// kUnavailable: it has failed.
  Result<std::unique_ptr<MpiLink>> open(int rank, int size, Deadline deadline,
                                        const std::function<Result<void>()>& meanwhile);

 private:
  friend class MpiLink;
  class Caller;
  MpiPlugin(const tfd_mpi* table, std::string path);

  const tfd_mpi* const table_;  // never unloaded
  const std::string path_;
  std::shared_ptr<Caller> caller_;  // its thread has the other reference, which a call that never returns keeps
  std::atomic<bool> ends_in_order_{false};
};

}  // namespace tfd::collective
