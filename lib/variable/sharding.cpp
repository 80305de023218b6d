// SPDX-License-Identifier: Apache-2.0
#include "tfd/variable/sharding.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "elements.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::variable {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

Tensor index_tensor(const std::vector<std::int64_t>& indices) {
  Tensor out = Tensor::uninitialized(DType::kS64, {static_cast<std::int64_t>(indices.size())});
  std::copy(indices.begin(), indices.end(), out.mutable_as<std::int64_t>());
  return out;
}

}  // namespace

Result<RowSlice> parse_row_slice(std::string_view text) {
  const std::vector<std::string> words = split(text, ':');
  std::array<std::optional<std::int64_t>, 3> numbers;
  bool is_slice = words.size() == 2 || words.size() == 3;
  for (std::size_t i = 0; is_slice && i < words.size(); ++i) {
    if (words[i].empty()) continue;
    const bool below = words[i].front() == '-';
    const auto number = parse_integer(std::string_view(words[i]).substr(below ? 1 : 0), 0, INT64_MAX);
    is_slice = number.has_value();
    if (is_slice) numbers[i] = below ? -*number : *number;
  }
  if (is_slice) return RowSlice{numbers[0], numbers[1], numbers[2].value_or(1)};
  return fail(Code::kInvalidArgument, "'{}' is not a slice (e.g. 10:20, :-1 or ::2)", printable(text));
}

Result<std::vector<std::int64_t>> rows_of(const RowSlice& slice, std::int64_t count) {
  if (slice.step == 0) return fail(Code::kInvalidArgument, "a slice's step can't be 0");
  const bool up = slice.step > 0;
  const std::int64_t least = up ? 0 : -1, most = up ? count : count - 1;
  const auto place = [&](std::optional<std::int64_t> at, std::int64_t fallback) {
    if (!at) return fallback;
    return std::clamp(*at < 0 ? *at + count : *at, least, most);
  };
  const std::int64_t start = place(slice.start, up ? 0 : count - 1), stop = place(slice.stop, up ? count : -1);
  std::vector<std::int64_t> rows;
  for (std::int64_t row = start; up ? row < stop : row > stop; row += slice.step) {
    rows.push_back(row);
    if (slice.step > count || slice.step < -count) break;  // no overflow
  }
  return rows;
}

std::string shard_name(std::string_view variable, std::int64_t shard) {
  return fmt::format("{}/part_{}", variable, shard);
}

Result<Sharding> Sharding::make(Shape shape, std::int64_t shards) {
  const bool fits = shards == 1 || (shards > 1 && !shape.empty() && shards <= shape[0]);
  if (!fits)
    return fail(Code::kInvalidArgument, "a variable of shape {} can't be in {} shards", tensor::format_shape(shape),
                shards);
  Sharding out(std::move(shape));
  out.count_ = shards;
  return out;
}

std::int64_t Sharding::first_row(std::int64_t shard) const {
  const std::int64_t rows = shape_.empty() ? 1 : shape_[0];
  return rows / count_ * shard + std::min(shard, rows % count_);
}

Shape Sharding::shard_shape(std::int64_t shard) const {
  Shape out = shape_;
  if (!out.empty()) out[0] = rows(shard);
  return out;
}

Sharding::Place Sharding::locate(std::int64_t row) const {
  const std::int64_t each = shape_[0] / count_, longer = shape_[0] % count_;
  const std::int64_t in_longer = longer * (each + 1);
  const std::int64_t shard = row < in_longer ? row / (each + 1) : longer + (row - in_longer) / each;
  return {shard, row - first_row(shard)};
}

Result<std::vector<Sharding::ShardRows>> Sharding::split(const Tensor& indices) const {
  if (shape_.empty()) return fail(Code::kInvalidArgument, "a scalar has no rows");
  const auto rows = TFD_TRY(read_indices(indices, shape_[0]));
  std::vector<std::vector<std::int64_t>> local(static_cast<std::size_t>(count_));
  std::vector<ShardRows> shares(local.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Place place = locate(rows[i]);
    const auto shard = static_cast<std::size_t>(place.shard);
    local[shard].push_back(place.row);
    shares[shard].positions.push_back(static_cast<std::int64_t>(i));
  }
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i].indices = index_tensor(local[i]);
  return shares;
}

Result<Tensor> Sharding::join(const std::vector<ShardRows>& shares, const std::vector<Tensor>& parts) const {
  if (shares.size() != parts.size() || parts.empty())
    return fail(Code::kInvalidArgument, "{} parts of {} shards", parts.size(), shares.size());
  Shape shape = shape_;
  shape[0] = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Shape wanted = shape_;
    wanted[0] = static_cast<std::int64_t>(shares[i].positions.size());
    if (!parts[i].has_value() || parts[i].shape() != wanted || parts[i].dtype() != parts[0].dtype())
      return fail(Code::kInvalidArgument, "the rows of shard {} are {}, but must be {}", i,
                  format_spec(parts[i].spec()), tensor::format_spec({parts[0].dtype(), wanted}));
    shape[0] += wanted[0];
  }
  Tensor out = Tensor::uninitialized(parts[0].dtype(), shape);
  const std::size_t size = shape[0] == 0 ? 0 : out.byte_size() / static_cast<std::size_t>(shape[0]);
  std::byte* const to = out.mutable_data();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::byte* from = parts[i].data();
    for (const std::int64_t position : shares[i].positions) {
      if (size > 0) std::memcpy(to + static_cast<std::size_t>(position) * size, from, size);
      from += size;
    }
  }
  return out;
}

}  // namespace tfd::variable
