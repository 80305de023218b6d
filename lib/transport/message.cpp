// SPDX-License-Identifier: Apache-2.0
#include "message.hpp"

#include <cstring>
#include <new>

#include "tfd/tensor/shared_heap.hpp"

namespace tfd::transport {
namespace {

constexpr std::size_t kHeadBytes = 12;
constexpr std::size_t kInlineEnvelope = 64 * 1024;  // larger metadata is chunked
constexpr std::size_t kInlineTensor = 16 * 1024;    // copying these is cheaper than a message of their own
constexpr std::size_t kInlineAll = 64 * 1024;       // of one message
constexpr std::uint8_t kInlineBit = 0x80;
constexpr std::size_t kMostRank = 64;
constexpr auto kLastDType = static_cast<std::uint8_t>(tensor::DType::kF64);

/// The storage to keep while a tensor is lent; null: it isn't lent.
std::shared_ptr<const tensor::Storage> find_to_lend(const tensor::Tensor& tensor) {
  if (tensor.byte_size() < tensor::kLeastShared || !tensor::is_floating(tensor.dtype())) return nullptr;
  const auto guard = std::dynamic_pointer_cast<const tensor::StorageGuard>(tensor.storage());
  return guard ? guard->guarded() : tensor.storage();
}

}  // namespace

bool leaves_whole(const Message& message) {
  std::size_t tensors = 0;
  std::size_t table = 0;
  for (const tensor::Tensor& tensor : message.tensors) {
    if (tensor.byte_size() > kInlineTensor) return false;
    tensors += tensor.byte_size();
    table += 2 + 8 * tensor.shape().size();
  }
  return message.meta.size() + table <= kInlineEnvelope && tensors <= kInlineAll;
}

std::size_t EncodedMessage::bytes() const {
  std::size_t sum = head.size();
  for (const Block& block : blocks) sum += block.bytes.size();
  return sum;
}

Result<EncodedMessage> encode_message(FrameHeader header, const Message& message) {
  if (message.meta.size() > kMostMetaBytes)
    return fail(Code::kInvalidArgument, "metadata of {} bytes, where {} are allowed", message.meta.size(),
                kMostMetaBytes);
  if (message.tensors.size() > kMostTensors)
    return fail(Code::kInvalidArgument, "{} tensors in one message, where {} are allowed", message.tensors.size(),
                kMostTensors);
  std::size_t table_size = 0;
  for (const tensor::Tensor& tensor : message.tensors) {
    if (!tensor.has_value()) return fail(Code::kInvalidArgument, "a tensor without a value in a message");
    if (tensor.shape().size() > kMostRank)
      return fail(Code::kInvalidArgument, "a tensor of rank {}, where {} is allowed", tensor.shape().size(), kMostRank);
    table_size += 2 + 8 * tensor.shape().size();
  }
  if (table_size > kMostTableBytes)
    return fail(Code::kInvalidArgument, "too many tensors in one message: {}", message.tensors.size());
  const std::size_t envelope_size = message.meta.size() + table_size;
  const bool chunked = envelope_size > kInlineEnvelope;

  EncodedMessage out;
  std::string table;
  table.reserve(table_size);
  std::vector<const tensor::Tensor*> inlined;
  inlined.reserve(message.tensors.size());
  std::size_t inlined_bytes = 0;
  for (std::size_t i = 0; i < message.tensors.size(); ++i) {
    const tensor::Tensor& tensor = message.tensors[i];
    const std::size_t size = tensor.byte_size();
    const bool fits = size == 0 || (!chunked && size <= kInlineTensor && inlined_bytes + size <= kInlineAll);
    put<std::uint8_t>(table, static_cast<std::uint8_t>(tensor.dtype()));
    put<std::uint8_t>(table, static_cast<std::uint8_t>(tensor.shape().size() | (fits ? kInlineBit : 0)));
    for (const std::int64_t dimension : tensor.shape())
      put<std::uint64_t>(table, static_cast<std::uint64_t>(dimension));
    if (!fits) {
      out.blocks.push_back({static_cast<std::uint16_t>(i + 1), tensor.storage(), tensor.bytes(),
                            message.may_lend ? find_to_lend(tensor) : nullptr});
    } else if (size > 0) {
      inlined.push_back(&tensor);
      inlined_bytes += size;
    }
  }

  if (chunked) header.flags |= kEnvelopeChunked;
  header.body_size = static_cast<std::uint32_t>(kHeadBytes + (chunked ? 0 : envelope_size + inlined_bytes));
  out.head.reserve(kHeaderBytes + header.body_size);
  append_header(out.head, header);
  put<std::uint32_t>(out.head, static_cast<std::uint32_t>(message.meta.size()));
  put<std::uint32_t>(out.head, static_cast<std::uint32_t>(table_size));
  put<std::uint32_t>(out.head, static_cast<std::uint32_t>(message.tensors.size()));
  if (chunked) {
    // The envelope is shared by the pieces that the wire still holds.
    auto envelope = std::make_shared<const std::string>(message.meta + table);
    const std::span<const std::byte> bytes = as_bytes(*envelope);
    out.blocks.insert(out.blocks.begin(), {0, std::move(envelope), bytes});
  } else {
    out.head.append(message.meta).append(table);
    for (const tensor::Tensor* tensor : inlined) out.head.append(as_text(tensor->bytes()));
  }
  return out;
}

Result<Assembly> Assembly::begin(const FrameView& head, std::uint64_t most_bytes, BufferPool& pool) {
  std::span<const std::byte> rest = head.body;
  if (rest.size() < kHeadBytes)
    return fail(Code::kInvalidArgument, "a message's head is cut off after {} bytes", rest.size());
  Assembly assembly(head.header, most_bytes, pool);
  assembly.meta_size_ = get<std::uint32_t>(rest, 0);
  assembly.table_size_ = get<std::uint32_t>(rest, 4);
  assembly.tensor_count_ = get<std::uint32_t>(rest, 8);
  rest = rest.subspan(kHeadBytes);
  if (assembly.meta_size_ > kMostMetaBytes)
    return fail(Code::kInvalidArgument, "metadata of {} bytes, where {} are allowed", assembly.meta_size_,
                kMostMetaBytes);
  if (assembly.table_size_ > kMostTableBytes || assembly.tensor_count_ > kMostTensors ||
      assembly.table_size_ < 2 * std::size_t{assembly.tensor_count_})
    return fail(Code::kInvalidArgument, "a tensor table of {} bytes for {} tensors", assembly.table_size_,
                assembly.tensor_count_);
  const std::size_t envelope_size = std::size_t{assembly.meta_size_} + assembly.table_size_;
  assembly.message_.kind = head.header.kind;
  assembly.message_.epoch = head.header.epoch;
  assembly.bytes_ = envelope_size;
  if (envelope_size > most_bytes) return fail(Code::kResourceExhausted, "a message of more than {} bytes", most_bytes);
  if ((head.header.flags & kEnvelopeChunked) != 0) {
    if (envelope_size == 0) return fail(Code::kInvalidArgument, "an empty envelope in chunks");
    assembly.envelope_.resize(envelope_size);
    assembly.parts_.push_back({assembly.envelope_.data(), envelope_size, 0});
  } else {
    if (envelope_size > rest.size())
      return fail(Code::kInvalidArgument, "a message's envelope is cut off: {} of {} bytes", rest.size(),
                  envelope_size);
    const std::span<const std::byte> envelope = rest.first(envelope_size);
    rest = rest.subspan(envelope_size);
    assembly.parts_.reserve(std::size_t{1} + assembly.tensor_count_);
    assembly.parts_.push_back({});
    TFD_TRY(assembly.read_envelope(envelope, rest));
  }
  if (!rest.empty()) return fail(Code::kInvalidArgument, "{} bytes too many in a message's head", rest.size());
  return assembly;
}

Result<void> Assembly::read_envelope(std::span<const std::byte> envelope, std::span<const std::byte>& inlined) {
  std::span<const std::byte> table = envelope.subspan(meta_size_);
  struct Entry {
    tensor::DType dtype;
    bool is_inline;
    tensor::Shape shape;
    std::size_t size;
  };
  std::vector<Entry> entries;
  entries.reserve(tensor_count_);
  std::size_t inline_bytes = 0;
  for (std::uint32_t i = 0; i < tensor_count_; ++i) {
    if (table.size() < 2) return fail(Code::kInvalidArgument, "the tensor table ends within tensor {}", i);
    const auto dtype = get<std::uint8_t>(table, 0);
    const auto rank_and_inline = get<std::uint8_t>(table, 1);
    const std::size_t rank = rank_and_inline & ~kInlineBit;
    if (dtype > kLastDType) return fail(Code::kInvalidArgument, "tensor {} has no known dtype: {}", i, dtype);
    if (rank > kMostRank || table.size() < 2 + 8 * rank)
      return fail(Code::kInvalidArgument, "the tensor table ends within tensor {}", i);
    Entry entry{static_cast<tensor::DType>(dtype), (rank_and_inline & kInlineBit) != 0, {}, 0};
    for (std::size_t d = 0; d < rank; ++d)
      entry.shape.push_back(static_cast<std::int64_t>(get<std::uint64_t>(table, 2 + 8 * d)));
    entry.size = TFD_TRY(tensor::checked_byte_size(entry.dtype, entry.shape));
    table = table.subspan(2 + 8 * rank);
    if (entry.size > most_bytes_ || bytes_ > most_bytes_ - entry.size)
      return fail(Code::kResourceExhausted, "a message of more than {} bytes", most_bytes_);
    bytes_ += entry.size;
    if (entry.is_inline)
      inline_bytes += entry.size;
    else if (entry.size == 0)
      return fail(Code::kInvalidArgument, "tensor {} is empty and not inline", i);
    entries.push_back(std::move(entry));
  }
  if (!table.empty()) return fail(Code::kInvalidArgument, "{} bytes too many in a tensor table", table.size());
  if (inline_bytes > inlined.size())
    return fail(Code::kInvalidArgument, "inline tensors are cut off: {} of {} bytes", inlined.size(), inline_bytes);

  message_.meta = as_text(envelope.first(meta_size_));
  message_.tensors.reserve(entries.size());
  for (Entry& entry : entries) {
    if (!entry.is_inline) {
      message_.tensors.emplace_back(entry.dtype, std::move(entry.shape), nullptr);
      parts_.push_back({nullptr, entry.size, 0});
      continue;
    }
    std::shared_ptr<tensor::Storage> storage = TFD_TRY(make_storage(entry.dtype, entry.size));
    if (entry.size > 0) std::memcpy(storage->writable(), inlined.data(), entry.size);
    inlined = inlined.subspan(entry.size);
    message_.tensors.emplace_back(entry.dtype, std::move(entry.shape), std::move(storage));
    parts_.push_back({nullptr, entry.size, entry.size});
  }
  skip_filled();
  return {};
}

Result<std::shared_ptr<tensor::Storage>> Assembly::make_storage(tensor::DType dtype, std::size_t size) {
  try {
    std::shared_ptr<tensor::Storage> storage = tensor::SharedHeap::allocate_for(dtype, size);
    return storage ? std::move(storage) : pool_->get(size);
  } catch (const std::bad_alloc&) {  // sizes that a peer states must not end this process
    return fail(Code::kResourceExhausted, "not enough memory for a tensor of {} bytes", size);
  }
}

Result<void> Assembly::take_memory(std::size_t block) {
  Part& part = parts_[block];
  tensor::Tensor& tensor = message_.tensors[block - 1];
  std::shared_ptr<tensor::Storage> storage = TFD_TRY(make_storage(tensor.dtype(), part.size));
  part.to = storage->writable();
  tensor = tensor::Tensor(tensor.dtype(), tensor.shape(), std::move(storage));
  return {};
}

Result<std::size_t> Assembly::lent_bytes(std::uint16_t block) const {
  if (complete_ || current_ >= parts_.size() || block != current_ || block == 0 || parts_[current_].filled > 0 ||
      !tensor::is_floating(message_.tensors[block - 1u].dtype()))
    return fail(Code::kInvalidArgument, "block {} is lent where none of it can be", block);
  return parts_[current_].size;
}

void Assembly::add_lent(std::uint16_t block, std::shared_ptr<tensor::Storage> storage) {
  tensor::Tensor& tensor = message_.tensors[block - 1u];
  tensor = tensor::Tensor(tensor.dtype(), tensor.shape(), std::move(storage));
  parts_[current_].filled = parts_[current_].size;
  skip_filled();
}

void Assembly::skip_filled() {
  while (current_ < parts_.size() && parts_[current_].filled == parts_[current_].size) ++current_;
  complete_ = current_ == parts_.size();
}

Result<Assembly::Part*> Assembly::find_part(std::uint16_t block, std::uint64_t position, std::size_t size) {
  // parts_ is short after an envelope that could not be read: nothing is awaited then either.
  if (complete_ || current_ >= parts_.size() || block != current_)
    return fail(Code::kInvalidArgument, "a chunk of block {} where none of it is awaited", block);
  Part& part = parts_[current_];
  if (position != part.filled || size > part.size - part.filled)
    return fail(Code::kInvalidArgument, "a chunk of {} bytes at {} of block {}, which has {} of {}", size, position,
                block, part.filled, part.size);
  if (part.to == nullptr) TFD_TRY(take_memory(current_));
  return &part;
}

Place Assembly::place(std::uint16_t block, std::uint64_t position, std::size_t size) {
  if (block == 0) return {};
  const Result<Part*> part = find_part(block, position, size);
  if (!part) return {};
  return {{(*part)->to + position, size}, message_.tensors[block - 1u].storage()};
}

Result<void> Assembly::add(std::uint16_t block, std::uint64_t position, std::span<const std::byte> bytes) {
  Part& part = *TFD_TRY(find_part(block, position, bytes.size()));
  std::byte* const to = part.to + part.filled;
  if (bytes.data() != to) std::memcpy(to, bytes.data(), bytes.size());
  part.filled += bytes.size();
  if (part.filled < part.size) return {};
  if (block == 0) {
    const std::vector<std::byte> envelope = std::move(envelope_);
    std::span<const std::byte> nothing;
    current_ = 1;
    return read_envelope(envelope, nothing);
  }
  skip_filled();
  return {};
}

}  // namespace tfd::transport
