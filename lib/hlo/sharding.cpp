// SPDX-License-Identifier: Apache-2.0
#include "tfd/hlo/sharding.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "lexer.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::hlo {
namespace {

using tensor::Shape;
using tensor::Tensor;

constexpr std::int64_t kMostDevices = 1 << 16;  // more than any slice of a pod has

/// Saturates near 2^40: the numbers are a user's.
std::int64_t product(std::span<const std::int64_t> numbers) {
  std::int64_t out = 1;
  for (const std::int64_t number : numbers)
    if ((out *= number) > std::int64_t{1} << 40) break;
  return out;
}

bool is_split(const OpSharding& sharding) { return sharding.kind == OpSharding::Kind::kSplit; }

/// Position in a grid of the row-major index `number`.
std::vector<std::int64_t> position_in(std::span<const std::int64_t> grid, std::int64_t number) {
  std::vector<std::int64_t> out(grid.size());
  for (std::size_t i = grid.size(); i-- > 0; number /= grid[i]) out[i] = number % grid[i];
  return out;
}

int piece_on(const OpSharding& sharding, int device) {
  return sharding.order.empty() ? device : sharding.order[static_cast<std::size_t>(device)];
}

/// Offset of a device's piece in the whole value, per dimension.
std::vector<std::int64_t> start_of(const OpSharding& sharding, const Shape& piece, int device) {
  std::vector<std::int64_t> start = position_in(sharding.pieces, piece_on(sharding, device));
  for (std::size_t i = 0; i < start.size(); ++i) start[i] *= piece[i];
  return start;
}

/// Calls f(offset in the whole, offset in the piece, bytes) for each contiguous run of a piece.
template <class F>
void for_each_run(const Shape& whole, const Shape& piece, const std::vector<std::int64_t>& start, std::size_t size,
                  F f) {
  if (tensor::element_count(piece) == 0) return;
  std::size_t inner = piece.size();  // dimensions from here on are whole, and copied at once
  std::int64_t run = 1;
  while (inner > 0) {
    run *= piece[--inner];
    if (piece[inner] != whole[inner]) break;
  }
  const std::int64_t runs = tensor::element_count(piece) / run;
  const std::span<const std::int64_t> outer(piece.data(), inner);
  for (std::int64_t i = 0; i < runs; ++i) {
    const std::vector<std::int64_t> at = position_in(outer, i);
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < whole.size(); ++axis)
      offset = offset * whole[axis] + start[axis] + (axis < inner ? at[axis] : 0);
    f(static_cast<std::size_t>(offset) * size, static_cast<std::size_t>(i * run) * size,
      static_cast<std::size_t>(run) * size);
  }
}

// ---- XLA's text: {devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}

using Numbers = std::vector<std::int64_t>;

/// Takes "2,1" and the closing mark.
Result<Numbers> parse_numbers(Lexer& lexer, char end) {
  Numbers out;
  while (!lexer.accept(end)) {
    out.push_back(TFD_TRY(parse_integer(lexer.take().text, 0, kMostDevices)));
    if (out.size() > 64) return fail(Code::kInvalidArgument, "too many numbers");
    if (!lexer.accept(',') && !lexer.peek().is(end)) return fail(Code::kInvalidArgument, "a list without an end");
  }
  return out;
}

/// Devices in the order of the tiles: [4], or [2,2]T(1,0), which is transposed.
Result<std::vector<int>> parse_iota(Lexer& lexer) {
  if (!lexer.accept('[')) return fail(Code::kInvalidArgument, "no list behind '<='");
  const Numbers grid = TFD_TRY(parse_numbers(lexer, ']'));
  Numbers axes(grid.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (lexer.peek().is_word("T")) {
    lexer.take();
    if (!lexer.accept('(')) return fail(Code::kInvalidArgument, "no list behind 'T'");
    axes = TFD_TRY(parse_numbers(lexer, ')'));
  }
  Numbers sorted = axes, turned;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted.size() != grid.size() || sorted[i] != static_cast<std::int64_t>(i))
      return fail(Code::kInvalidArgument, "'T' isn't an order of the axes");
  for (const std::int64_t axis : axes) turned.push_back(grid[static_cast<std::size_t>(axis)]);
  const std::int64_t count = product(grid);
  if (count < 1 || count > kMostDevices) return fail(Code::kInvalidArgument, "{} devices", count);
  std::vector<int> out;
  for (std::int64_t i = 0; i < count; ++i) {
    const Numbers at = position_in(turned, i);
    Numbers from(grid.size());
    for (std::size_t k = 0; k < axes.size(); ++k) from[static_cast<std::size_t>(axes[k])] = at[k];
    std::int64_t device = 0;
    for (std::size_t k = 0; k < grid.size(); ++k) device = device * grid[k] + from[k];
    out.push_back(static_cast<int>(device));
  }
  return out;
}

