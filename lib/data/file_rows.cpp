// SPDX-License-Identifier: Apache-2.0
#include "file_rows.hpp"

#include <mutex>

#include "file_pattern.hpp"
#include "table.hpp"

namespace tfd::data {
namespace {

using Stamps = std::vector<FileStamp>;

// What the streams of one dataset share.
struct SharedFileRows {
  const ElementSpec spec;
  const std::unique_ptr<const RowFormat> format;
  const FileRowsOptions options;

  mutable std::mutex mutex = {};  // guards what follows
  mutable TablePtr cached = {};
  mutable std::vector<std::string> cached_files = {};
  mutable Stamps cached_stamps = {};

  TablePtr find_cached(const std::vector<std::string>& files) const {
    const std::lock_guard lock(mutex);
    if (!cached || cached_files != files) return nullptr;
    for (std::size_t i = 0; i < files.size(); ++i) {
      const auto stamp = load_stamp(files[i]);
      if (!stamp || *stamp != cached_stamps[i]) return nullptr;
    }
    return cached;
  }
  void keep(TablePtr table, std::vector<std::string> files, Stamps stamps) const {
    const std::lock_guard lock(mutex);
    cached = std::move(table);
    cached_files = std::move(files);
    cached_stamps = std::move(stamps);
  }
};
using SharedFileRowsPtr = std::shared_ptr<const SharedFileRows>;  // shared: by the dataset and its streams

// Decodes the files block by block; what a full pass has decoded becomes the dataset's cache.
class FileRowsStream final : public RowStream {
 public:
  FileRowsStream(SharedFileRowsPtr shared, std::vector<std::string> files, std::unique_ptr<RowReader> first)
      : shared_(std::move(shared)),
        files_(std::move(files)),
        reader_(std::move(first)),
        builder_(shared_->spec),
        decoded_(std::make_shared<Table>()) {}

  Result<std::optional<Row>> next() override {
    while (true) {
      if (block_ && index_ < block_->columns.front().shape()[0]) return Row{block_, index_++};
      if (error_) return fail(*error_);
      if (at_end_) return std::optional<Row>();
      decode_block();
    }
  }

 private:
  // The rows up to the end, an error or a full block. An error is kept for after them.
  void decode_block() {
    while (!builder_.is_full() && !at_end_ && !error_) {
      const auto decoded = reader_->next(builder_);
      if (decoded && *decoded)
        builder_.commit();
      else if (decoded)
        note(end_file());
      else
        settle(decoded.error());
    }
    block_ = builder_.take();
    index_ = 0;
    if (block_) remember();
    if (at_end_ && !error_) publish();
  }

  // A bad row is passed over; behind a file that is broken the next one follows.
  void settle(const Error& error) {
    if (const auto same = reader_->bytes().file()->check_unchanged(); !same) return note(same);
    if (!shared_->options.skip_errors) return note(fail(error));
    has_skipped_ = true;
    if (shared_->options.skipped) shared_->options.skipped(error);
    if (reader_->is_broken()) note(open_next());
  }

  Result<void> end_file() {
    TFD_TRY(reader_->bytes().file()->check_unchanged());
    all_empty_ = all_empty_ && reader_->is_empty();
    return open_next();
  }

  Result<void> open_next() {
    stamps_.push_back(reader_->bytes().file()->stamp());
    if (stamps_.size() < files_.size()) {
      reader_ = TFD_TRY(shared_->format->open(files_[stamps_.size()]));
      return {};
    }
    at_end_ = true;
    if (!all_empty_ || has_skipped_) return {};
    if (files_.size() == 1) return fail(Code::kInvalidArgument, "{} is empty", files_.front());
    return fail(Code::kInvalidArgument, "all {} files of {} are empty", files_.size(),
                format_files(shared_->options.files));
  }

  void note(const Result<void>& result) {
    if (!result) error_ = result.error();
  }

  void remember() {
    for (const tensor::Tensor& column : block_->columns) decoded_bytes_ += column.byte_size();
    if (decoded_bytes_ > shared_->options.cache_bytes) decoded_ = nullptr;
    if (decoded_) decoded_->blocks.push_back(block_);
  }

  // Only at the end, and only what every pass would decode to without saying anything.
  void publish() {
    if (decoded_ && !has_skipped_) shared_->keep(std::move(decoded_), files_, stamps_);
  }

  SharedFileRowsPtr shared_;
  std::vector<std::string> files_;
  Stamps stamps_;  // of the files that have been read
  std::unique_ptr<RowReader> reader_;
  BlockBuilder builder_;
  std::shared_ptr<Table> decoded_;  // null once it is too large; shared with the cache when complete
  std::size_t decoded_bytes_ = 0;
  BlockPtr block_;
  std::int64_t index_ = 0;
  std::optional<Error> error_;
  bool all_empty_ = true, has_skipped_ = false, at_end_ = false;
};

class FileRowsDataset final : public RowDataset {
 public:
  FileRowsDataset(ElementSpec spec, std::unique_ptr<const RowFormat> format, FileRowsOptions options)
      : RowDataset(spec),
        shared_(
            new SharedFileRows{.spec = std::move(spec), .format = std::move(format), .options = std::move(options)}) {}
  Result<RowStreamPtr> rows(const Order&) const override {
    auto files = TFD_TRY(find_files(shared_->options.files));
    if (files.empty()) return stream_table(std::make_shared<Table>());  // a shard behind the last file
    if (TablePtr cached = shared_->find_cached(files)) return stream_table(std::move(cached));
    auto first = TFD_TRY(shared_->format->open(files.front()));
    return std::make_unique<FileRowsStream>(shared_, std::move(files), std::move(first));
  }
  std::optional<std::int64_t> cardinality() const override { return std::nullopt; }

 private:
  SharedFileRowsPtr shared_;
};

}  // namespace

RowDatasetPtr make_file_rows(ElementSpec spec, std::unique_ptr<const RowFormat> format, FileRowsOptions options) {
  return std::make_shared<FileRowsDataset>(std::move(spec), std::move(format), std::move(options));
}

}  // namespace tfd::data
