// SPDX-License-Identifier: Apache-2.0
#include "protocol.hpp"

#include <limits>

#include "wire_format.hpp"

namespace tfd::task {
namespace {

using transport::Message;

void put_optional(Writer& out, const auto& value) {
  out.put(value.has_value());
  if (value) out.put(*value);
}

template <class T>
std::optional<T> take_optional(Reader& in) {
  if (!in.flag()) return std::nullopt;
  return in.number<T>();
}

enum class ArgumentTag : std::uint8_t { kTensor, kIterator, kVariable };

void put_argument(Writer& out, const step::ArgumentValue& value, std::vector<tensor::Tensor>& tensors) {
  if (const auto* iterator = std::get_if<step::IteratorRef>(&value)) {
    out.put(ArgumentTag::kIterator);
    out.put(iterator->id);
  } else if (const auto* variable = std::get_if<step::VariableRef>(&value)) {
    out.put(ArgumentTag::kVariable);
    out.put(variable->name);
  } else {
    out.put(ArgumentTag::kTensor);
    tensors.push_back(std::get<tensor::Tensor>(value));
  }
}

step::ArgumentValue take_argument(Reader& in) {
  switch (in.choice(ArgumentTag::kVariable)) {
    case ArgumentTag::kIterator:
      return step::IteratorRef{in.text()};
    case ArgumentTag::kVariable:
      return step::VariableRef{in.text()};
    default:
      return in.tensor();
  }
}

// Placement::variables isn't sent: it follows from `placed`.
tensor::Tensor encode_placement(const Placement& placement) {
  Writer out;
  out.count(placement.ps.size());
  for (const auto& [name, address] : placement.ps) {
    out.put(name);
    out.put(address);
  }
  out.count(placement.placed.size());
  for (const auto& [name, placed] : placement.placed) {
    out.put(name);
    out.count(placed.sharding.shape().size());
    for (const std::int64_t dimension : placed.sharding.shape()) out.put(dimension);
    out.count(placed.ps.size());
    for (const int ps : placed.ps) out.put(static_cast<std::uint32_t>(ps));
  }
  return bytes_tensor(out.bytes());
}

Result<variable::PlacedVariable> take_placed(Reader& in, std::size_t ps_count) {
  variable::PlacedVariable out{in.text(), variable::Sharding(tensor::Shape()), {}};
  tensor::Shape shape;
  for (std::size_t left = in.count(sizeof(std::int64_t)); left > 0; --left) shape.push_back(in.number<std::int64_t>());
  for (std::size_t left = in.count(sizeof(std::uint32_t)); left > 0; --left) {
    const auto ps = in.number<std::uint32_t>();
    if (ps >= ps_count) return fail(Code::kInvalidArgument, "a shard is on parameter server {} of {}", ps, ps_count);
    out.ps.push_back(static_cast<int>(ps));
  }
  if (!in.is_good()) return out;
  TFD_TRY(tensor::checked_byte_size(tensor::DType::kU8, shape));
  out.sharding = TFD_TRY(variable::Sharding::make(std::move(shape), static_cast<std::int64_t>(out.ps.size())));
  return out;
}

Result<Placement> decode_placement(const tensor::Tensor& tensor) {
  if (tensor.byte_size() > kMostBody)
    return fail(Code::kResourceExhausted, "a placement of {} bytes, where {} are allowed", tensor.byte_size(),
                kMostBody);
  Reader in(text_of(tensor));
  Placement out;
  for (std::size_t left = in.count(2 * kLeastText); left > 0; --left) {
    std::string name = in.text();
    out.ps.emplace_back(std::move(name), in.text());
  }
  for (std::size_t left = in.count(3 * kLeastText); left > 0 && in.is_good(); --left) {
    auto placed = TFD_TRY(take_placed(in, out.ps.size()), "placement");
    std::string name = placed.name;
    in.require(out.placed.emplace(std::move(name), std::move(placed)).second);
  }
  TFD_TRY(in.end("placement"));
  return out;
}

Message encode_parts(const std::string& path, const std::string& directory, const std::string& document,
                     const std::map<std::string, std::string>& files, const Placement& placement) {
  Writer out;
  out.put(path);
  out.put(directory);
  std::vector<std::string> names;
  std::vector<tensor::Tensor> contents{bytes_tensor(document), encode_placement(placement)};
  for (const auto& [name, content] : files) {
    names.push_back(name);
    contents.push_back(bytes_tensor(content));
  }
  put_names(out, names);
  return make_message(Kind::kBringProgram, out, std::move(contents));
}

}  // namespace

Message encode_program(const program::Program& program, const Placement& placement) {
  return encode_parts(program.path, program.directory, program.document(), program.files, placement);
}

Message encode(const LoadProgram& load) {
  Message out = encode_parts(load.path, load.directory, load.document, load.files, load.placement);
  out.epoch = load.epoch;
  return out;
}

Result<LoadProgram> decode_program(const Message& message) {
  Reader in(message, Kind::kBringProgram);
  LoadProgram out;
  out.epoch = message.epoch;
  out.path = in.text();
  out.directory = in.text();
  const auto names = take_names(in);
  in.require(in.tensors_left() == names.size() + 2);
  const auto take_bytes = [&in] {
    const tensor::Tensor bytes = in.tensor();
    in.require(is_bytes(bytes));
    return in.is_good() ? bytes : bytes_tensor({});
  };
  out.document = text_of(take_bytes());
  const tensor::Tensor placement = take_bytes();
  for (const std::string& name : names) out.files[name] = text_of(take_bytes());
  in.require(out.files.size() == names.size());
  TFD_TRY(in.end("program"));
  out.placement = TFD_TRY(decode_placement(placement));
  return out;
}

Result<program::Program> parse_loaded(const LoadProgram& load) {
  const auto read_file = [&load](const std::string& path) -> Result<std::string> {
    const auto found = load.files.find(path);
    if (found == load.files.end()) return fail(Code::kNotFound, "'{}' did not come with the program", path);
    return found->second;
  };
  program::ProgramOptions options;
  options.look_at_files = false;
  return program::parse_program(load.document, load.path, load.directory, read_file, options);
}

Message encode_load(std::uint64_t epoch, const WorkerOrders& orders) {
  Writer out;
  out.put(orders.shuffle_stream);
  out.put(orders.data_seed);
  out.put(orders.steps_taken);
  out.put(orders.stages);
  return make_message(Kind::kLoadProgram, out, {}, epoch);
}

Result<WorkerOrders> decode_load(const Message& message) {
  Reader in(message, Kind::kLoadProgram);
  WorkerOrders orders;
  orders.shuffle_stream = in.number<std::uint64_t>();
  orders.data_seed = in.number<std::uint64_t>();
  orders.steps_taken = in.number<std::int64_t>();
  orders.stages = in.flag();
  in.require(orders.steps_taken >= 0);
  TFD_TRY(in.end("load program"));
  return orders;
}

Message encode(const CreateIterator& create) {
  Writer out;
  out.put(create.id);
  out.put(create.dataset);
  out.put(create.shuffle_stream);
  return make_message(Kind::kCreateIterator, out, {}, create.epoch);
}

Result<CreateIterator> decode_create_iterator(const Message& message) {
  Reader in(message, Kind::kCreateIterator);
  CreateIterator out;
  out.id = in.text();
  out.dataset = in.text();
  out.shuffle_stream = in.number<std::uint64_t>();
  out.epoch = message.epoch;
  TFD_TRY(in.end("create iterator"));
  return out;
}

Message encode(const step::FunctionCall& call) {
  Writer out;
  out.put(call.sequence);
  out.put(call.attempt);
  out.put(call.function);
  out.put(call.step);
  std::vector<tensor::Tensor> tensors;
  out.count(call.args.size());
  for (const step::ArgumentValue& value : call.args) put_argument(out, value, tensors);
  out.count(call.kwargs.size());
  for (const auto& [name, value] : call.kwargs) {
    out.put(name);
    put_argument(out, value, tensors);
  }
  out.put(call.replicas);
  put_optional(out, call.closure);
  out.put(static_cast<std::uint32_t>(call.most_elements));
  return make_message(Kind::kRun, out, std::move(tensors), call.epoch);
}

Result<step::FunctionCall> decode_call(const Message& message) {
  Reader in(message, Kind::kRun);
  step::FunctionCall out;
  out.epoch = message.epoch;
  out.sequence = in.number<std::uint64_t>();
  out.attempt = in.number<std::uint32_t>();
  out.function = in.text();
  out.step = in.number<std::int64_t>();
  for (std::size_t left = in.count(1); left > 0 && in.is_good(); --left) out.args.push_back(take_argument(in));
  for (std::size_t left = in.count(kLeastText + 1); left > 0 && in.is_good(); --left) {
    std::string name = in.text();
    out.kwargs.emplace_back(std::move(name), take_argument(in));
  }
  out.replicas = in.choice(program::Replicas::kSplit);
  out.closure = take_optional<std::uint64_t>(in);
  const auto most_elements = in.number<std::uint32_t>();
  in.require(most_elements <= static_cast<std::uint32_t>(std::numeric_limits<int>::max()));
  out.most_elements = static_cast<int>(most_elements);
  TFD_TRY(in.end("run"));
  return out;
}

Message encode(const ClosureOutcome& outcome) {
  if (outcome.dropped) return encode_empty(Kind::kDrop);
  Writer out;
  out.put(static_cast<std::uint64_t>(std::chrono::nanoseconds(outcome.ran).count()));
  out.count(outcome.metrics.size());
  for (const step::Metric& metric : outcome.metrics) {
    out.put(metric.name);
    out.put(metric.reduce);
    out.put(metric.part);
    out.put(metric.value);
    out.put(metric.weight);
    out.put(metric.formula);
    out.count(metric.counts.size());
    for (const double one : metric.counts) out.put(one);
  }
  if (outcome.staged_on.empty()) return make_message(Kind::kRun, out, outcome.results);
  out.count(outcome.staged_on.size());
  for (const std::uint32_t server : outcome.staged_on) out.put(server);
  out.put(outcome.staged_after);
  return make_message(Kind::kStage, out, outcome.results);
}

Result<ClosureOutcome> decode_outcome(const Message& message) {
  ClosureOutcome out;
  if (message.kind == static_cast<std::uint16_t>(Kind::kDrop)) {
    out.dropped = true;
    return out;
  }
  const bool is_staged = message.kind == static_cast<std::uint16_t>(Kind::kStage);
  Reader in(message, is_staged ? Kind::kStage : Kind::kRun);
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 62;
  out.ran = std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(in.number<std::uint64_t>(), kLongest)));
  for (std::size_t left = in.count(kLeastText + 7 + 2 * sizeof(double)); left > 0; --left) {
    step::Metric& metric = out.metrics.emplace_back();
    metric.name = in.text();
    metric.reduce = in.choice(program::Reduce::kSum);
    metric.part = in.choice(program::Part::kFalseNegatives);
    metric.value = in.real();
    metric.weight = in.real();
    metric.formula = in.choice(program::Formula::kPrAuc);
    for (std::size_t count = in.count(sizeof(double)); count > 0; --count) metric.counts.push_back(in.real());
  }
  for (std::size_t left = is_staged ? in.count(sizeof(std::uint32_t)) : 0; left > 0; --left)
    out.staged_on.push_back(in.number<std::uint32_t>());
  if (is_staged) out.staged_after = in.number<std::uint64_t>();
  in.require(is_staged != out.staged_on.empty());
  while (in.tensors_left() > 0 && in.is_good()) out.results.push_back(in.tensor());
  TFD_TRY(in.end("outcome"));
  return out;
}

