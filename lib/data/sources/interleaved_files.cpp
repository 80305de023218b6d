// SPDX-License-Identifier: Apache-2.0
//
// Files of rows that are read several at a time, a block of rows of each in turns.
#include <algorithm>
#include <mutex>

#include "../files/file_pattern.hpp"
#include "../transformations/combine.hpp"
#include "../transformations/transformations.hpp"
#include "sources.hpp"

namespace tfd::data {
namespace {

// What the options allow to all files that are open at the same time, for one of them.
FileRowsOptions share_of_one(const FileRowsOptions& options, std::size_t open, std::size_t files) {
  FileRowsOptions out = options;
  out.cache_bytes /= files;
  out.may_be_empty = true;
  out.parsing.threads = (options.parsing.threads + open - 1) / open;
  out.parsing.ahead_bytes = std::max(options.parsing.ahead_bytes / open, options.parsing.piece_bytes);
  return out;
}

class InterleavedFiles final : public RowDataset {
 public:
  InterleavedFiles(ElementSpec spec, FileRowsOptions options, std::function<RowDatasetPtr(FileRowsOptions)> make_one)
      : RowDataset(std::move(spec)), options_(std::move(options)), make_one_(std::move(make_one)) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    auto files = TFD_TRY(find_files(options_.files));
    TFD_TRY(check_some_data(files));
    const std::lock_guard lock(mutex_);
    if (!together_ || files != files_) {
      files_ = std::move(files);
      together_ = interleave();
    }
    return together_->rows(order);
  }
  std::optional<std::int64_t> cardinality() const override { return std::nullopt; }

 private:
  Result<void> check_some_data(const std::vector<std::string>& files) const {
    for (const std::string& file : files)
      if (TFD_TRY(load_stamp(file)).size > 0) return {};
    if (files.empty()) return {};  // a shard behind the last file
    return nothing_in(files, options_.files);
  }

  RowDatasetPtr interleave() const {
    const auto open = std::min(static_cast<std::size_t>(options_.files.cycle_length), files_.size());
    std::vector<RowDatasetPtr> inputs;
    for (const std::string& file : files_) {
      FileRowsOptions one = share_of_one(options_, open, files_.size());
      one.files = FileList(file);
      inputs.push_back(make_one_(std::move(one)));
    }
    if (inputs.empty()) return make_concatenate(spec(), {});
    return make_interleave(spec(), std::move(inputs),
                           {.cycle_length = options_.files.cycle_length, .block_length = options_.files.block_length});
  }

  const FileRowsOptions options_;
  const std::function<RowDatasetPtr(FileRowsOptions)> make_one_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::vector<std::string> files_;
  mutable RowDatasetPtr together_;  // of the files, which keep what they have decoded
};

}  // namespace

RowDatasetPtr make_interleaved_files(ElementSpec spec, FileRowsOptions options,
                                     std::function<RowDatasetPtr(FileRowsOptions)> make_one) {
  return std::make_shared<InterleavedFiles>(std::move(spec), std::move(options), std::move(make_one));
}

}  // namespace tfd::data
