#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A set and a map of numbers that are handed out in ascending order and removed in about that order, such as ids of
// requests in flight. Hundreds or thousands of adjacent numbers share a block of memory, which is freed or reused when
// its last number is removed. A long-lived number keeps only its own block. Thread rule: thread-compatible.
#include <array>
#include <bitset>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tfd {

/// The block of this index: a new one takes the place of the spare one, if there is any.
template <class Blocks>
typename Blocks::mapped_type& find_or_make(Blocks& blocks, typename Blocks::node_type& spare, std::uint64_t index) {
  if (const auto found = blocks.find(index); found != blocks.end()) return found->second;
  if (!spare) return blocks[index];
  spare.key() = index;
  return blocks.insert(std::move(spare)).position->second;
}

class NumberSet {
 public:
  bool contains(std::uint64_t number) const {
    const auto found = blocks_.find(number / kBlock);
    return found != blocks_.end() && found->second.has[number % kBlock];
  }
  /// Returns false if the number was already in the set.
  bool insert(std::uint64_t number) {
    Block& block = find_or_make(blocks_, spare_, number / kBlock);
    if (block.has[number % kBlock]) return false;
    block.has.set(number % kBlock);
    ++block.count;
    ++size_;
    return true;
  }
  /// Returns false if the number wasn't in the set.
  bool erase(std::uint64_t number) {
    const auto found = blocks_.find(number / kBlock);
    if (found == blocks_.end() || !found->second.has[number % kBlock]) return false;
    found->second.has.reset(number % kBlock);
    --size_;
    if (--found->second.count == 0) spare_ = blocks_.extract(found);
    return true;
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() { *this = NumberSet(); }
  /// All of them, in no order.
  std::vector<std::uint64_t> all() const {
    std::vector<std::uint64_t> out;
    for (const auto& [index, block] : blocks_)
      for (std::size_t i = 0; i < kBlock; ++i)
        if (block.has[i]) out.push_back(index * kBlock + i);
    return out;
  }

 private:
  static constexpr std::size_t kBlock = 4096;
  struct Block {
    std::bitset<kBlock> has;
    std::size_t count = 0;
  };
  using Blocks = std::unordered_map<std::uint64_t, Block>;
  Blocks blocks_;
  Blocks::node_type spare_;  // an empty block
  std::size_t size_ = 0;
};

/// Pointers by number; a null one is none.
template <class Pointer>
class NumberMap {
 public:
  void put(std::uint64_t number, Pointer value) {
    assert(value);
    Block& block = find_or_make(blocks_, spare_, number / kBlock);
    Pointer& place = block.values[number % kBlock];
    block.count += place ? 0 : 1;
    place = std::move(value);
  }
  /// Null: there is none.
  const Pointer& find(std::uint64_t number) const {
    static const Pointer kNone{};
    const auto found = blocks_.find(number / kBlock);
    return found == blocks_.end() ? kNone : found->second.values[number % kBlock];
  }
  /// Removes and returns it; null: there is none.
  Pointer take(std::uint64_t number) {
    const auto found = blocks_.find(number / kBlock);
    if (found == blocks_.end()) return {};
    Pointer value = std::exchange(found->second.values[number % kBlock], Pointer{});
    if (value && --found->second.count == 0) spare_ = blocks_.extract(found);
    return value;
  }
  /// Calls `each` for every pointer, in no order.
  template <class Each>
  void for_each(const Each& each) const {
    for (const auto& [index, block] : blocks_)
      for (const Pointer& value : block.values)
        if (value) each(value);
  }

 private:
  static constexpr std::size_t kBlock = 256;
  struct Block {
    std::array<Pointer, kBlock> values{};
    std::size_t count = 0;
  };
  using Blocks = std::unordered_map<std::uint64_t, Block>;
  Blocks blocks_;
  typename Blocks::node_type spare_;  // an empty block
};

}  // namespace tfd
