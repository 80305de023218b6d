// SPDX-License-Identifier: Apache-2.0
#include "pipelines.hpp"

#include <unistd.h>

#include <fstream>

#include "tfd/tensor/json.hpp"

namespace tfd::vectors {

using tensor::Tensor;

TextFiles::TextFiles()
    : directory_(std::filesystem::temp_directory_path() / fmt::format("tfd-vectors-{}", ::getpid())) {
  std::filesystem::create_directories(directory_);
}

Json TextFiles::write(const Json& files) const {
  Json paths = Json::array();
  for (const Json& file : files) {
    const std::filesystem::path path = directory_ / file.at(0).get<std::string>();
    std::ofstream out(path);
    for (const Json& line : file.at(1)) out << line.get<std::string>() << '\n';
    paths.push_back(path.string());
  }
  return paths;
}

namespace {

/// A case's pipeline in tfd's words; texts are padded to one size where they are batched.
class Pipeline {
 public:
  explicit Pipeline(const TextFiles& files, int depth = 0) : files_(files), depth_(depth) {}

  Json read(const Json& stated) {
    check_keys(stated, {"source", "ops", "policy"});
    read_source(stated.at("source"));
    for (const Json& op : stated.at("ops")) read_op(op);
    if (stated.contains("policy")) {
      std::string policy = stated.at("policy");
      std::ranges::transform(policy, policy.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
      add("options", {{"auto_shard", policy}});
    }
    return std::move(plan_);
  }

 private:
  void add(const char* kind, Json value) { plan_.push_back({{kind, std::move(value)}}); }
  Json field() const { return depth_ == 0 ? "value" : fmt::format("value{}", depth_); }

  void read_source(const Json& source) {
    is_text_ = source.contains("text_files") || source.contains("file_names");
    if (source.contains("file_names"))
      names_ = files_.write(source.at("file_names"));
    else if (is_text_)
      add("text", {{"path", files_.write(source.at("text_files"))}, {"field", field()}});
    else if (source.contains("range") && depth_ == 0)
      add("range", source.at("range"));
    else
      add("tensor_slices", {{"fields", {{field(), rows_of(source)}}}});
  }

  /// A range as rows, where its field has another name: those of a zip differ. Whole numbers are s64.
  static Json rows_of(const Json& source) {
    if (!source.contains("range")) {
      const Json& rows = source.at(source.contains("slices") ? "slices" : "generator");
      return rows.dump().find('.') == std::string::npos ? Json{{"dtype", "s64"}, {"data", rows}} : rows;
    }
    const Json& range = source.at("range");
    const std::int64_t first = range.is_array() ? range.at(0).get<std::int64_t>() : 0;
    const std::int64_t end = range.is_array() ? range.at(1).get<std::int64_t>() : range.get<std::int64_t>();
    Json numbers = Json::array();
    for (std::int64_t i = first; i < end; ++i) numbers.push_back(i);
    return {{"dtype", "s64"}, {"shape", {numbers.size()}}, {"data", numbers}};
  }

  void read_op(const Json& op) {
    const std::string name = op.at(0);
    const auto flag = [&](std::size_t i) { return op.size() > i && op.at(i).get<bool>(); };
    if (name == "batch" || name == "padded_batch") {
      add(is_text_ || name == "padded_batch" ? "padded_batch" : "batch",
          {{"size", op.at(1)}, {"drop_remainder", flag(2)}});
    } else if (name == "rebatch") {
      add("rebatch", {{"sizes", op.at(1)}, {"drop_remainder", flag(2)}});
    } else if (name == "shard") {
      add("shard", {{"count", op.at(1)}, {"index", op.at(2)}});
    } else if (name == "shard_hint") {
      add("shard", "hint");
    } else if (name == "repeat") {
      add("repeat", op.size() > 1 && !op.at(1).is_null() ? Json{{"count", op.at(1)}} : Json::object());
    } else if (name == "map_add") {
      add("map", {{"function", fmt::format("add {}", op.at(1).get<std::int64_t>())}, {"fields", {field()}}});
    } else if (name == "zip" || name == "concatenate") {
      add(name.c_str(), Pipeline(files_, name == "zip" ? depth_ + 1 : depth_).read(op.at(1)));
    } else if (name == "flat_map_text") {
      add("text", {{"path", names_}, {"field", field()}});
    } else if (name == "interleave_text") {
      interleave(op);
    } else if (name == "shuffle") {
      add("shuffle", {{"buffer", op.at(1)}, {"seed", op.size() > 2 ? op.at(2) : Json(0)}});
    } else if (name == "unbatch" || name == "cache") {
      add(name.c_str(), Json::object());
    } else if (name == "take" || name == "skip" || name == "prefetch" || name == "legacy_rebatch") {
      add(name.c_str(), op.at(1));
    } else {
      throw std::runtime_error("nobody knows the operation '" + name + "'");
    }
  }

  void interleave(const Json& op) {
    Json others = Json::array();
    for (const Json& path : names_) others.push_back(Json::array({{{"text", {{"path", path}, {"field", field()}}}}}));
    plan_.push_back(others.at(0).at(0));
    others.erase(0);
    if (others.empty()) return;
    add("interleave",
        {{"datasets", others}, {"cycle_length", op.at(1)}, {"block_length", op.size() > 2 ? op.at(2) : Json(1)}});
  }

  const TextFiles& files_;
  int depth_;
  Json plan_ = Json::array();
  Json names_;
  bool is_text_ = false;
};

/// "add 100".
Result<data::MapFunction> find_function(const std::string& name, const data::ElementSpec& input,
                                        const std::vector<std::string>& fields) {
  const std::int64_t more = std::stoll(name.substr(4));
  data::FieldSpec made = input.front();
  made.name = fields.front();
  return data::MapFunction{{made}, [more](const data::Element& element) -> Result<data::Element> {
                             const Tensor& in = element.front();
                             Tensor out = Tensor::uninitialized(in.dtype(), in.shape());
                             for (std::int64_t i = 0; i < in.size(); ++i)
                               out.mutable_as<std::int64_t>()[i] = in.as<std::int64_t>()[i] + more;
                             return data::Element{std::move(out)};
                           }};
}

}  // namespace

Result<data::Plan> read_plan(const Json& pipeline, const TextFiles& files) {
  return data::parse_plan(Pipeline(files).read(pipeline));
}

data::DatasetContext context() { return {.find_function = find_function}; }

Json value_of(const Tensor& tensor, std::int64_t first) {
  if (tensor.dtype() == tensor::DType::kU8) {
    if (tensor.shape().size() > 1) {
      Json rows = Json::array();
      for (std::int64_t row = 0; row < tensor.shape()[0]; ++row) {
        const Tensor one = tensor.slice_rows(row, 1);
        rows.push_back(value_of(one.reshaped({one.size()})));
      }
      return rows;
    }
    const std::string text(reinterpret_cast<const char*>(tensor.data()), tensor.byte_size());
    return text.substr(static_cast<std::size_t>(first), text.find('\0'));
  }
  const auto value = tensor::tensor_to_json(tensor);
  return value.is_object() ? Json(value.at("data")) : Json(value);
}

Json value_of(const data::Element& element) {
  if (element.size() == 1) return value_of(element.front());
  Json fields = Json::array();
  for (const Tensor& field : element) fields.push_back(value_of(field));
  return fields;
}

}  // namespace tfd::vectors
