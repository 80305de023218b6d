// SPDX-License-Identifier: Apache-2.0
#include "random_pipelines.hpp"

#include <algorithm>
#include <cmath>

#include "row.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;
using tensor::Shape;
using tensor::Tensor;

Value value_of(const Tensor& tensor) { return {tensor.shape(), numbers_of(tensor)}; }

class PipelineDraw {
 public:
  explicit PipelineDraw(std::uint64_t seed) : engine_(seed) {}
  std::int64_t number(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }
  bool flag() { return number(0, 1) == 1; }

  ordered_json source() {
    switch (number(0, 5)) {
      case 0:
        return {{"range", {number(-5, 5), number(0, 40), number(1, 3)}}};
      case 1: {
        ordered_json rows = ordered_json::array();
        const std::int64_t count = number(0, 12);
        for (std::int64_t i = 0; i < std::max<std::int64_t>(count, 1); ++i) rows.push_back({i, 2 * i, i + 7});
        return {{"tensor_slices", {{"fields", {{"value", rows}}}}}};
      }
      case 2:
        return {{"text", {{"path", "lines.txt"}, {"field", "value"}}}};
      case 3:
        return {{"jsonl", {{"path", "ragged.jsonl"}, {"fields", {{"value", {{"dtype", "s64"}, {"shape", {-1, 2}}}}}}}}};
      case 4:
        return {{"csv", {{"path", "rows*.csv"}, {"fields", {{"value", {{"columns", {0, 2}}, {"dtype", "s32"}}}}}}}};
      default:
        return {{"range", number(0, 30)}};
    }
  }

  ordered_json transformation(const std::string& new_name) {
    switch (number(0, 21)) {
      case 0:
        return {
            {"shuffle", {{"buffer", number(1, 20)}, {"seed", number(0, 99)}, {"reshuffle_each_iteration", flag()}}}};
      case 1:
        return {{"repeat", number(0, 3)}};
      case 2:
      case 3:
        return {{"batch", {{"size", number(1, 5)}, {"drop_remainder", flag()}}}};
      case 4:
        return {{"padded_batch", {{"size", number(1, 5)}, {"drop_remainder", flag()}}}};
      case 5:
        return {{"unbatch", ordered_json::object()}};
      case 6:
        return {
            {"window",
             {{"size", number(1, 5)}, {"shift", number(1, 7)}, {"stride", number(1, 3)}, {"drop_remainder", flag()}}}};
      case 7:
        return {{"map", {{"function", "double"}, {"fields", {"value"}}, {"parallel", number(1, 4)}}}};
      case 8:
        return {{"filter", {{"function", "keep"}}}};
      case 9:
        return {{"enumerate", {{"start", number(-3, 3)}, {"field", new_name}}}};
      case 10:
        return {{"take", number(0, 30)}};
      case 11:
        return {{"skip", number(0, 8)}};
      case 12: {
        const std::int64_t count = number(1, 4);
        return {{"shard", {{"count", count}, {"index", number(0, count - 1)}}}};
      }
      case 13:
        return {{"concatenate", pipelines(number(1, 2))}};
      case 16: {
        ordered_json sizes = ordered_json::array();
        for (std::int64_t left = number(1, 3); left > 0; --left) sizes.push_back(number(1, 4));
        return {{"rebatch", {{"sizes", sizes}, {"drop_remainder", flag()}}}};
      }
      case 17:
        return {{"legacy_rebatch", number(1, 4)}};
      case 20:
      case 21:
        return {{"whole_steps", {{"replicas", number(1, 4)}, {"drop_remainder", flag()}}}};
      case 18:
        return {{flag() ? "batch" : "padded_batch",
                 {{"size", number(1, 5)}, {"drop_remainder", false}, {"pad_remainder", true}, {"mask", new_name}}}};
      case 14:
        return {{"zip", ordered_json::array({source(),
                                             {{"enumerate", {{"field", new_name}}}},
                                             {{"map", {{"function", "double"}, {"fields", {new_name + "z"}}}}}})}};
      case 15:
        return {
            {"interleave",
             {{"datasets", pipelines(number(1, 3))}, {"cycle_length", number(1, 4)}, {"block_length", number(1, 3)}}}};
      default:
        return flag() ? ordered_json{{"prefetch", number(1, 4)}} : ordered_json{{"cache", ordered_json::object()}};
    }
  }

 private:
  ordered_json pipelines(std::int64_t count) {
    ordered_json list = ordered_json::array();
    for (; count > 0; --count) list.push_back(ordered_json::array({source()}));
    return list;
  }
  std::mt19937_64 engine_;
};

// --- the reference -------------------------------------------------------------------------------------------------

