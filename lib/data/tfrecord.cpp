// SPDX-License-Identifier: Apache-2.0
#include "tfd/data/tfrecord.hpp"

#include <array>
#include <cstring>

namespace tfd::data {
namespace {

// [k][b]: what byte b, followed by k zeros, makes of the checksum. Source: Kounavis and Berry, "A systematic approach
// to building high performance software-based CRC generators", 2005 (slicing-by-8).
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0x82F63B78U : crc >> 1;
    tables[0][i] = crc;
  }
  for (std::size_t k = 1; k < tables.size(); ++k)
    for (std::size_t i = 0; i < 256; ++i) tables[k][i] = tables[k - 1][i] >> 8 ^ tables[0][tables[k - 1][i] & 0xFF];
  return tables;
}

template <class T>
std::string little_endian(T value) {
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr Tables kTables = make_tables();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (; bytes.size() >= sizeof(std::uint64_t); bytes.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t eight = 0;  // little endian, as the hosts that tfd runs on are
    std::memcpy(&eight, bytes.data(), sizeof eight);
    eight ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < kTables.size(); ++k) crc ^= kTables[kTables.size() - 1 - k][eight >> (8 * k) & 0xFF];
  }
  for (const char byte : bytes) crc = kTables[0][(crc ^ static_cast<unsigned char>(byte)) & 0xFF] ^ crc >> 8;
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
