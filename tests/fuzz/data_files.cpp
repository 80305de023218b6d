// SPDX-License-Identifier: Apache-2.0
//
// Files of data, as the sources of datasets read them.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "checks.hpp"
#include "sources/example.hpp"
#include "targets.hpp"
#include "tfd/data/plan.hpp"

namespace tfd::fuzz {
namespace {

/// A regular file in memory, with a name as long as it exists.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    expect(fd_ >= 0 && ::write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
           "a file is made");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(fd_); }
  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }

 private:
  int fd_;
};

void expect_fits(const data::Element& element, const data::ElementSpec& spec) {
  expect(element.size() == spec.size(), "an element has the fields of its spec");
  for (std::size_t i = 0; i < spec.size(); ++i) {
    const tensor::Shape& shape = element[i].shape();
    expect(element[i].dtype() == spec[i].dtype && shape.size() == spec[i].shape.size(),
           "a field is what it was said to be");
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      expect(spec[i].shape[axis] == -1 || spec[i].shape[axis] == shape[axis],
             "a field has the size it was said to have");
  }
}

// A few bytes may state any number of rows that have none.
constexpr std::int64_t kMostLookedAt = 10000;

/// How many elements a pass has, and its error's text.
std::pair<std::int64_t, std::string> pass_over(const data::Dataset& dataset) {
  const auto iterator = dataset.iterate();
  if (!iterator) return expect_readable(iterator.error()), std::pair(std::int64_t{-1}, iterator.error().message);
  for (std::int64_t elements = 0;; ++elements) {
    const auto element = (*iterator)->next();
    if (!element) {
      expect_readable(element.error());
      const auto again = (*iterator)->next();
      expect(!again && again.error().message == element.error().message, "an error comes again");
      return {elements, element.error().message};
    }
    if (!*element) return {elements, ""};
    expect_fits(**element, dataset.spec());
    if (elements < kMostLookedAt) continue;
    const auto others = (*iterator)->skip(std::numeric_limits<std::int64_t>::max());
    return others ? std::pair(elements + 1 + *others, std::string()) : std::pair(elements, others.error().message);
  }
}

/// The file by this source, whose options are those of `options` and its path.
void read_source(std::string_view bytes, const std::string& source, nlohmann::ordered_json options) {
  const MemoryFile file(bytes);
  options["path"] = file.path();
  const nlohmann::ordered_json pipeline{{{source, options}}};
  const auto plan = data::parse_plan(nlohmann::ordered_json::parse(pipeline.dump()));
  expect(plan.has_value(), "the pipeline is right");
  const auto dataset = data::instantiate(*plan, {});
  if (!dataset) return expect_readable(dataset.error());
  const auto first = pass_over(**dataset);
  expect(pass_over(**dataset) == first, "the second pass is as the first");
  if (const auto count = (*dataset)->cardinality(); count && first.second.empty())
    expect(*count == first.first, "there are as many as were said to be");
}

nlohmann::ordered_json parse(const char* text) { return nlohmann::ordered_json::parse(text); }

}  // namespace

void csv(std::string_view bytes) {
  for (const char* on_error : {"fail", "skip"}) {
    auto options = parse(R"({"fields": {"x": {"columns": [0, 2]}, "n": {"columns": 1, "dtype": "s8"}}})");
    options["on_error"] = on_error;
    read_source(bytes, "csv", options);
    options["header"] = true;
    options["fields"]["text"] = {{"columns", "x"}, {"dtype", "string"}};
    read_source(bytes, "csv", options);
    options["quoting"] = "none";
    read_source(bytes, "csv", options);
  }
}

void jsonl(std::string_view bytes) {
  for (const char* on_error : {"fail", "skip"}) {
    auto options = parse(
        R"({"fields": {"x": {}, "text": {"dtype": "u8", "shape": [-1]}, "m": {"dtype": "s16", "shape": [-1, 2]}}})");
    options["on_error"] = on_error;
    read_source(bytes, "jsonl", options);
  }
}

void tfrecord(std::string_view bytes) {
  read_source(bytes, "tfrecord", parse("{}"));
  read_source(bytes, "tfrecord",
              parse(R"({"features": {"label": {"dtype": "s64", "default": 1}}, "on_error": "skip"})"));
}

void tf_example(std::string_view bytes) {
  const data::ElementSpec spec{{"f", tensor::DType::kF32, {-1}},       {"i", tensor::DType::kS64, {-1}},
                               {"b", tensor::DType::kU8, {-1}},        {"fixed", tensor::DType::kS8, {2}},
                               {"rows", tensor::DType::kU16, {-1, 2}}, {"flag", tensor::DType::kBool, {-1}}};
  std::vector<data::ExampleFeature> features;
  for (const data::FieldSpec& field : spec) features.push_back({field});
  features[3].fallback = tensor::Tensor::zeros(tensor::DType::kS8, {2});
  data::BlockBuilder builder(spec, 1);
  builder.prepare();
  if (const auto parsed = data::parse_example(bytes, features, builder); !parsed)
    return expect_readable(parsed.error());
  builder.commit();
  const data::Element element = data::to_element({builder.take(), 0});
  expect_fits(element, spec);
  builder.prepare();
  expect(data::parse_example(data::encode_example(spec, element), features, builder).has_value(),
         "what is encoded is parsed");
  builder.commit();
  const data::Element again = data::to_element({builder.take(), 0});
  for (std::size_t i = 0; i < spec.size(); ++i)
    expect(tensor::same_bytes(again[i], element[i]), "what is encoded and parsed is the same");
}

void npy(std::string_view bytes) { read_source(bytes, "npy", parse(R"({"field": "x"})")); }
void idx(std::string_view bytes) { read_source(bytes, "idx", parse(R"({"field": "x"})")); }
void npz(std::string_view bytes) { read_source(bytes, "npz", parse("{}")); }

}  // namespace tfd::fuzz