// All rows of one size, which are one array: or padded to the largest of them.
Value packed(const std::vector<Value>& rows) {
  Shape largest = rows.front().shape;
  for (const Value& row : rows)
    for (std::size_t axis = 0; axis < largest.size(); ++axis) largest[axis] = std::max(largest[axis], row.shape[axis]);
  Value out{largest, {}};
  out.shape.insert(out.shape.begin(), static_cast<std::int64_t>(rows.size()));
  const auto size = static_cast<std::size_t>(tensor::element_count(largest));
  for (const Value& row : rows) {
    Numbers padded(size, 0);
    for (std::size_t i = 0; i < row.numbers.size(); ++i) {
      std::size_t at = 0, left = i, each = 1;
      for (std::size_t axis = largest.size(); axis-- > 0; each *= static_cast<std::size_t>(largest[axis])) {
        const auto here = static_cast<std::size_t>(row.shape[axis]);
        at += left % here * each;
        left /= here;
      }
      padded[at] = row.numbers[i];
    }
    out.numbers.insert(out.numbers.end(), padded.begin(), padded.end());
  }
  return out;
}

Values packed(const Elements& rows) {
  Values out;
  for (const auto& [name, first] : rows.front()) {
    std::vector<Value> column;
    for (const Values& row : rows) column.push_back(row.at(name));
    out[name] = packed(column);
  }
  return out;
}

Elements windows(const Elements& input, std::int64_t size, std::int64_t shift, std::int64_t stride, bool drop) {
  Elements out;
  for (std::size_t start = 0; start < input.size(); start += static_cast<std::size_t>(shift)) {
    Elements rows;
    for (std::int64_t i = 0; i < size; ++i) {
      const std::size_t at = start + static_cast<std::size_t>(i * stride);
      if (at < input.size()) rows.push_back(input[at]);
    }
    if (!drop || static_cast<std::int64_t>(rows.size()) == size) out.push_back(packed(rows));
  }
  return out;
}

// The last one filled up with its last row.
Elements masked_batches(const Elements& input, std::size_t size, const std::string& mask) {
  Elements out;
  for (std::size_t start = 0; start < input.size(); start += size) {
    Elements rows;
    Value real{{static_cast<std::int64_t>(size)}, {}};
    for (std::size_t i = 0; i < size; ++i) {
      real.numbers.push_back(start + i < input.size() ? 1 : 0);
      rows.push_back(input[std::min(start + i, input.size() - 1)]);
    }
    out.push_back(packed(rows));
    out.back()[mask] = std::move(real);
  }
  return out;
}

Values rows_of(const Values& batch, std::int64_t first, std::int64_t end) {
  Values out;
  for (const auto& [name, value] : batch) {
    const auto each = value.shape[0] == 0 ? 0 : std::ssize(value.numbers) / value.shape[0];
    Value& part = out[name];
    part.shape = value.shape;
    part.shape[0] = end - first;
    part.numbers.assign(value.numbers.begin() + first * each, value.numbers.begin() + end * each);
  }
  return out;
}

Elements cut(const Elements& input, std::int64_t pieces) {
  Elements out;
  for (const Values& batch : input) {
    const std::int64_t rows = batch.begin()->second.shape[0];
    const std::int64_t each = (rows + pieces - 1) / pieces;
    for (std::int64_t i = 0; i < pieces; ++i)
      out.push_back(rows_of(batch, std::min(i * each, rows), std::min((i + 1) * each, rows)));
  }
  return out;
}

Elements in_whole_steps(Elements input, std::int64_t replicas, bool drop) {
  while (std::ssize(input) % replicas != 0)
    if (drop)
      input.pop_back();
    else
      input.push_back(rows_of(input.back(), 0, 0));
  return input;
}

Elements rebatched(const Elements& rows, const std::vector<std::size_t>& sizes, bool drop) {
  Elements out;
  for (std::size_t at = 0, turn = 0; at < rows.size(); ++turn) {
    const std::size_t size = sizes[turn % sizes.size()];
    const std::size_t end = std::min(at + size, rows.size());
    if (end == at + size || !drop)
      out.push_back(packed(
          Elements(rows.begin() + static_cast<std::ptrdiff_t>(at), rows.begin() + static_cast<std::ptrdiff_t>(end))));
    at = end;
  }
  return out;
}

Elements unbatched(const Elements& input) {
  Elements out;
  for (const Values& batch : input) {
    const std::int64_t rows = batch.begin()->second.shape[0];
    for (std::int64_t row = 0; row < rows; ++row) {
      Values one;
      for (const auto& [name, value] : batch) {
        const auto each = static_cast<std::ptrdiff_t>(value.numbers.size()) / rows;
        one[name] = {{value.shape.begin() + 1, value.shape.end()},
                     {value.numbers.begin() + row * each, value.numbers.begin() + (row + 1) * each}};
      }
      out.push_back(std::move(one));
    }
  }
  return out;
}