Result<std::vector<int>> parse_device_list(Lexer& lexer) {
  std::vector<int> out;
  do {
    out.push_back(static_cast<int>(TFD_TRY(parse_integer(lexer.take().text, 0, kMostDevices))));
    if (out.size() > static_cast<std::size_t>(kMostDevices)) return fail(Code::kInvalidArgument, "too many devices");
  } while (lexer.accept(','));
  return out;
}

/// Canonical form: one piece is no split; the identity order is left out.
OpSharding simplest(OpSharding split) {
  if (product(split.pieces) == 1) return {};
  std::vector<int> plain(split.order.size());
  std::iota(plain.begin(), plain.end(), 0);
  if (split.order == plain) split.order.clear();
  return split;
}

/// `devices`: in the order of the tiles, as many of them for each piece as it takes.
Result<OpSharding> make_split(Numbers pieces, const std::vector<int>& devices) {
  const std::int64_t count = product(pieces);
  if (count < 1 || devices.empty() || static_cast<std::int64_t>(devices.size()) % count != 0)
    return fail(Code::kInvalidArgument, "{} devices for {} pieces", devices.size(), count);
  OpSharding out{OpSharding::Kind::kSplit, std::move(pieces), 0, std::vector<int>(devices.size(), -1)};
  const auto copies = static_cast<std::int64_t>(devices.size()) / count;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const int device = devices[i];
    if (device < 0 || static_cast<std::size_t>(device) >= devices.size() ||
        out.order[static_cast<std::size_t>(device)] >= 0)
      return fail(Code::kInvalidArgument, "device {} of {} is there twice, or isn't one", device, devices.size());
    out.order[static_cast<std::size_t>(device)] = static_cast<int>(static_cast<std::int64_t>(i) / copies);
  }
  return simplest(std::move(out));
}

Result<OpSharding> parse_tiles(Lexer& lexer, std::size_t rank) {
  if (!lexer.accept('=') || !lexer.accept('[')) return fail(Code::kInvalidArgument, "no list behind 'devices'");
  Numbers tiles = TFD_TRY(parse_numbers(lexer, ']'));
  std::vector<int> devices;
  if (lexer.accept('<')) {
    if (!lexer.accept('=')) return fail(Code::kInvalidArgument, "'<' without '='");
    devices = TFD_TRY(parse_iota(lexer));
  } else {
    devices = TFD_TRY(parse_device_list(lexer));
  }
  if (lexer.peek().is_word("last_tile_dim_replicate")) {
    lexer.take();
    if (!tiles.empty()) tiles.pop_back();
  } else if (lexer.peek().is_word("last_tile_dims")) {
    return fail(Code::kUnimplemented, "tiles of several kinds");
  }
  if (tiles.size() != rank)
    return fail(Code::kInvalidArgument, "{} numbers of tiles for a value of rank {}", tiles.size(), rank);
  return make_split(std::move(tiles), devices);
}

// ---- Shardy's text: @mesh, [{"data", "model"}, {}], replicated={"x"}

/// {"data", "model", ?}p0
Result<std::vector<std::string>> parse_axes(Lexer& lexer) {
  std::vector<std::string> out;
  if (!lexer.accept('{')) return fail(Code::kInvalidArgument, "a dimension without '{{'");
  while (!lexer.accept('}')) {
    const Token axis = lexer.take();
    if (axis.kind == TokenKind::kEnd) return fail(Code::kInvalidArgument, "a dimension without '}}'");
    if (axis.kind == TokenKind::kString) out.emplace_back(axis.text);
    if (lexer.peek().is(':')) return fail(Code::kUnimplemented, "a part of the axis '{}'", printable(axis.text));
    lexer.accept(',');
  }
  if (lexer.peek().kind == TokenKind::kWord) lexer.take();  // its priority
  return out;
}

}  // namespace

