#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Code shared by this room's tests: a temporary directory, pipelines from text, elements as plain numbers.
#include <doctest/doctest.h>
#include <zlib.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "temporary_directory.hpp"
#include "tfd/data/plan.hpp"

namespace tfd::data {

class TemporaryDirectory : public test::TemporaryDirectory {
 public:
  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string file = *this / name;
    std::ofstream(file, std::ios::binary) << bytes;
    return file;
  }
  DatasetContext context() const { return {.directory = path()}; }
};

using DatasetPtr = std::shared_ptr<const Dataset>;

inline Result<DatasetPtr> try_dataset_of(const std::string& text, const DatasetContext& context) {
  return instantiate(TFD_TRY(parse_plan(nlohmann::ordered_json::parse(text))), context);
}

inline DatasetPtr dataset_of(const std::string& text, const DatasetContext& context = {}) {
  auto made = try_dataset_of(text, context);
  REQUIRE_MESSAGE(made.has_value(), (made ? std::string() : made.error().message));
  return *made;
}

inline std::string gzipped(const std::string& text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<unsigned>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// The pipeline as reader `index` of `count` sees it, which share the elements.
inline DatasetPtr shard_of(const std::string& text, std::int64_t count, std::int64_t index,
                           const DatasetContext& context = {}) {
  auto made = instantiate(shard(parse_plan(nlohmann::ordered_json::parse(text)).value(), Shard{count, index}), context);
  REQUIRE_MESSAGE(made.has_value(), (made ? std::string() : made.error().message));
  return *made;
}

inline Error error_of(const std::string& text, const DatasetContext& context = {}) {
  const auto made = try_dataset_of(text, context);
  REQUIRE_FALSE(made.has_value());
  return made.error();
}

inline double number_at(const tensor::Tensor& t, std::size_t i) {
  switch (t.dtype()) {
    case tensor::DType::kF32:
      return t.as<float>()[i];
    case tensor::DType::kF64:
      return t.as<double>()[i];
    case tensor::DType::kS8:
      return t.as<std::int8_t>()[i];
    case tensor::DType::kS16:
      return t.as<std::int16_t>()[i];
    case tensor::DType::kS32:
      return t.as<std::int32_t>()[i];
    case tensor::DType::kS64:
      return static_cast<double>(t.as<std::int64_t>()[i]);
    case tensor::DType::kU8:
      return t.as<std::uint8_t>()[i];
    case tensor::DType::kU16:
      return t.as<std::uint16_t>()[i];
    case tensor::DType::kU32:
      return t.as<std::uint32_t>()[i];
    case tensor::DType::kU64:
      return static_cast<double>(t.as<std::uint64_t>()[i]);
    case tensor::DType::kBool:
      return t.as<std::uint8_t>()[i];
    case tensor::DType::kF16:
      return tensor::half_to_float(t.as<std::uint16_t>()[i]);
    case tensor::DType::kBF16:
      return tensor::bfloat16_to_float(t.as<std::uint16_t>()[i]);
  }
  return 0;
}
inline std::vector<double> numbers_of(const tensor::Tensor& t) {
  std::vector<double> out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(t.size()); ++i) out.push_back(number_at(t, i));
  return out;
}

/// Field 0 of every element (of the first `most`), and the error it ended with, if any.
struct Drained {
  std::vector<std::vector<double>> elements;
  std::optional<Error> error;
  /// All numbers behind one another.
  std::vector<double> flat() const {
    std::vector<double> all;
    for (const auto& element : elements) all.insert(all.end(), element.begin(), element.end());
    return all;
  }
};
inline Drained drain(Iterator& iterator, std::size_t most = 1000000) {
  Drained out;
  while (out.elements.size() < most) {
    auto element = iterator.next();
    if (!element) {
      out.error = element.error();
      auto again = iterator.next();
      REQUIRE_FALSE(again.has_value());
      CHECK(again.error().message == out.error->message);
      break;
    }
    if (!element->has_value()) {
      CHECK_FALSE(iterator.next().value().has_value());  // ever after
      break;
    }
    out.elements.push_back(numbers_of((**element)[0]));
  }
  return out;
}
inline Drained drain(const DatasetPtr& dataset, std::size_t most = 1000000) {
  auto iterator = dataset->iterate();
  REQUIRE_MESSAGE(iterator.has_value(), (iterator ? std::string() : iterator.error().message));
  return drain(**iterator, most);
}
/// All numbers of field 0 of a pipeline that doesn't fail.
inline std::vector<double> values_of(const std::string& text, const DatasetContext& context = {},
                                     std::size_t most = 1000000) {
  const Drained drained = drain(dataset_of(text, context), most);
  REQUIRE_MESSAGE(!drained.error.has_value(), (drained.error ? drained.error->message : std::string()));
  return drained.flat();
}

using Numbers = std::vector<double>;

}  // namespace tfd::data
