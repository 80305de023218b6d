// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/bytes.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <map>

namespace tfd::bytes_test {

enum class Color : std::uint8_t { kRed, kBlue };
constexpr Color last_value(Color) { return Color::kBlue; }

struct Point {
  std::int32_t x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};
template <class Io>
void fields(Io& io, Point& point) {
  io(point.x, point.y);
}

struct Everything {
  std::uint16_t number = 0;
  std::int64_t negative = 0;
  double real = 0;
  bool flag = false;
  Color color = Color::kRed;
  std::string text;
  std::chrono::nanoseconds time{};
  std::array<std::byte, 2> raw{};
  std::optional<std::uint32_t> absent, present;
  std::pair<std::string, Point> pair;
  std::vector<double> reals;
  std::vector<Point> points;
  std::map<std::string, std::vector<std::string>> map;
  std::variant<Point, std::string> variant;
  friend bool operator==(const Everything&, const Everything&) = default;
};
template <class Io>
void fields(Io& io, Everything& all) {
  io(all.number, all.negative, all.real, all.flag, all.color, all.text, all.time, all.raw, all.absent, all.present);
  io(all.pair, all.reals, all.points, all.map, all.variant);
}

Everything some() {
  Everything out;
  out.number = 0x1234;
  out.negative = -2;
  out.real = 0.5;
  out.flag = true;
  out.color = Color::kBlue;
  out.text = "ab";
  out.time = std::chrono::seconds(1);
  out.raw = {std::byte{7}, std::byte{8}};
  out.present = 9;
  out.pair = {"p", {1, -1}};
  out.reals = {1, -0.25};
  out.points = {{1, 2}, {3, 4}};
  out.map = {{"a", {"b", "c"}}, {"d", {}}};
  out.variant = "v";
  return out;
}

std::string bytes_of(const auto&... values) {
  ByteWriter out;
  out(values...);
  return out.take_bytes();
}

/// Reads a T; its value and whether it was well-formed.
template <class T>
std::pair<T, bool> read(std::string_view bytes) {
  ByteReader in(bytes);
  T value = in.read<T>();
  return {std::move(value), in.end("test").has_value()};
}

TEST_CASE("bytes: numbers are little-endian, strings and lists follow their count") {
  CHECK(bytes_of(std::uint16_t{0x1234}, std::int64_t{-2}, true, Color::kBlue, "ab") ==
        std::string("\x34\x12\xfe\xff\xff\xff\xff\xff\xff\xff\x01\x01\x02\x00\x00\x00"
                    "ab",
                    18));
  CHECK(bytes_of(1.0, std::vector<std::uint16_t>{1, 2}) ==
        std::string("\0\0\0\0\0\0\xf0\x3f\x02\0\0\0\x01\0\x02\0", 16));
  CHECK(bytes_of(std::optional<bool>(), std::optional(true), Point{1, 2}) ==
        std::string("\0\1\1\x01\0\0\0\x02\0\0\0", 11));
  CHECK(bytes_of(std::variant<Point, std::string>("v")) == std::string("\1\x01\0\0\0v", 6));
}

TEST_CASE("bytes: a value is read as it was written") {
  const Everything all = some();
  CHECK(read<Everything>(bytes_of(all)) == std::pair(all, true));
  CHECK(read<Everything>(bytes_of(Everything())) == std::pair(Everything(), true));
}

TEST_CASE("bytes: a value that is cut off at any byte, or followed by another, is an error") {
  const std::string bytes = bytes_of(some());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(read<Everything>(std::string_view(bytes).substr(0, size)).second);
  ByteReader longer(std::string_view("\1\2", 2));
  CHECK(longer.read<std::uint8_t>() == 1);
  CHECK(longer.end("short").error().code == Code::kInvalidArgument);
  CHECK(longer.end("short").error().message == "malformed short message");
}

TEST_CASE("bytes: what is missing or malformed reads as zero") {
  CHECK(read<std::uint32_t>("abc") == std::pair(std::uint32_t{0}, false));
  CHECK(read<bool>("\2") == std::pair(false, false));
  CHECK(read<Color>("\2") == std::pair(Color::kRed, false));
  CHECK(read<std::string>(std::string_view("\x05\0\0\0abcd", 8)) == std::pair(std::string(), false));
  CHECK(read<std::optional<bool>>("\2").second == false);
  CHECK(read<std::variant<Point, std::string>>("\2").second == false);
  CHECK(read<std::array<std::byte, 2>>("a") == std::pair(std::array<std::byte, 2>(), false));
  ByteReader in("\2\7");
  CHECK_FALSE(in.read<bool>());
  CHECK(in.read<std::uint8_t>() == 0);  // nothing is read after an error
  CHECK_FALSE(in.is_good());
}

TEST_CASE("bytes: a count is bounded by the bytes that are left") {
  const std::string_view most("\xff\xff\xff\xff", 4);
  CHECK(read<std::string>(most) == std::pair(std::string(), false));
  CHECK(read<std::vector<double>>(most) == std::pair(std::vector<double>(), false));
  CHECK(read<std::vector<Point>>(most) == std::pair(std::vector<Point>(), false));
  CHECK(read<std::map<std::string, bool>>(most).second == false);
  // Two elements of eight bytes each don't fit into ten.
  CHECK(read<std::vector<double>>(std::string_view("\2\0\0\0abcdefghij", 14)) ==
        std::pair(std::vector<double>(), false));
  // A thousand elements of eight bytes don't fit into a thousand bytes: the list stops where they end.
  std::string bytes = bytes_of(std::uint32_t{1000}) + std::string(1000, '\0');
  const auto [points, is_good] = read<std::vector<Point>>(bytes);
  CHECK_FALSE(is_good);
  CHECK(points.size() <= 1000 / 8 + 1);
}

TEST_CASE("bytes: a map has each key once") {
  CHECK_FALSE(read<std::map<std::string, bool>>(std::string_view("\2\0\0\0\1\0\0\0a\1\1\0\0\0a\1", 16)).second);
  CHECK(read<std::map<std::string, bool>>(std::string_view("\2\0\0\0\1\0\0\0a\1\1\0\0\0b\1", 16)).second);
}

TEST_CASE("bytes: tags of alternatives may have gaps") {
  constexpr std::array<std::uint8_t, 2> kTags{3, 7};
  ByteWriter out;
  out.tagged(std::variant<bool, Color>(Color::kBlue), kTags);
  CHECK(out.bytes() == "\7\1");
  std::variant<bool, Color> value;
  ByteReader in(out.bytes());
  in.tagged(value, kTags);
  CHECK(in.is_at_end());
  CHECK(std::get<Color>(value) == Color::kBlue);
  ByteReader other("\1\1");
  other.tagged(value, kTags);
  CHECK_FALSE(other.is_good());
}

}  // namespace tfd::bytes_test