std::int64_t OpSharding::devices() const {
  if (kind == Kind::kAssign) return device + 1;
  return order.empty() ? product(pieces) : static_cast<std::int64_t>(order.size());
}

Result<void> check_assigned(int device, int logical_devices, bool spmd) {
  if (spmd) return fail(Code::kInvalidArgument, "nothing is assigned to a logical device under SPMD partitioning");
  if (device >= 0 && device < logical_devices) return {};
  return fail(Code::kInvalidArgument, "there is no logical device {}: a replica has {} here", device, logical_devices);
}

Result<void> check_pieces(std::span<const std::int64_t> pieces, const Shape& shape) {
  if (pieces.size() != shape.size())
    return fail(Code::kInvalidArgument, "gives pieces for {}, not {} dimensions", pieces.size(), shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] >= 0 && shape[i] % pieces[i] != 0)
      return fail(Code::kInvalidArgument, "dimension [{}]: {} doesn't divide into {} pieces", i, shape[i], pieces[i]);
  return {};
}

Result<void> check_split(std::span<const std::int64_t> pieces, const Shape& shape, int logical_devices) {
  TFD_TRY(check_pieces(pieces, shape));
  if (product(pieces) == logical_devices) return {};
  return fail(Code::kInvalidArgument, "[{}] makes {} pieces, but a replica has {} logical devices, and each has one",
              fmt::join(pieces, ", "), product(pieces), logical_devices);
}

std::string format_sharding(const OpSharding& sharding) {
  if (sharding.kind == OpSharding::Kind::kAssign) return fmt::format("{{maximal device={}}}", sharding.device);
  if (!is_split(sharding)) return "{replicated}";
  const std::int64_t count = product(sharding.pieces);
  if (sharding.order.empty()) return fmt::format("{{devices=[{}]<=[{}]}}", fmt::join(sharding.pieces, ","), count);
  std::vector<int> devices(sharding.order.size());
  std::iota(devices.begin(), devices.end(), 0);
  std::ranges::stable_sort(devices, {}, [&](int device) { return piece_on(sharding, device); });
  const std::int64_t copies = static_cast<std::int64_t>(devices.size()) / count;
  return fmt::format("{{devices=[{}{}]{}{}}}", fmt::join(sharding.pieces, ","),
                     copies > 1 ? fmt::format(",{}", copies) : "", fmt::join(devices, ","),
                     copies > 1 ? " last_tile_dim_replicate" : "");
}

Result<OpSharding> parse_sharding_text(std::string_view text, std::size_t rank) {
  Lexer lexer(text);
  if (!lexer.accept('{')) return fail(Code::kInvalidArgument, "no '{{'");
  const Token kind = lexer.take();
  OpSharding out;
  if (kind.is_word("devices"))
    out = TFD_TRY(parse_tiles(lexer, rank));
  else if (kind.is_word("maximal") || kind.is_word("manual"))
    return fail(Code::kUnimplemented, "{}", kind.text);
  else if (!kind.is_word("replicated"))
    return fail(Code::kInvalidArgument, "'{}' is none of replicated, devices, maximal and manual",
                printable(kind.text.substr(0, 40)));
  if (!lexer.accept('}')) return fail(Code::kInvalidArgument, "no '}}' behind '{}'", kind.text);
  return out;
}

Result<Mesh> parse_mesh(std::string_view inside) {
  Lexer lexer(inside);
  Mesh mesh;
  std::int64_t devices = 1;
  if (!lexer.accept('[')) return fail(Code::kInvalidArgument, "a mesh without '['");
  while (!lexer.accept(']')) {
    const Token name = lexer.take();
    if (name.kind != TokenKind::kString || !lexer.accept('='))
      return fail(Code::kInvalidArgument, "an axis of a mesh isn't \"name\"=size");
    const std::int64_t size = TFD_TRY(parse_integer(lexer.take().text, 1, kMostDevices));
    devices *= size;
    if (devices > kMostDevices) return fail(Code::kInvalidArgument, "a mesh of too many devices");
    mesh.emplace_back(name.text, size);
    lexer.accept(',');
  }
  if (lexer.peek().kind != TokenKind::kEnd) return fail(Code::kUnimplemented, "a mesh with an order of its own");
  return mesh;
}

