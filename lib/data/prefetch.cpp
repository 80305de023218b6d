// SPDX-License-Identifier: Apache-2.0
//
// A thread that stays `buffer` elements ahead of the reader. It starts with the first next(), and ends with the stream.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>
#include <thread>

#include "input_stop.hpp"
#include "transformations.hpp"

namespace tfd::data {
namespace {

class PrefetchStream final : public RowStream {
 public:
  PrefetchStream(RowStreamPtr input, InputStopPtr stop, std::size_t size)
      : input_(std::move(input)), stop_(std::move(stop)), size_(size) {}
  PrefetchStream(const PrefetchStream&) = delete;
  PrefetchStream& operator=(const PrefetchStream&) = delete;
  ~PrefetchStream() override { stop_->request(); }

  Result<std::optional<Row>> next() override {
    if (!thread_.joinable()) thread_ = std::jthread([this](std::stop_token stop) { fill(stop); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty(); });
    if (!ready_.front() || !ready_.front()->has_value()) return ready_.front();  // the last there is: stays
    Result<std::optional<Row>> row = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return row;
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    return thread_.joinable() ? RowStream::skip(count) : input_->skip(count);
  }

 private:
  void fill(const std::stop_token& stop) {
    while (true) {
      {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [&] { return ready_.size() < size_; })) return;
      }
      if (stop.stop_requested()) return;
      Result<std::optional<Row>> row = input_->next();
      const bool is_last = !row || !row->has_value();
      {
        const std::lock_guard lock(mutex_);
        ready_.push_back(std::move(row));
      }
      changed_.notify_all();
      if (is_last) return;
    }
  }

  RowStreamPtr input_;  // the thread's alone, once it runs
  const InputStopPtr stop_;
  const std::size_t size_;
  std::mutex mutex_;  // guards ready_
  std::condition_variable_any changed_;
  std::deque<Result<std::optional<Row>>> ready_;
  std::jthread thread_;  // last: stopped and joined before the rest goes
};

class PrefetchDataset final : public RowDataset {
 public:
  PrefetchDataset(RowDatasetPtr input, std::int64_t buffer)
      : RowDataset(input->spec()), input_(std::move(input)), buffer_(static_cast<std::size_t>(buffer)) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    auto stop = std::make_unique<InputStop>(order);
    auto input = TFD_TRY(input_->rows(stop->below(order)));
    return std::make_unique<PrefetchStream>(std::move(input), std::move(stop), buffer_);
  }
  std::optional<std::int64_t> cardinality() const override { return input_->cardinality(); }

 private:
  RowDatasetPtr input_;
  std::size_t buffer_;
};

}  // namespace

RowDatasetPtr make_prefetch(RowDatasetPtr input, const Prefetch& prefetch) {
  return std::make_shared<PrefetchDataset>(std::move(input), prefetch.buffer);
}

}  // namespace tfd::data