Message encode(const Evaluate& evaluate) {
  Writer out;
  out.put(evaluate.function);
  out.put(evaluate.count);
  out.put(evaluate.index);
  put_optional(out, evaluate.steps);
  out.put(evaluate.seed);
  return make_message(Kind::kEvaluate, out, {}, evaluate.epoch);
}

Result<Evaluate> decode_evaluate(const Message& message) {
  constexpr std::int64_t kMostParts = std::numeric_limits<std::int32_t>::max();
  Reader in(message, Kind::kEvaluate);
  Evaluate out;
  out.function = in.text();
  out.count = in.number<std::int64_t>();
  out.index = in.number<std::int64_t>();
  out.steps = take_optional<std::int64_t>(in);
  out.epoch = message.epoch;
  out.seed = in.number<std::uint64_t>();
  TFD_TRY(in.end("evaluate"));
  if (out.count < 1 || out.count > kMostParts || out.index < 0 || out.index >= out.count)
    return fail(Code::kInvalidArgument, "there is no part {} of {}", out.index, out.count);
  return out;
}

Message encode(const DropWaiting& drop) {
  Writer out;
  out.put(drop.updates_below);
  out.put(drop.others_below);
  return make_message(Kind::kDrop, out, {}, drop.epoch);
}

Result<DropWaiting> decode_drop(const Message& message) {
  Reader in(message, Kind::kDrop);
  DropWaiting out;
  out.epoch = message.epoch;
  out.updates_below = in.number<std::uint64_t>();
  out.others_below = in.number<std::uint64_t>();
  TFD_TRY(in.end("drop"));
  return out;
}

