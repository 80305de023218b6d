// SPDX-License-Identifier: Apache-2.0
#include "tfd/data/tfrecord.hpp"

#include <isa-l/crc.h>

#include <cstring>

namespace tfd::data {
namespace {

template <class T>
std::string little_endian(T value) {
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // what the library counts in an int
  std::uint32_t crc = 0xFFFFFFFFU;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kMostAtOnce);
    auto* const first = reinterpret_cast<unsigned char*>(const_cast<char*>(part.data()));  // it only reads
    crc = crc32_iscsi(first, static_cast<int>(part.size()), crc);
    bytes.remove_prefix(part.size());
  }
  return ~crc;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8U;
}

void append_record(std::string& out, std::string_view bytes) {
  const std::string length = little_endian(static_cast<std::uint64_t>(bytes.size()));
  out += length + little_endian(masked_crc32c(length));
  out += bytes;
  out += little_endian(masked_crc32c(bytes));
}

}  // namespace tfd::data
