#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// TFRecord framing: length, checksum of the length, bytes, checksum of the bytes. Thread rule: pure functions.
// Source: https://www.tensorflow.org/tutorials/load_data/tfrecord (format), tsl/lib/io/record_writer.h.
#include <cstdint>
#include <string>
#include <string_view>

namespace tfd::data {

/// CRC-32C (Castagnoli), reflected, as iSCSI (RFC 3720) has it.
std::uint32_t crc32c(std::string_view bytes);
/// The checksum as a record has it: rotated and offset, so that a record in a record isn't taken for one.
std::uint32_t masked_crc32c(std::string_view bytes);
/// The record with these bytes, behind `out`.
void append_record(std::string& out, std::string_view bytes);

}  // namespace tfd::data
