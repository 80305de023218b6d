#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The bytes between members: frames of a header of 16 bytes, little-endian, and a body. Everything of one collective
// goes over a connection before anything of the next. Thread rule: pure functions.
//
//   0 magic 0xC7   1 type u8   2 zero u16   4 size of the body u32   8 number of the collective u64
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tfd/base/error.hpp"

namespace tfd::collective {

enum class FrameType : std::uint8_t {
  kCall = 1,   // begins a collective: the size of the encoded call u32, the call, and what it says of its sender alone
  kData = 2,   // the next bytes of the collective
  kAbort = 3,  // the sender's group has failed, and why
};
inline constexpr std::size_t kFrameHeaderBytes = 16;
inline constexpr std::size_t kMostFrameBytes = 256 << 10;
inline constexpr std::size_t kMostAbortBytes = 8 << 10;

struct FrameHeader {
  FrameType type = FrameType::kData;
  std::uint32_t size = 0;
  std::uint64_t number = 0;
};

void put_header(std::string& out, const FrameHeader& header);
/// kInvalidArgument: not a header, or a size that no frame of its type has.
Result<FrameHeader> parse_header(std::string_view bytes);

/// A frame, whole.
std::string encode_abort(const Error& error);
/// The body of one; an error that can't be read is one, too.
Error decode_abort(std::string_view body);

}  // namespace tfd::collective
