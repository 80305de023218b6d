#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Messages as frames and back. A message is a head frame (kRequest or kReply) and, if it is large, chunks. The head's
// body:
//   u32 metadata bytes, u32 tensor-table bytes, u32 tensors; then metadata and table (unless kEnvelopeChunked); then
//   the bytes of the small tensors. The table has for every tensor: u8 dtype, u8 rank (bit 7: inline), s64 dimensions.
// Block 0 is metadata and table, block i + 1 is tensor i; chunks come in order, block after block.
// Thread rule: pure functions; an Assembly lives on one thread.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "buffer_pool.hpp"
#include "frame.hpp"

namespace tfd::transport {

inline constexpr std::size_t kMostMetaBytes = 1024 * 1024;
inline constexpr std::size_t kMostTableBytes = 1024 * 1024;
inline constexpr std::size_t kMostTensors = 65534;

/// A part that is sent without copying it.
struct Block {
  std::uint16_t index = 0;
  std::shared_ptr<const void> keep;  // the Tensor's storage: lives until the last byte is on its way
  std::span<const std::byte> bytes;
  std::shared_ptr<const tensor::Storage> to_lend = {};  // what lives until the receiver lets go; null: it is sent
};

struct EncodedMessage {
  std::string head;  // one frame
  std::vector<Block> blocks;
  std::size_t bytes() const;  // of all
};

/// `header` says type, kind, id, incarnation, time left. kInvalidArgument when metadata, or the number of tensors, is
/// too large.
Result<EncodedMessage> encode_message(FrameHeader header, const Message& message);

/// A message that is arriving. All sizes are checked before memory is taken.
class Assembly {
 public:
  /// kInvalidArgument for a head that is not well-formed, kResourceExhausted for one above `most_bytes`.
  static Result<Assembly> begin(const FrameView& head, std::uint64_t most_bytes, BufferPool& pool);
  /// kInvalidArgument for a chunk that isn't the next one; kResourceExhausted as begin().
  Result<void> add(std::uint16_t block, std::uint64_t position, std::span<const std::byte> bytes);
  /// Where such a chunk goes, so that it can be received there, and then added; empty: nowhere, or not yet.
  Place place(std::uint16_t block, std::uint64_t position, std::size_t size);
  /// Bytes of the next block, if that may be lent: a whole tensor of floats. kInvalidArgument.
  Result<std::size_t> lent_bytes(std::uint16_t block) const;
  /// Has the block's tensor lie in `storage`. lent_bytes() has been asked.
  void add_lent(std::uint16_t block, std::shared_ptr<tensor::Storage> storage);
  /// Sets a new `most_bytes`, for a table that is still to come.
  void limit(std::uint64_t most_bytes) { most_bytes_ = most_bytes; }
  bool is_complete() const { return complete_; }
  /// Bytes that are, or will be, held for it.
  std::uint64_t bytes() const { return bytes_; }
  std::size_t tensor_count() const { return tensor_count_; }
  const FrameHeader& header() const { return header_; }
  Message take() { return std::move(message_); }

 private:
  Assembly(FrameHeader header, std::uint64_t most_bytes, BufferPool& pool)
      : header_(header), most_bytes_(most_bytes), pool_(&pool) {}
  Result<void> read_envelope(std::span<const std::byte> envelope, std::span<const std::byte>& inlined);
  void skip_filled();

  struct Part {
    std::byte* to = nullptr;  // null until something of a tensor comes
    std::size_t size = 0;
    std::size_t filled = 0;
  };
  /// The part that a chunk continues, with memory for it.
  Result<Part*> find_part(std::uint16_t block, std::uint64_t position, std::size_t size);
  Result<std::shared_ptr<tensor::Storage>> make_storage(tensor::DType dtype, std::size_t size);
  Result<void> take_memory(std::size_t block);

  FrameHeader header_;
  std::uint64_t most_bytes_;
  BufferPool* pool_;
  std::uint32_t meta_size_ = 0, table_size_ = 0, tensor_count_ = 0;
  std::vector<std::byte> envelope_;  // while it comes in chunks; parts_ points into it, so not a string (moves)
  std::vector<Part> parts_;          // by block
  std::size_t current_ = 0;          // the block that comes next
  std::uint64_t bytes_ = 0;
  bool complete_ = false;
  Message message_;
};

}  // namespace tfd::transport