Message encode(const GiveBack& give_back) {
  Writer out;
  out.put(give_back.count);
  return make_message(Kind::kGiveBack, out, {}, give_back.epoch);
}

Result<GiveBack> decode_give_back(const Message& message) {
  Reader in(message, Kind::kGiveBack);
  const GiveBack out{message.epoch, in.number<std::uint64_t>()};
  TFD_TRY(in.end("give back"));
  return out;
}

Message encode(const Claim& claim) {
  Writer out;
  out.put(claim.host);
  out.put(claim.pid);
  out.put(claim.take_over);
  out.put(claim.adopt);
  out.put(claim.held);
  return make_message(Kind::kClaim, out);
}

Result<Claim> decode_claim(const Message& message) {
  Reader in(message, Kind::kClaim);
  Claim out;
  out.host = in.text();
  out.pid = in.number<std::int64_t>();
  out.take_over = in.flag();
  out.adopt = in.flag();
  out.held = in.number<std::uint64_t>();
  TFD_TRY(in.end("claim"));
  return out;
}

Message encode_epoch(std::uint64_t epoch) {
  Writer out;
  out.put(epoch);
  return make_message(Kind::kClaim, out);
}

Result<std::uint64_t> decode_epoch(const Message& message) {
  Reader in(message, Kind::kClaim);
  const auto epoch = in.number<std::uint64_t>();
  TFD_TRY(in.end("claim"));
  return epoch;
}

