// SPDX-License-Identifier: Apache-2.0
//
// cache: the elements of the first whole pass, for all others. So that a pass has the same elements whether they come
// from the cache or not, the input is always iterated as in the first pass.
#include <nlohmann/json.hpp>

#include "../files/file_stamp.hpp"
#include "../plan/options.hpp"
#include "../plan/stage_kinds.hpp"
#include "cache_file.hpp"
#include "tfd/base/thread_annotations.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

using CachedRows = std::shared_ptr<const std::vector<Row>>;  // shared: by the dataset and the streams that read them

// The parts of an order on which the elements of a first pass depend.
struct OrderKey {
  explicit OrderKey(const Order& order)
      : stream(order.stream),
        has_seeds(order.seeds.has_value()),
        iteration(has_seeds ? order.seeds->iteration : 0),
        dataset(has_seeds ? order.seeds->dataset : 0) {}
  friend bool operator==(const OrderKey&, const OrderKey&) = default;
  std::uint64_t stream;
  bool has_seeds;
  std::uint64_t iteration, dataset;
};

struct SharedCache {
  mutable Mutex mutex = {};
  mutable CachedRows rows TFD_GUARDED_BY(mutex) = {};
  mutable std::optional<OrderKey> key TFD_GUARDED_BY(mutex) = {};

  CachedRows find(const OrderKey& wanted) const {
    const MutexLock lock(mutex);
    return key == wanted ? rows : nullptr;
  }
  void keep(CachedRows made, const OrderKey& of) const {
    const MutexLock lock(mutex);
    rows = std::move(made);
    key = of;
  }
};
using SharedCachePtr = std::shared_ptr<const SharedCache>;  // shared: by the dataset and its streams

class CachedStream final : public RowStream {
 public:
  explicit CachedStream(CachedRows rows) : rows_(std::move(rows)) {}
  Result<std::optional<Row>> next() override {
    if (at_ == rows_->size()) return std::optional<Row>();
    return (*rows_)[at_++];
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    const std::size_t done = std::min(static_cast<std::size_t>(count), rows_->size() - at_);
    at_ += done;
    return static_cast<std::int64_t>(done);
  }

 private:
  CachedRows rows_;
  std::size_t at_ = 0;
};

// Where the elements of the first pass go: rows in memory, which are the cache once there is no more.
class MemoryWriter {
 public:
  MemoryWriter(SharedCachePtr cache, const Order& order) : cache_(std::move(cache)), key_(order) {}
  Result<void> add(const Row& row) {
    rows_->push_back(row);
    return {};
  }
  Result<void> finish() {
    cache_->keep(std::move(rows_), key_);
    return {};
  }

 private:
  SharedCachePtr cache_;
  OrderKey key_;
  std::shared_ptr<std::vector<Row>> rows_ = std::make_shared<std::vector<Row>>();
};

// The first pass. If elements are passed over, it isn't whole, and the cache is the next one's to make.
template <class Writer>
class FillingStream final : public RowStream {
 public:
  FillingStream(RowStreamPtr input, std::unique_ptr<Writer> writer)
      : input_(std::move(input)), writer_(std::move(writer)) {}
  Result<std::optional<Row>> next() override {
    if (error_) return fail(*error_);
    auto row = input_->next();
    if (!row) writer_ = nullptr;
    if (!row || !writer_) return row;
    const auto written = *row ? writer_->add(**row) : writer_->finish();
    if (!written) error_ = written.error();
    if (!written || !*row) writer_ = nullptr;
    if (error_) return fail(*error_);
    return row;
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    if (count > 0) writer_ = nullptr;
    return input_->skip(count);
  }

 private:
  RowStreamPtr input_;
  std::unique_ptr<Writer> writer_;  // null once not all elements go there
  std::optional<Error> error_;
};

Order first_pass(Order order) {
  order.pass = 0;
  return order;
}

class MemoryCacheDataset final : public RowDataset {
 public:
  explicit MemoryCacheDataset(RowDatasetPtr input)
      : RowDataset(input->spec()), input_(std::move(input)), cache_(std::make_shared<SharedCache>()) {}
  Result<RowStreamPtr> rows(const Order& stated) const override {
    const Order order = first_pass(stated);
    if (CachedRows cached = cache_->find(OrderKey(order))) return std::make_unique<CachedStream>(std::move(cached));
    return std::make_unique<FillingStream<MemoryWriter>>(TFD_TRY(input_->rows(order)),
                                                         std::make_unique<MemoryWriter>(cache_, order));
  }
  std::optional<std::int64_t> cardinality() const override { return input_->cardinality(); }

 private:
  RowDatasetPtr input_;
  SharedCachePtr cache_;
};

class FileCacheDataset final : public RowDataset {
 public:
  FileCacheDataset(RowDatasetPtr input, std::string path, std::string pipeline)
      : RowDataset(input->spec()), input_(std::move(input)), path_(std::move(path)), pipeline_(std::move(pipeline)) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    if (is_there(path_)) return stream_cache_file(path_, pipeline_, spec());
    auto input = TFD_TRY(input_->rows(first_pass(order)));
    return std::make_unique<FillingStream<CacheWriter>>(std::move(input),
                                                        TFD_TRY(CacheWriter::create(path_, pipeline_)));
  }
  std::optional<std::int64_t> cardinality() const override { return input_->cardinality(); }

 private:
  RowDatasetPtr input_;
  std::string path_, pipeline_;
};

Result<Cache> read_cache(const StatedStage& stage) {
  Options options(stage.value, stage.path);
  Cache cache{options.text("path").value_or("")};
  TFD_TRY(options.finish());
  return cache;
}

ordered_json write_cache(const Cache& cache) {
  return cache.path.empty() ? ordered_json::object() : ordered_json{{"path", cache.path}};
}

Result<RowDatasetPtr> make_cache(const Cache& cache, const StageSite& site) {
  if (cache.path.empty()) return std::make_shared<MemoryCacheDataset>(site.input);
  std::string pipeline = to_json(site.before).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return std::make_shared<FileCacheDataset>(site.input, site.file_path(cache.path), std::move(pipeline));
}

}  // namespace

const StageKind<Cache>& kind_of(Tag<Cache>) {
  static constexpr StageKind<Cache> kKind{
      .name = "cache",
      .read = read_cache,
      .write = write_cache,
      .make = make_cache,
      .traits = [](const Cache&) -> StageTraits {
        return {.elements = ElementTrait::kKept, .batches = BatchTrait::kKept};
      },
      .tensorflow_cardinality = same_cardinality,
  };
  return kKind;
}

}  // namespace tfd::data
