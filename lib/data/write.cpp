// SPDX-License-Identifier: Apache-2.0
#include "tfd/data/write.hpp"

#include <cstring>

#include "files/file_writer.hpp"
#include "sources/example.hpp"
#include "tfd/data/tfrecord.hpp"
#include "tfd/tensor/npy.hpp"

namespace tfd::data {

Result<std::int64_t> write_tfrecord(const std::string& path, const ElementSpec& spec, Iterator& iterator,
                                    std::int64_t most) {
  const auto file = TFD_TRY(FileWriter::create(path, path.ends_with(".gz")));
  std::int64_t written = 0;
  std::string record;
  for (; written < most; ++written) {
    const auto element = TFD_TRY(iterator.next());
    if (!element) break;
    record.clear();
    append_record(record, encode_example(spec, *element));
    TFD_TRY(file->add(record));
  }
  TFD_TRY(file->finish());
  return written;
}

Result<std::int64_t> write_npy(const std::string& path, const ElementSpec& spec, Iterator& iterator,
                               std::int64_t most) {
  if (spec.size() != 1)
    return fail(Code::kInvalidArgument, "{}: an .npy file has one array, but the elements have {} fields", path,
                spec.size());
  std::vector<tensor::Tensor> rows;
  while (static_cast<std::int64_t>(rows.size()) < most) {
    auto element = TFD_TRY(iterator.next());
    if (!element) break;
    rows.push_back(std::move(element->front()));
    if (rows.back().shape() != rows.front().shape())
      return fail(Code::kInvalidArgument,
                  "{}: element {} is {}, but the first one is {}: all rows of an array have one shape", path,
                  rows.size() - 1, format_spec(rows.back().spec()), format_spec(rows.front().spec()));
  }
  if (rows.empty()) return fail(Code::kInvalidArgument, "{}: there are no elements", path);
  tensor::Shape shape = rows.front().shape();
  shape.insert(shape.begin(), static_cast<std::int64_t>(rows.size()));
  TFD_TRY(tensor::checked_byte_size(spec[0].dtype, shape), path);
  tensor::Tensor all = tensor::Tensor::uninitialized(spec[0].dtype, std::move(shape));
  std::byte* to = all.mutable_data();
  for (const tensor::Tensor& row : rows) {
    std::memcpy(to, row.data(), row.byte_size());
    to += row.byte_size();
  }
  TFD_TRY(tensor::save_npy(path, all));
  return static_cast<std::int64_t>(rows.size());
}

}  // namespace tfd::data
