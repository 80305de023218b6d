// SPDX-License-Identifier: Apache-2.0
#include "answers.hpp"

#include <algorithm>

namespace tfd::coordinator {
namespace {

constexpr std::size_t kFlushBytes = std::size_t{64} << 10;
constexpr std::size_t kMostBytes = std::size_t{256} << 20;  // limit on bytes of waiting answers
constexpr std::size_t kLeastUnanswered = 64;                // keeps some workers busy, however large the answers

}  // namespace

JsonLine AnswerLabel::answer(std::string_view status) const {
  JsonLine answer;
  answer.add_raw(id ? "id" : "line", label());
  answer.add("status", status);
  return answer;
}

Answers::Answers(WriteText write, bool ordered, std::size_t most)
    : write_(std::move(write)), ordered_(ordered), most_(most), limit_(most), writer_([this] { run(); }) {}

Answers::~Answers() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
}

std::uint64_t Answers::begin() {
  MutexLock lock(mutex_);
  if (unanswered_ >= limit_)
    lock.wait(written_, Deadline::never(),
              [this]() TFD_REQUIRES(mutex_) { return passes_limit_ || unanswered_ <= low(); });
  ++unanswered_;
  return ++summary_.lines;
}

void Answers::skip() {
  const std::uint64_t line = begin();
  put(line, Kind::kOther, [](std::string&) {});
}

void Answers::expect(std::size_t bytes) {
  const MutexLock lock(mutex_);
  see_size(bytes);
}

void Answers::put(std::uint64_t line, Kind kind, Form form) {
  const MutexLock lock(mutex_);
  switch (kind) {
    case Kind::kReady:
      ++summary_.ready;
      break;
    case Kind::kFailed:
      ++summary_.failed;
      break;
    case Kind::kCancelled:
      ++summary_.cancelled;
      break;
    case Kind::kOther:
      break;
  }
  items_.push_back({line, std::move(form)});
  if (items_.size() == 1) changed_.notify_one();
}

void Answers::put(const AnswerLabel& asker, Kind kind, JsonLine answer) {
  put(asker.line, kind, [text = std::move(answer).text()](std::string& out) { out += text; });
}

void Answers::put_error(const AnswerLabel& asker, Kind kind, std::string_view status, const Error& error) {
  JsonLine answer = asker.answer(status);
  answer.add("error", error);
  put(asker, kind, std::move(answer));
}

void Answers::put_value(const AnswerLabel& asker, AppendValue append) {
  put(asker.line, Kind::kReady, [this, asker, append = std::move(append)](std::string& out) {
    const std::size_t before = out.size();
    out += asker.answer("ready").open_text();
    out += ",\"value\":";
    if (const auto written = append(out); !written) {
      out.resize(before);
      JsonLine answer = asker.answer("error");
      out += std::move(answer.add("error", written.error())).text();
      const MutexLock lock(mutex_);
      --summary_.ready;
      ++summary_.failed;
      return;
    }
    out += "}\n";
  });
}

void Answers::pass_limit(bool passes) {
  const MutexLock lock(mutex_);
  passes_limit_ = passes;
  if (passes) written_.notify_all();
}

Result<void> Answers::finish() {
  MutexLock lock(mutex_);
  lock.wait(written_, Deadline::never(), [this]() TFD_REQUIRES(mutex_) { return unanswered_ == 0; });
  if (error_) return fail(*error_);
  return {};
}

bool Answers::broken() const {
  const MutexLock lock(mutex_);
  return error_.has_value();
}

ClosureStreamSummary Answers::summary() const {
  const MutexLock lock(mutex_);
  return summary_;
}

void Answers::run() {
  for (;;) {
    std::vector<Item> batch;
    {
      MutexLock lock(mutex_);
      lock.wait(changed_, Deadline::never(), [this]() TFD_REQUIRES(mutex_) { return ending_ || !items_.empty(); });
      if (items_.empty()) return;
      batch.swap(items_);
    }
    write_batch(std::move(batch));
  }
}

void Answers::write_batch(std::vector<Item> batch) {
  std::string text;
  std::size_t answers = 0, largest = 0;
  const auto append = [&](const Form& form) {
    const std::size_t before = text.size();
    form(text);
    largest = std::max(largest, text.size() - before);
    ++answers;
    if (text.size() >= kFlushBytes) flush(text, std::exchange(answers, 0), largest);
  };
  for (Item& item : batch) {
    if (!ordered_) {
      append(item.form);
      item.form = {};  // releases its tensors
      continue;
    }
    waiting_.emplace(item.line, std::move(item.form));
    for (auto next = waiting_.begin(); next != waiting_.end() && next->first == next_line_; ++next_line_) {
      append(next->second);
      next = waiting_.erase(next);
    }
  }
  flush(text, answers, largest);
}

void Answers::flush(std::string& text, std::size_t answers, std::size_t largest) {
  if (answers == 0) return;
  Result<void> written;
  if (!broken()) written = write_(text);
  text.clear();
  const MutexLock lock(mutex_);
  if (!written && !error_) error_ = std::move(written).error();
  unanswered_ -= answers;
  see_size(largest);
  if (unanswered_ <= low()) written_.notify_all();
}

void Answers::see_size(std::size_t bytes) {
  if (bytes <= largest_) return;
  largest_ = bytes;
  limit_ = std::min(most_, std::max(kLeastUnanswered, kMostBytes / largest_));
}

}  // namespace tfd::coordinator