Elements interleaved(std::vector<Elements> inputs, std::size_t cycle, std::size_t block) {
  Elements out;
  std::vector<std::optional<Elements>> slots(std::min(cycle, inputs.size()));
  std::size_t opened = 0;
  std::size_t ended = 0;
  for (std::size_t at = 0; ended < inputs.size(); at = (at + 1) % slots.size()) {
    if (!slots[at] && opened < inputs.size()) slots[at] = inputs[opened++];
    if (!slots[at]) continue;
    for (std::size_t i = 0; i < block && slots[at]; ++i) {
      if (slots[at]->empty()) {
        slots[at].reset();
        ++ended;
      } else {
        out.push_back(slots[at]->front());
        slots[at]->erase(slots[at]->begin());
      }
    }
  }
  return out;
}

std::vector<Elements> inputs_of(const Elements& first, const ordered_json& others, const PipelineWorld& world,
                                std::uint64_t pass) {
  std::vector<Elements> inputs{first};
  if (others.front().is_object())
    inputs.push_back(reference_elements(others, world, pass));
  else
    for (const ordered_json& other : others) inputs.push_back(reference_elements(other, world, pass));
  return inputs;
}

Elements shuffled(const Elements& input, const ordered_json& shuffle, std::uint64_t pass) {
  const ordered_json permutation{{{"range", input.size()}}, {{"shuffle", shuffle}}};
  const auto dataset = dataset_of(permutation.dump());
  const auto iterator = dataset->iterate(Order{.pass = pass}).value();
  Elements out;
  while (const auto at = iterator->next().value())
    out.push_back(input[static_cast<std::size_t>(at->front().as<std::int64_t>()[0])]);
  return out;
}

// The field that functions are called with.
const Value& first_field(const Values& element, const std::string& name) { return element.at(name); }

Elements after_stage(Elements input, const ordered_json& stage, const std::string& first, const PipelineWorld& world,
                     std::uint64_t pass) {
  const std::string& name = stage.begin().key();
  const ordered_json& o = stage.begin().value();
  Elements out;
  if (name == "shuffle") return shuffled(input, o, pass);
  if (o.is_object() && o.contains("mask")) return masked_batches(input, o["size"], o["mask"]);
  if (name == "rebatch") return rebatched(unbatched(input), o["sizes"], o["drop_remainder"]);
  if (name == "legacy_rebatch") return cut(input, o);
  if (name == "whole_steps") return in_whole_steps(std::move(input), o["replicas"], o["drop_remainder"]);
  if (name == "batch" || name == "padded_batch") return windows(input, o["size"], o["size"], 1, o["drop_remainder"]);
  if (name == "window") return windows(input, o["size"], o["shift"], o["stride"], o["drop_remainder"]);
  if (name == "unbatch") return unbatched(input);
  if (name == "take")
    return {input.begin(), input.begin() + std::min<std::ptrdiff_t>(o.get<std::ptrdiff_t>(), std::ssize(input))};
  if (name == "skip")
    return {input.begin() + std::min<std::ptrdiff_t>(o.get<std::ptrdiff_t>(), std::ssize(input)), input.end()};
  if (name == "interleave")
    return interleaved(inputs_of(input, o["datasets"], world, pass), o["cycle_length"], o["block_length"]);
  if (name == "prefetch" || name == "cache") return input;
  if (name == "concatenate") {
    for (const Elements& one : inputs_of(input, o, world, pass)) out.insert(out.end(), one.begin(), one.end());
    return out;
  }
  if (name == "zip") {
    const auto inputs = inputs_of(input, o, world, pass);
    for (std::size_t i = 0; i < std::min(inputs[0].size(), inputs[1].size()); ++i) {
      out.push_back(inputs[0][i]);
      out.back().insert(inputs[1][i].begin(), inputs[1][i].end());
    }
    return out;
  }
  for (std::size_t i = 0; i < input.size(); ++i) {
    Values element = std::move(input[i]);
    if (name == "enumerate")
      element[o.value("field", "index")] = {{}, {o.value("start", 0.0) + static_cast<double>(i)}};
    if (name == "shard" && static_cast<std::int64_t>(i) % o["count"].get<std::int64_t>() != o["index"]) continue;
    if (name == "filter") {
      const Numbers& numbers = first_field(element, first).numbers;
      if (!numbers.empty() && std::fmod(numbers[0], 2) != 0) continue;
    }
    if (name == "map") {
      Value value = first_field(element, first);
      for (double& number : value.numbers) number *= 2;
      element = {{o["fields"][0], std::move(value)}};
    }
    out.push_back(std::move(element));
  }
  return out;
}

