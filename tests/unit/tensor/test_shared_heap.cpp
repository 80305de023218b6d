// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>

#include "tfd/tensor/shared_heap.hpp"

namespace tfd::tensor {
namespace {

constexpr std::size_t kMega = std::size_t{1} << 20;

std::uint64_t offset_of(const std::shared_ptr<Storage>& storage, std::size_t bytes = 1) {
  return SharedHeap::find()->find_offset({storage->data(), bytes}).value();
}

}  // namespace

TEST_CASE("shared heap: large tensors of floats lie there, others don't") {
  SharedHeap* const heap = SharedHeap::make();
  REQUIRE(heap != nullptr);
  CHECK(heap == SharedHeap::make());
  const auto lies_there = [&](DType dtype, std::int64_t count) {
    const Tensor made = Tensor::uninitialized(dtype, {count}), zeros = Tensor::zeros(dtype, {count});
    CHECK(heap->find_offset(made.bytes()).has_value() == heap->find_offset(zeros.bytes()).has_value());
    return heap->find_offset(made.bytes()).has_value();
  };
  CHECK(lies_there(DType::kF32, 65'536));
  CHECK(lies_there(DType::kBF16, 200'000));
  CHECK(lies_there(DType::kF64, 1'000'000));
  CHECK(!lies_there(DType::kF32, 65'535));
  CHECK(!lies_there(DType::kS32, 1'000'000));
  CHECK(!lies_there(DType::kU8, 1'000'000));
}

TEST_CASE("shared heap: who has the file reads what is written, and can't write") {
  SharedHeap* const heap = SharedHeap::make();
  const auto block = heap->allocate(kMega);
  std::memset(block->writable(), 7, kMega);
  const auto other = BorrowedHeap::map(heap->descriptor()).value();
  const auto seen = other->find(offset_of(block), kMega).value();
  CHECK(std::memcmp(seen.data(), block->data(), kMega) == 0);
  CHECK(seen.data() != block->data());
  CHECK((::fcntl(heap->descriptor(), F_GETFL) & O_ACCMODE) == O_RDONLY);
  CHECK(::mmap(nullptr, kMega, PROT_READ | PROT_WRITE, MAP_SHARED, heap->descriptor(), 0) == MAP_FAILED);
}

TEST_CASE("shared heap: a buffer that comes back is used again, with zeros where they are asked for") {
  SharedHeap* const heap = SharedHeap::make();
  auto block = heap->allocate(3 * kMega);
  const std::uint64_t at = offset_of(block);
  std::memset(block->writable(), 1, 3 * kMega);
  block.reset();
  block = heap->allocate(3 * kMega);
  CHECK(offset_of(block) == at);
  block.reset();
  block = heap->allocate(3 * kMega, true);
  CHECK(offset_of(block) == at);
  CHECK(std::all_of(block->data(), block->data() + 3 * kMega, [](std::byte b) { return b == std::byte{}; }));
}

TEST_CASE("shared heap: what is idle is bounded, and the rest goes back to the system and is zeros") {
  SharedHeap* const heap = SharedHeap::make();
  const std::size_t used = heap->used_bytes();
  std::vector<std::shared_ptr<Storage>> blocks;
  for (int i = 0; i < 20; ++i) {
    blocks.push_back(heap->allocate(10 * kMega));
    std::memset(blocks.back()->writable(), 1, 10 * kMega);
  }
  CHECK(heap->used_bytes() == used + 200 * kMega);
  SUBCASE("in order") {}
  SUBCASE("the other way round") { std::reverse(blocks.begin(), blocks.end()); }
  for (auto& block : blocks) block.reset();
  CHECK(heap->used_bytes() == used);
  CHECK(heap->idle_bytes() <= 64 * kMega);
  const auto whole = heap->allocate(140 * kMega);  // ranges side by side are one again, or there is another
  REQUIRE(whole != nullptr);
  CHECK(std::all_of(whole->data(), whole->data() + 140 * kMega, [](std::byte b) { return b == std::byte{}; }));
}

TEST_CASE("shared heap: versions of a variable that is larger than what may be idle take turns") {
  SharedHeap* const heap = SharedHeap::make();
  auto now = heap->allocate(100 * kMega);
  auto next = heap->allocate(100 * kMega);
  const std::uint64_t first = offset_of(now), second = offset_of(next);
  for (int i = 0; i < 4; ++i) {
    now = std::exchange(next, nullptr);
    next = heap->allocate(100 * kMega);
    CHECK(offset_of(next) == (i % 2 == 0 ? first : second));
  }
  now.reset();
  next.reset();
  CHECK(heap->idle_bytes() <= 200 * kMega);
}

TEST_CASE("shared heap: more than there is can't be had, and bytes elsewhere aren't there") {
  SharedHeap* const heap = SharedHeap::make();
  CHECK(heap->allocate(std::size_t{1} << 50) == nullptr);
  CHECK(heap->allocate(0) == nullptr);
  const std::byte here{};
  CHECK(!heap->find_offset({&here, 1}));
  const auto block = heap->allocate(kMega);
  CHECK(!heap->find_offset({block->data(), std::size_t{1} << 50}));
  const auto other = BorrowedHeap::map(heap->descriptor()).value();
  CHECK(!other->find(std::uint64_t{1} << 50, 1));
  CHECK(!other->find(0, std::size_t{1} << 50));
}

}  // namespace tfd::tensor
