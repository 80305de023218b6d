// SPDX-License-Identifier: Apache-2.0
#include "group_messages.hpp"

#include <cstring>

namespace tfd::strategy {
namespace {

using tensor::Tensor;

constexpr std::size_t kMostRank = 64;

class Writer {
 public:
  template <class T>
  void put(const T& value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    out_ += text;
  }
  void put_tensor(const Tensor& value) {  // an absent one is a rank that none has
    put(static_cast<std::uint32_t>(value.has_value() ? value.shape().size() : kMostRank + 1));
    if (!value.has_value()) return;
    put_text(tensor::dtype_name(value.dtype()));
    for (const std::int64_t dimension : value.shape()) put(dimension);
    out_.append(reinterpret_cast<const char*>(value.data()), value.byte_size());
  }
  void put_metric(const step::Metric& one) {
    put_text(one.name);
    put(static_cast<std::uint8_t>(one.reduce));
    put(static_cast<std::uint8_t>(one.part));
    put(one.value);
    put(one.weight);
    put(static_cast<std::uint8_t>(one.formula));
    put(static_cast<std::uint32_t>(one.counts.size()));
    for (const double count : one.counts) put(count);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

/// Reads values in sequence. Missing bytes read as zero or empty, and make is_good() false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool is_good() const { return is_good_; }
  bool is_at_end() const { return is_good_ && rest_.empty(); }
  bool has_more() const { return is_good_ && !rest_.empty(); }

  std::string_view take(std::size_t size) {
    is_good_ = is_good_ && size <= rest_.size();
    if (!is_good_) return {};
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  template <class T>
  T number() {
    T value{};
    const std::string_view bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  /// A value of an enumeration that ends with `last`.
  template <class Enum>
  Enum one_of(Enum last) {
    const auto value = number<std::uint8_t>();
    is_good_ = is_good_ && value <= static_cast<std::uint8_t>(last);
    return is_good_ ? static_cast<Enum>(value) : Enum{};
  }
  std::string text() { return std::string(take(number<std::uint32_t>())); }
  Tensor tensor() {
    const auto rank = number<std::uint32_t>();
    if (rank > kMostRank) return {};
    const auto known = tensor::parse_dtype(text());
    is_good_ = is_good_ && known.has_value();
    const tensor::DType dtype = known.value_or(tensor::DType::kF32);
    tensor::Shape shape;
    for (std::uint32_t i = 0; i < rank; ++i) shape.push_back(number<std::int64_t>());
    const auto size = tensor::checked_byte_size(dtype, shape);
    is_good_ = is_good_ && size.has_value();
    const std::string_view bytes = take(size.value_or(0));
    if (!is_good_) return {};
    Tensor out = Tensor::uninitialized(dtype, std::move(shape));
    if (!bytes.empty()) std::memcpy(out.mutable_data(), bytes.data(), bytes.size());
    return out;
  }
  step::Metric metric() {
    step::Metric one{.name = text()};
    one.reduce = one_of(program::Reduce::kSum);
    one.part = one_of(program::Part::kFalseNegatives);
    one.value = number<double>();
    one.weight = number<double>();
    one.formula = one_of(program::Formula::kPrAuc);
    for (auto left = number<std::uint32_t>(); left > 0 && is_good_; --left) one.counts.push_back(number<double>());
    return one;
  }

 private:
  std::string_view rest_;
  bool is_good_ = true;
};

}  // namespace

Error named(Error error, const std::string& member) {
  if (!error.task.empty()) return error;
  error.message = fmt::format("{}: {}", member, error.message);
  error.task = member;
  return error;
}

std::string format_metrics(const std::vector<step::Metric>& metrics) {
  Writer out;
  for (const step::Metric& one : metrics) out.put_metric(one);
  return out.take();
}

Result<std::vector<step::Metric>> parse_metrics(std::string_view text) {
  Reader in(text);
  std::vector<step::Metric> out;
  while (in.has_more()) out.push_back(in.metric());
  if (!in.is_good()) return fail(Code::kProtocolMismatch, "malformed metrics");
  return out;
}

std::string format_outputs(const step::ReplicaOutputs& outputs) {
  Writer out;
  for (std::size_t i = 0; i < outputs.outputs.size(); ++i) {
    const auto& [outcome, updates] = outputs.outputs[i];
    out.put(outputs.examples[i]);
    out.put(static_cast<std::uint32_t>(outcome.results.size()));
    for (const Tensor& one : outcome.results) out.put_tensor(one);
    out.put(static_cast<std::uint32_t>(outcome.metrics.size()));
    for (const step::Metric& one : outcome.metrics) out.put_metric(one);
    out.put(static_cast<std::uint32_t>(updates.size()));
    for (const variable::Update& one : updates) {
      out.put(static_cast<std::uint8_t>(one.kind));
      out.put_text(one.variable);
      out.put_tensor(one.value);
      out.put_tensor(one.indices);
    }
  }
  return out.take();
}

Result<step::ReplicaOutputs> parse_outputs(std::string_view text) {
  Reader in(text);
  step::ReplicaOutputs out;
  while (in.has_more()) {
    out.examples.push_back(in.number<double>());
    step::BoundOutputs& one = out.outputs.emplace_back();
    for (auto left = in.number<std::uint32_t>(); left > 0 && in.is_good(); --left)
      one.outcome.results.push_back(in.tensor());
    for (auto left = in.number<std::uint32_t>(); left > 0 && in.is_good(); --left)
      one.outcome.metrics.push_back(in.metric());
    for (auto left = in.number<std::uint32_t>(); left > 0 && in.is_good(); --left) {
      variable::Update& update = one.updates.emplace_back();
      update.kind = in.one_of(variable::UpdateKind::kNonfiniteScale);
      update.variable = in.text();
      update.value = in.tensor();
      update.indices = in.tensor();
    }
  }
  if (!in.is_good()) return fail(Code::kProtocolMismatch, "malformed outputs of replicas");
  return out;
}

Result<step::ReplicaOutputs> gather_outputs(GroupExchange& exchange, std::string_view name, std::int64_t number,
                                            const step::ReplicaOutputs& own) {
  if (exchange.range().is_whole()) return own;
  step::ReplicaOutputs all;
  for (const std::string& text : TFD_TRY(exchange.gather(name, number, format_outputs(own)))) {
    step::ReplicaOutputs one = TFD_TRY(parse_outputs(text));
    std::ranges::move(one.outputs, std::back_inserter(all.outputs));
    std::ranges::move(one.examples, std::back_inserter(all.examples));
  }
  return all;
}

}  // namespace tfd::strategy
