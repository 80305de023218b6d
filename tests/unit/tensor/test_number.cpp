// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "tfd/tensor/json.hpp"
#include "tfd/tensor/number.hpp"

using namespace tfd;
using namespace tfd::tensor;

namespace {

template <class T>
std::string read(std::string_view text, DType dtype) {
  T value{};
  switch (parse_number(text, dtype, reinterpret_cast<std::byte*>(&value))) {
    case NumberFit::kOk:
      return fmt::format("{}", value);
    case NumberFit::kNotANumber:
      return "not a number";
    case NumberFit::kNotWhole:
      return "not whole";
    case NumberFit::kDoesNotFit:
      return "does not fit";
  }
  return "";
}

}  // namespace

TEST_CASE("number: a whole number is exact however it is written, and nothing else is one") {
  const auto s64 = [](std::string_view text) { return read<std::int64_t>(text, DType::kS64); };
  for (const char* two : {"2", "+2", "2.0", "2.", "2e0", "20e-1", "0.2e1", "2.000000000000000000e+00"}) {
    CAPTURE(two);
    CHECK(s64(two) == "2");
    CHECK(read<std::uint32_t>(two, DType::kU8) == "2");
  }
  CHECK(s64("9007199254740993") == "9007199254740993");
  CHECK(s64("9007199254740993.0") == "9007199254740993");
  CHECK(s64("9007199254740993e0") == "9007199254740993");
  CHECK(s64("9223372036854775807.0") == "9223372036854775807");
  CHECK(s64("-9223372036854775808.0") == "-9223372036854775808");
  CHECK(s64("9223372036854775808.0") == "does not fit");
  CHECK(s64("1e18") == "1000000000000000000");
  CHECK(s64("1e19") == "does not fit");
  CHECK(s64("1e400") == "does not fit");
  CHECK(s64("1e99999999999999999999") == "does not fit");
  CHECK(s64("0e99999999999999999999") == "0");
  CHECK(s64("-0.0") == "0");
  CHECK(s64("2.5") == "not whole");
  CHECK(s64("1e-400") == "not whole");
  CHECK(s64("2.0000000000000000001") == "not whole");
  CHECK(s64("NaN") == "does not fit");
  CHECK(s64("Infinity") == "does not fit");
  for (const char* none : {"", "+", "-", "+-2", "0x10", "1_000", "2,0", "2 ", "two", "e5"})
    CHECK(s64(none) == "not a number");
  CHECK(read<std::uint64_t>("18446744073709551615.0", DType::kU64) == "18446744073709551615");
  CHECK(read<std::uint64_t>("-1", DType::kU64) == "does not fit");
  CHECK(read<std::uint64_t>("-0", DType::kU64) == "0");
  CHECK(read<std::uint8_t>("1.0", DType::kBool) == "1");
  CHECK(read<std::uint8_t>("False", DType::kBool) == "0");
  CHECK(read<std::uint8_t>("2", DType::kBool) == "does not fit");
}

TEST_CASE("number: NaN and the infinities are floats, and a finite number has to be in the range") {
  for (const char* infinite : {"inf", "Infinity", "+inf", "INF"}) CHECK(read<float>(infinite, DType::kF32) == "inf");
  CHECK(read<double>("-Infinity", DType::kF64) == "-inf");
  CHECK(read<float>("NaN", DType::kF32) == "nan");
  CHECK(read<float>("1e39", DType::kF32) == "does not fit");
  CHECK(read<double>("1e39", DType::kF64) == "1e+39");
  CHECK(read<float>("1e-400", DType::kF32) == "0");
}

TEST_CASE("number: JSON as Python's json writes it is read, strings are left alone") {
  CHECK(plain_json(R"([NaN, Infinity, -Infinity, "NaN, -Infinity \" NaN", -1, 2.0])") ==
        R"(["NaN", "Infinity", "-Infinity", "NaN, -Infinity \" NaN", -1, 2.0])");
  CHECK(plain_json("[9007199254740993.0, 1e18, 1.5e300, 0.1, 12345678901234567890.0]") ==
        "[9007199254740993, 1000000000000000000, 1.5e300, 0.1, 12345678901234567890]");
  for (const char* broken : {"\"", "\"\\", "N", "-", "Infinit", "1e", "[1.e999999999999]", ""})
    CHECK(plain_json(broken) == broken);
  const auto values = parse_json("[NaN, 2.0, 9007199254740993.0]");
  REQUIRE(values);
  CHECK(tensor_from_json(nlohmann::json(*values)[2], {DType::kS64, {}})->as<std::int64_t>()[0] == 9007199254740993);
  CHECK(std::isnan(tensor_from_json(nlohmann::json(*values)[0], {DType::kF32, {}})->as<float>()[0]));
  CHECK(tensor_from_json(nlohmann::json(*values)[1], {DType::kS32, {}})->as<std::int32_t>()[0] == 2);
  CHECK(parse_json("[1,\n 2,]").error().message.starts_with("not JSON: line 2, column 4: "));
}
