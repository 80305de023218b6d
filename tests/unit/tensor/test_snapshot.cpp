// SPDX-License-Identifier: Apache-2.0
#include "tfd/tensor/snapshot.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

using namespace tfd;
using tensor::DType;
using tensor::Tensor;

namespace {

constexpr std::int64_t kRows = 5000, kWidth = 33;  // 660 kB; rows lie across the groups of saved pieces

Tensor counting(std::int64_t rows = kRows) {
  Tensor out = Tensor::uninitialized(DType::kS32, {rows, kWidth});
  std::iota(out.mutable_as<std::int32_t>(), out.mutable_as<std::int32_t>() + out.size(), 0);
  return out;
}

void change(Tensor& live, const std::vector<std::int64_t>& rows, std::int32_t value) {
  auto* const to = reinterpret_cast<std::int32_t*>(tensor::rows_to_change(live, rows));
  for (const std::int64_t row : rows) std::fill_n(to + row * kWidth, kWidth, value);
}

/// The snapshot, read in pieces of `piece` bytes.
Tensor read_in_pieces(const Tensor& snapshot, std::size_t piece) {
  Tensor out = Tensor::uninitialized(snapshot.dtype(), snapshot.shape());
  std::vector<std::byte> into(piece);
  for (std::size_t at = 0; at < snapshot.byte_size(); at += piece) {
    const std::size_t size = std::min(piece, snapshot.byte_size() - at);
    const auto bytes = tensor::read_snapshot(snapshot, at, std::span(into).first(size));
    std::ranges::copy(bytes, out.mutable_data() + at);
  }
  return out;
}

}  // namespace

TEST_CASE("snapshot: rows change where they lie, and the snapshot is what was") {
  Tensor live = counting();
  const std::byte* const place = live.data();
  const Tensor snapshot = tensor::take_snapshot(live);
  change(live, {7, 0, 4999}, -1);
  change(live, {7, 1986}, -2);
  CHECK(live.data() == place);
  CHECK(live.as<std::int32_t>()[7 * kWidth] == -2);
  CHECK(live.as<std::int32_t>()[4999 * kWidth + 32] == -1);
  CHECK(live.as<std::int32_t>()[8 * kWidth] == 8 * kWidth);
  CHECK(same_bytes(tensor::whole_snapshot(snapshot), counting()));
  for (const std::size_t piece : {std::size_t{256} << 10, std::size_t{100'000}, std::size_t{4097}})
    CHECK(same_bytes(read_in_pieces(snapshot, piece), counting()));
}

TEST_CASE(
    "snapshot: once it is no longer read the tensor is its owner's alone, and the next one is of what it is then") {
  Tensor live = counting();
  const std::byte* const place = live.data();
  {
    const Tensor snapshot = tensor::take_snapshot(live);
    CHECK(!live.is_sole_owner());
    change(live, {3}, -1);
  }
  CHECK(live.is_sole_owner());
  change(live, {4}, -1);
  const Tensor snapshot = tensor::take_snapshot(live);
  change(live, {3, 5}, -9);
  CHECK(live.data() == place);
  Tensor expected = counting();
  change(expected, {3, 4}, -1);
  CHECK(same_bytes(tensor::whole_snapshot(snapshot), expected));
}

TEST_CASE("snapshot: with another owner besides, and for a second snapshot, the whole tensor is copied") {
  Tensor live = counting();
  const Tensor snapshot = tensor::take_snapshot(live);
  const Tensor reader = live;
  const std::byte* const place = live.data();
  change(live, {1}, -1);
  CHECK(live.data() != place);
  CHECK(same_bytes(reader, counting()));
  CHECK(same_bytes(tensor::whole_snapshot(snapshot), counting()));

  Tensor twice = counting();
  const Tensor first = tensor::take_snapshot(twice);
  change(twice, {1}, -1);
  const Tensor second = tensor::take_snapshot(twice);
  change(twice, {1, 2}, -2);
  Tensor expected = counting();
  CHECK(same_bytes(tensor::whole_snapshot(first), expected));
  change(expected, {1}, -1);
  CHECK(same_bytes(tensor::whole_snapshot(second), expected));
}

TEST_CASE("snapshot: what is small or a part of a larger buffer is simply shared") {
  Tensor small = counting(10);
  const Tensor snapshot = tensor::take_snapshot(small);
  CHECK(snapshot.data() == small.data());
  change(small, {0}, -1);
  CHECK(same_bytes(snapshot, counting(10)));
  Tensor part = counting().slice_rows(1000, 2000);
  const Tensor of_part = tensor::take_snapshot(part);
  CHECK(of_part.data() == part.data());
}

TEST_CASE("snapshot: a reader sees what was, whatever another thread changes meanwhile") {
  Tensor live = counting();
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    const Tensor expected = Tensor(live).unshared();
    Tensor snapshot = tensor::take_snapshot(live);
    std::atomic<bool> is_over = false;
    std::thread changing([&] {
      for (int i = 0; i < 200 || !is_over; ++i) {
        const auto row = static_cast<std::int64_t>(random() % kRows);
        change(live, {row, (row + 1) % kRows}, static_cast<std::int32_t>(random()));
      }
    });
    CHECK(same_bytes(read_in_pieces(snapshot, std::size_t{64} << 10), expected));
    snapshot = Tensor();  // while rows go on changing
    is_over = true;
    changing.join();
  }
}