Result<OpSharding> parse_shardy(std::string_view inside, const std::map<std::string, Mesh, std::less<>>& meshes,
                                std::size_t rank) {
  Lexer lexer(inside);
  const Token name = lexer.take();
  const auto mesh = name.kind == TokenKind::kSymbol ? meshes.find(name.text) : meshes.end();
  if (mesh == meshes.end())
    return fail(Code::kUnimplemented, "a mesh that isn't one of the module's: '{}'",
                printable(name.text.substr(0, 40)));
  if (!lexer.accept(',') || !lexer.accept('[')) return fail(Code::kInvalidArgument, "no list behind the mesh");
  std::vector<std::vector<std::string>> axes;
  while (!lexer.accept(']')) {
    axes.push_back(TFD_TRY(parse_axes(lexer)));
    if (axes.size() > rank) break;
    lexer.accept(',');
  }
  if (axes.size() != rank)
    return fail(Code::kInvalidArgument, "axes for {} dimensions of a value of rank {}", axes.size(), rank);
  Numbers grid, pieces(rank, 1);
  for (const auto& axis : mesh->second) grid.push_back(axis.second);
  std::vector<std::vector<std::size_t>> by_dimension(rank);  // positions in the mesh, major to minor
  for (std::size_t i = 0; i < rank; ++i)
    for (const std::string& axis : axes[i]) {
      const auto found = std::ranges::find(mesh->second, axis, &std::pair<std::string, std::int64_t>::first);
      if (found == mesh->second.end())
        return fail(Code::kInvalidArgument, "the mesh has no axis '{}'", printable(axis));
      const auto position = static_cast<std::size_t>(found - mesh->second.begin());
      for (const auto& used : by_dimension)
        if (std::ranges::find(used, position) != used.end())
          return fail(Code::kInvalidArgument, "the axis '{}' is used twice", printable(axis));
      by_dimension[i].push_back(position);
      pieces[i] *= found->second;
      if (pieces[i] > kMostDevices) return fail(Code::kInvalidArgument, "too many pieces");
    }
  OpSharding out{OpSharding::Kind::kSplit, pieces, 0, {}};
  for (std::int64_t device = 0; device < product(grid); ++device) {
    const Numbers at = position_in(grid, device);
    std::int64_t piece = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      std::int64_t along = 0;
      for (const std::size_t axis : by_dimension[i]) along = along * grid[axis] + at[axis];
      piece = piece * pieces[i] + along;
    }
    out.order.push_back(static_cast<int>(piece));
  }
  return simplest(std::move(out));
}

Shape shape_of_piece(const OpSharding& sharding, const Shape& shape) {
  if (!is_split(sharding)) return shape;
  Shape out = shape;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] /= sharding.pieces[i];
  return out;
}

Tensor piece_of(const Tensor& value, const OpSharding& sharding, int device) {
  if (!is_split(sharding)) return value;
  const Shape piece = shape_of_piece(sharding, value.shape());
  const auto start = start_of(sharding, piece, device);
  Tensor out = Tensor::uninitialized(value.dtype(), piece);
  std::byte* const to = out.mutable_data();
  for_each_run(
      value.shape(), piece, start, tensor::dtype_size(value.dtype()),
      [&](std::size_t from, std::size_t at, std::size_t bytes) { std::memcpy(to + at, value.data() + from, bytes); });
  return out;
}

Tensor join_pieces(std::span<const Tensor> pieces, const OpSharding& sharding, const tensor::TensorSpec& spec) {
  if (!is_split(sharding)) return pieces[0];
  const Shape piece = shape_of_piece(sharding, spec.shape);
  Tensor out = Tensor::uninitialized(spec.dtype, spec.shape);
  std::byte* const to = out.mutable_data();
  std::vector<bool> done(static_cast<std::size_t>(product(sharding.pieces)));
  for (std::size_t device = 0; device < pieces.size(); ++device) {
    const auto number = static_cast<std::size_t>(piece_on(sharding, static_cast<int>(device)));
    if (done[number]) continue;
    done[number] = true;
    const std::byte* const data = pieces[device].data();
    for_each_run(
        spec.shape, piece, start_of(sharding, piece, static_cast<int>(device)), tensor::dtype_size(spec.dtype),
        [&](std::size_t offset, std::size_t at, std::size_t bytes) { std::memcpy(to + offset, data + at, bytes); });
  }
  return out;
}

}  // namespace tfd::hlo
