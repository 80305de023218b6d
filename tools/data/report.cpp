// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <stop_token>
#include <thread>

#include "tfd/base/json_line.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::data_tool {
namespace {

/// True for valid UTF-8: no overlong forms, surrogates or code points beyond U+10FFFF. Source: RFC 3629.
bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = [&](std::size_t i) {
      return static_cast<unsigned char>(at + i < text.size() ? text[at + i] : 0);
    };
    const std::size_t length = byte(0) < 0x80   ? 1
                               : byte(0) < 0xC2 ? 0
                               : byte(0) < 0xE0 ? 2
                               : byte(0) < 0xF0 ? 3
                               : byte(0) < 0xF5 ? 4
                                                : 0;
    if (length == 0) return false;
    for (std::size_t i = 1; i < length; ++i)
      if ((byte(i) & 0xC0) != 0x80) return false;
    if ((byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xED && byte(1) > 0x9F) ||
        (byte(0) == 0xF0 && byte(1) < 0x90) || (byte(0) == 0xF4 && byte(1) > 0x8F))
      return false;
    at += length;
  }
  return true;
}

std::string_view text_of(const tensor::Tensor& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.byte_size()};
}

/// Appends a value as JSON. Bytes that are UTF-8 become a string; padding of strings in a batch is removed.
void append_value(const tensor::Tensor& value, const data::FieldSpec& field, std::string& out) {
  if (!field.is_text || value.shape().size() > 2 || !is_utf8(text_of(value))) return tensor::append_json(value, out);
  if (value.shape().size() == 1) return append_json_string(text_of(value), out);
  out += '[';
  for (std::int64_t i = 0; i < value.shape()[0]; ++i) {
    if (i > 0) out += ", ";
    const tensor::Tensor row = value.slice_rows(i, 1);
    const std::string_view text = text_of(row);
    append_json_string(text.substr(0, text.find_last_not_of('\0') + 1), out);
  }
  out += ']';
}

void append_element(const data::Element& element, const data::ElementSpec& spec, std::string& out) {
  out += '{';
  for (std::size_t field = 0; field < spec.size(); ++field) {
    if (field > 0) out += ", ";
    append_json_string(spec[field].name, out);
    out += ": ";
    append_value(element[field], spec[field], out);
  }
  out += '}';
}

std::string describe_spec(const data::ElementSpec& spec) {
  JsonLine fields;
  for (const data::FieldSpec& field : spec) {
    const bool is_text = field.is_text && field.shape == tensor::Shape{-1};
    const std::string one =
        fmt::format("{{\"dtype\": \"{}\", \"shape\": {}}}", is_text ? "string" : tensor::dtype_name(field.dtype),
                    is_text ? "[]" : tensor::format_shape(field.shape));
    fields.add_raw(field.name, one);
  }
  std::string text = std::move(fields).text();
  text.pop_back();  // its newline
  return text == "}" ? "{}" : text;
}

std::string describe_cardinality(const data::Dataset& dataset, bool is_endless) {
  const auto count = dataset.cardinality();
  if (is_endless || count == data::Dataset::kInfinite) return "\"infinite\"";
  return count ? std::to_string(*count) : "\"unknown\"";
}

void add_skipped(JsonLine& line, const Skipped& skipped) {
  if (skipped.count > 0) line.add("skipped", skipped.count);
}

}  // namespace

std::string describe(const data::Dataset& dataset, bool is_endless, const std::vector<data::Element>& elements,
                     const Skipped& skipped) {
  const data::ElementSpec& spec = dataset.spec();
  std::string out = "{\"spec\": " + describe_spec(spec) + ",\n";
  out += " \"cardinality\": " + describe_cardinality(dataset, is_endless) + ",\n";
  if (skipped.count > 0) out += fmt::format(" \"skipped\": {},\n", skipped.count);
  out += " \"elements\": [";
  for (std::size_t i = 0; i < elements.size(); ++i) {
    out += i == 0 ? "\n  " : ",\n  ";
    append_element(elements[i], spec, out);
  }
  return out + "]}\n";
}

std::string describe_share(const Taker& taker, const data::ElementSpec& spec, const data::Element& element) {
  std::string text;
  append_element(element, spec, text);
  JsonLine line;
  line.add("step", taker.step).add("worker", taker.worker).add("replica", taker.replica).add_raw("element", text);
  return std::move(line).text();
}

std::string describe_count(std::int64_t elements, const Skipped& skipped) {
  JsonLine line;
  line.add("elements", elements);
  add_skipped(line, skipped);
  return std::move(line).text();
}

namespace {

/// Requests a stop once the time is up.
class StopAfter {
 public:
  StopAfter(Duration duration, std::stop_token& token) {
    token = source_.get_token();
    thread_ = std::jthread([source = source_, duration](const std::stop_token& ended) mutable {
      Mutex mutex;
      std::condition_variable_any changed;
      MutexLock lock(mutex);
      changed.wait_for(lock, ended, duration, [] { return false; });
      source.request_stop();
    });
  }

 private:
  std::stop_source source_;
  std::jthread thread_;
};

}  // namespace

Result<Speed> measure(const data::Dataset& dataset, std::int64_t most, Duration duration) {
  using Clock = std::chrono::steady_clock;
  Speed speed;
  const auto begin = Clock::now();
  data::Order order;
  const StopAfter stop(duration, order.stop);  // a silent command would block the read
  const auto iterator = TFD_TRY(dataset.iterate(order));
  while (speed.elements < most) {
    const auto element = iterator->next();
    if (!element && element.error().code == Code::kCancelled && order.stop.stop_requested()) break;
    if (!TFD_TRY(element)) break;
    ++speed.elements;
    for (const tensor::Tensor& field : **element) speed.bytes += static_cast<std::int64_t>(field.byte_size());
    if (Clock::now() - begin >= duration) break;
  }
  speed.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return speed;
}

std::string describe_speed(const Speed& speed, const Skipped& skipped) {
  const double seconds = std::max(speed.seconds, 1e-9);
  JsonLine line;
  line.add("elements", speed.elements).add("bytes", speed.bytes).add("seconds", speed.seconds);
  line.add("elements_per_second", static_cast<double>(speed.elements) / seconds);
  line.add("bytes_per_second", static_cast<double>(speed.bytes) / seconds);
  add_skipped(line, skipped);
  return std::move(line).text();
}

}  // namespace tfd::data_tool
