#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Durations and sizes as people type them: "250ms", "30s", "1m30s", "2h"; "65536", "256KiB", "1GB".
#include <cstdint>
#include <string>
#include <string_view>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"

namespace tfd {

/// A sum of numbers with units ns, us, ms, s, m, h, d; a bare number is seconds; "0" is zero. kInvalidArgument
/// otherwise.
Result<Duration> parse_duration(std::string_view text);
/// "1m30s", "250ms": the shortest form that parse_duration() reads back.
std::string format_duration(Duration duration);

/// The same rounded for people, as exact as it matters: "250ms", "1s520ms", "10s".
std::string rounded_duration(Duration duration);

/// A number of bytes; a separate type, so that no bare integer is used as a size.
struct Bytes {
  std::uint64_t count = 0;
  friend auto operator<=>(Bytes, Bytes) = default;
};
/// A number with an optional unit B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024).
Result<Bytes> parse_bytes(std::string_view text);
/// "256KiB" where it divides evenly, else the bare number.
std::string format_bytes(Bytes bytes);

/// Rounded for people: "80 TB", "1.2 GB", "512 bytes" (powers of 1000).
std::string rounded_bytes(Bytes bytes);

/// A whole decimal integer in [least, most], nothing before or after it. kInvalidArgument says which bound it broke.
Result<std::int64_t> parse_integer(std::string_view text, std::int64_t least, std::int64_t most);

// ---- Rates as people read them.

/// At least four digits, grouped from 1000 on: "0.1234", "650.5", "13 810", "2 000 000". NaN, infinities and values
/// beyond 1e15 are formatted as fmt formats them.
std::string rounded_rate(double rate);

}  // namespace tfd
