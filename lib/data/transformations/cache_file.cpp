// SPDX-License-Identifier: Apache-2.0
#include "cache_file.hpp"

#include <cstring>

#include "../files/record_reader.hpp"
#include "tfd/data/tfrecord.hpp"

namespace tfd::data {
namespace {

// A record's first byte. Behind it the head has the pipeline as text, the end the number of elements, and an element
// for each field its dimensions and its bytes.
constexpr char kHead = 'H', kElement = 'E', kEnd = 'Z';
constexpr std::size_t kPiece = std::size_t{256} << 10;

template <class T>
void append_value(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

class CacheFileStream final : public RowStream {
 public:
  CacheFileStream(Records records, ElementSpec spec) : records_(std::move(records)), spec_(std::move(spec)) {}
  Result<std::optional<Row>> next() override {
    if (at_end_) return std::optional<Row>();
    if (error_) return fail(*error_);
    auto row = read();
    if (!row) error_ = row.error();
    return row;
  }

 private:
  Result<std::optional<Row>> read() {
    const auto record = TFD_TRY(records_.next());
    if (!record) return fail(Code::kDataLoss, "{} is cut off: remove it", records_.path());
    if (record->starts_with(kElement)) return parse(record->substr(1));
    std::int64_t elements = -1;
    if (record->starts_with(kEnd) && record->size() == 1 + sizeof elements)
      std::memcpy(&elements, record->data() + 1, sizeof elements);
    if (elements != records_.record() - 2) return broken();
    at_end_ = true;
    return std::optional<Row>();
  }

  Result<std::optional<Row>> parse(std::string_view rest) const {
    auto block = std::make_shared<Block>();
    for (const FieldSpec& field : spec_) {
      tensor::Shape shape{1};
      for (const std::int64_t stated : field.shape) {
        std::int64_t size = 0;
        if (rest.size() < sizeof size) return broken();
        std::memcpy(&size, rest.data(), sizeof size);
        rest.remove_prefix(sizeof size);
        if (stated != -1 && size != stated) return broken();
        shape.push_back(size);
      }
      const auto bytes = tensor::checked_byte_size(field.dtype, shape);
      if (!bytes || *bytes > rest.size()) return broken();
      block->columns.push_back(tensor::Tensor::uninitialized(field.dtype, std::move(shape)));
      std::memcpy(block->columns.back().mutable_data(), rest.data(), *bytes);
      rest.remove_prefix(*bytes);
    }
    if (!rest.empty()) return broken();
    return Row{std::move(block), 0};
  }
  tl::unexpected<Error> broken() const {
    return fail(Code::kDataLoss, "{}: record {} is none of this cache: remove the file", records_.path(),
                records_.record());
  }

  Records records_;
  ElementSpec spec_;
  std::optional<Error> error_;
  bool at_end_ = false;
};

}  // namespace

Result<std::unique_ptr<CacheWriter>> CacheWriter::create(const std::string& path, const std::string& pipeline) {
  std::unique_ptr<CacheWriter> writer(new CacheWriter(TFD_TRY(FileWriter::create(path))));
  TFD_TRY(writer->add_record(kHead + pipeline));
  return writer;
}

Result<void> CacheWriter::add_record(std::string_view bytes) {
  framed_.clear();
  append_record(framed_, bytes);
  return file_->add(framed_);
}

Result<void> CacheWriter::add(const Row& row) {
  std::string record(1, kElement);
  for (const tensor::Tensor& column : row.block->columns) {
    const tensor::Tensor field = column.slice_rows(row.index, 1);
    for (std::size_t axis = 1; axis < field.shape().size(); ++axis) append_value(record, field.shape()[axis]);
    record.append(reinterpret_cast<const char*>(field.data()), field.byte_size());
  }
  ++elements_;
  return add_record(record);
}

Result<void> CacheWriter::finish() {
  std::string end(1, kEnd);
  append_value(end, elements_);
  TFD_TRY(add_record(end));
  return file_->finish();
}

Result<RowStreamPtr> stream_cache_file(const std::string& path, const std::string& pipeline, const ElementSpec& spec) {
  Records records(RecordReader(TFD_TRY(ByteReader::open(path)), kPiece));
  const auto head = TFD_TRY(records.next());
  if (!head || !head->starts_with(kHead)) return fail(Code::kDataLoss, "{} is no cache: remove it", path);
  if (head->substr(1) != pipeline)
    return fail(Code::kFailedPrecondition, "{} is the cache of another pipeline: remove it", path);
  return std::make_unique<CacheFileStream>(std::move(records), spec);
}

}  // namespace tfd::data