DatasetPtr try_make(const ordered_json& pipeline, const PipelineWorld& world) {
  const auto made = try_dataset_of(pipeline.dump(), world.context());
  return made ? *made : nullptr;
}

}  // namespace

Elements rest_of(Iterator& iterator, const ElementSpec& spec, std::size_t most) {
  Elements out;
  while (out.size() < most) {
    const auto element = iterator.next();
    REQUIRE_MESSAGE(element.has_value(), (element ? std::string() : element.error().message));
    if (!*element) break;
    Values values;
    for (std::size_t i = 0; i < spec.size(); ++i) values[spec[i].name] = value_of((**element)[i]);
    out.push_back(std::move(values));
  }
  return out;
}

PipelineWorld::PipelineWorld() {
  directory_.write("lines.txt", "a\n\nbcd\nefghijk\nlm\nnopqrs\nt\n");
  std::string ragged;
  for (int i = 0; i < 11; ++i) {
    ordered_json rows = ordered_json::array();
    for (int j = 0; j < i * 7 % 4; ++j) rows.push_back({i, j});
    ragged += ordered_json{{"value", rows}}.dump() + "\n";
  }
  directory_.write("ragged.jsonl", ragged);
  directory_.write("rows1.csv", "1,2\n3,4\n5,6\n");
  directory_.write("rows2.csv.gz", gzipped("7,8\n9,10\n"));
  directory_.write("rows3.csv", "11,12\n13,14\n15,16\n17,18\n");
}

DatasetContext PipelineWorld::context() const {
  DatasetContext context = directory_.context();
  context.find_function = [](const std::string& name, const ElementSpec& input,
                             const std::vector<std::string>& fields) -> Result<MapFunction> {
    if (name == "keep")
      return MapFunction{{{fields[0], tensor::DType::kBool, {}}}, [](const Element& element) -> Result<Element> {
                           const Numbers numbers = numbers_of(element[0]);
                           const bool is_even = numbers.empty() || std::fmod(numbers[0], 2) == 0;
                           return Element{Tensor::scalar<std::uint8_t>(tensor::DType::kBool, is_even ? 1 : 0)};
                         }};
    FieldSpec made = input[0];
    made.name = fields[0];
    made.dtype = tensor::DType::kS64;
    return MapFunction{{made}, [](const Element& element) -> Result<Element> {
                         Tensor out = Tensor::uninitialized(tensor::DType::kS64, element[0].shape());
                         const Numbers numbers = numbers_of(element[0]);
                         for (std::size_t i = 0; i < numbers.size(); ++i)
                           out.mutable_as<std::int64_t>()[i] = static_cast<std::int64_t>(2 * numbers[i]);
                         return Element{std::move(out)};
                       }};
  };
  return context;
}

nlohmann::ordered_json draw_pipeline(std::uint64_t seed, const PipelineWorld& world) {
  PipelineDraw draw(seed);
  ordered_json pipeline = ordered_json::array({draw.source()});
  std::int64_t repeats = 0;
  for (std::int64_t left = draw.number(0, 7), tries = 60; left > 0 && tries > 0; --tries) {
    ordered_json longer = pipeline;
    longer.push_back(draw.transformation(fmt::format("f{}", tries)));
    const bool repeats_more = longer.back().contains("repeat");
    if ((repeats_more && repeats == 2) || !try_make(longer, world)) continue;  // that stage doesn't fit here
    repeats += repeats_more ? 1 : 0;
    pipeline = std::move(longer);
    --left;
  }
  return pipeline;
}

Elements reference_elements(const nlohmann::ordered_json& pipeline, const PipelineWorld& world, std::uint64_t pass) {
  ordered_json before = pipeline;
  const ordered_json stage = before.back();
  before.erase(before.size() - 1);
  if (before.empty()) {
    const auto dataset = dataset_of(pipeline.dump(), world.context());
    return rest_of(**dataset->iterate(), dataset->spec());
  }
  if (stage.contains("repeat")) {
    Elements out;
    for (std::uint64_t i = 0; i < stage["repeat"]; ++i) {
      const std::uint64_t within = pass == 0 ? i : mix_bits(pass) + i;
      const Elements one = reference_elements(before, world, within);
      out.insert(out.end(), one.begin(), one.end());
    }
    return out;
  }
  if (stage.contains("cache")) pass = 0;
  const std::string first = dataset_of(before.dump(), world.context())->spec().front().name;
  return after_stage(reference_elements(before, world, pass), stage, first, world, pass);
}

}  // namespace tfd::data