Message encode_names(Kind kind, const std::vector<std::string>& names, std::uint64_t epoch) {
  Writer out;
  put_names(out, names);
  return make_message(kind, out, {}, epoch);
}

Result<std::vector<std::string>> decode_names(const Message& message) {
  Reader in(message);
  auto out = take_names(in);
  TFD_TRY(in.end("names"));
  return out;
}

Message encode_named(Kind kind, const tensor::NamedTensors& named, std::uint64_t epoch) {
  Writer out;
  std::vector<tensor::Tensor> tensors;
  out.count(named.size());
  for (const auto& [name, value] : named) {
    out.put(name);
    tensors.push_back(value);
  }
  return make_message(kind, out, std::move(tensors), epoch);
}

Result<tensor::NamedTensors> decode_named(const Message& message) {
  Reader in(message);
  tensor::NamedTensors out;
  for (std::size_t left = in.count(kLeastText); left > 0 && in.is_good(); --left) {
    std::string name = in.text();
    out.emplace_back(std::move(name), in.tensor());
  }
  TFD_TRY(in.end("state"));
  return out;
}

Message encode_empty(Kind kind, std::uint64_t epoch) { return make_message(kind, Writer(), {}, epoch); }

Result<void> decode_empty(const Message& message) { return Reader(message).end("empty"); }

Message encode_flag(Kind kind, bool flag) {
  Writer out;
  out.put(flag);
  return make_message(kind, out);
}

}  // namespace tfd::task
