#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Elements into files that sources read again. A file comes into being whole. Thread rule: functions without state.
#include <cstdint>
#include <string>

#include "tfd/base/error.hpp"
#include "tfd/data/dataset.hpp"

namespace tfd::data {

/// A tf.Example for each element: integers and bools as int64_list, f32, f16 and bf16 as float_list; u8 that aren't
/// scalars, u64 and f64, whose values those don't hold, as their bytes. gzipped if the name ends in ".gz". At most
/// `most` elements; returns their number. Errors of the iterator; kNotFound, kPermissionDenied, kResourceExhausted.
Result<std::int64_t> write_tfrecord(const std::string& path, const ElementSpec& spec, Iterator& iterator,
                                    std::int64_t most);
/// The elements of one field, all of one shape, as the rows of a NumPy array. As write_tfrecord(); kInvalidArgument
/// for several fields, or rows that differ.
Result<std::int64_t> write_npy(const std::string& path, const ElementSpec& spec, Iterator& iterator, std::int64_t most);

}  // namespace tfd::data
