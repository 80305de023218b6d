// SPDX-License-Identifier: Apache-2.0
//
// Numbers of csv files, against std::from_chars.
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "kit.hpp"
#include "sources/decimal.hpp"

using namespace tfd;
using namespace tfd::data;

namespace {

template <class T>
void check_same(const std::string& text) {
  T ours{42}, theirs{42};
  const char *first = text.data(), *last = first + text.size();
  const auto got = parse_decimal(first, last, ours);
  const auto expected = std::from_chars(first, last, theirs);
  CAPTURE(text);
  REQUIRE(got.ptr - first == expected.ptr - first);
  REQUIRE((got.ec == expected.ec));
  const bool same = std::memcmp(&ours, &theirs, sizeof(T)) == 0;
  REQUIRE(same);
}

void check_both(const std::string& text) {
  check_same<float>(text);
  check_same<double>(text);
}

}  // namespace

TEST_CASE("decimal: what from_chars makes of it, whatever it is") {
  for (const char* text : {"",
                           "-",
                           ".",
                           "-.",
                           "1",
                           "-0",
                           "0.0",
                           "1.",
                           ".5",
                           "-.5",
                           "+1",
                           "1e5",
                           "1.5E-3",
                           "1x",
                           "1,2",
                           "1..2",
                           "0x10",
                           "inf",
                           "nan",
                           "-nan",
                           "1e",
                           "123456789012345",
                           "1234567890123456",
                           "0.00000000000001",
                           "0.000000000000001",
                           "99999999999999999999999",
                           "1 ",
                           " 1",
                           "--1",
                           "1e400",
                           "16777217",
                           "16777217.0000001",
                           "9007199254740993"})
    check_both(text);
}

TEST_CASE("decimal: rounds as from_chars does, between two floats too") {
  const auto seed = draw_seed();
  CAPTURE(seed);
  std::mt19937_64 draw(seed);
  for (int i = 0; i < 20000; ++i) {
    const auto digits = static_cast<int>(draw() % 15);
    const auto number =
        static_cast<double>(draw() % 1000000000000000) / std::pow(10.0, static_cast<double>(draw() % 16));
    check_both(fmt::format("{}{:.{}f}", draw() % 2 ? "-" : "", number, digits));
    // The middle of two floats, which few digits can say, and the values beside it.
    const auto bits = static_cast<std::uint32_t>((127U << 23) + draw() % (24U << 23));
    const auto low = static_cast<double>(std::bit_cast<float>(bits)),
               high = static_cast<double>(std::bit_cast<float>(bits + 1));
    check_both(fmt::format("{:.{}f}", (low + high) / 2, draw() % 10));
  }
}
