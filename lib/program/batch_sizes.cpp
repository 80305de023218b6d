// SPDX-License-Identifier: Apache-2.0
//
// Batch sizes: PJRT has no dynamic shapes, so a function has one module per batch size, or a template for any. Possible
// sizes are checked as far as they are known; at a call the module is chosen by the shapes.
#include <algorithm>
#include <set>

#include "draft.hpp"
#include "tfd/base/text.hpp"

namespace tfd::program {
namespace {

constexpr std::int64_t kMostReplicas = 4096;  // of one worker
constexpr std::string_view kRemedies =
    ": export it for any batch size (tfd-export(1)), or pad batches, with a mask (\"pad_remainder\": true)";

std::string available(std::vector<std::int64_t> sizes) {
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::vector<std::string> words;
  for (const std::int64_t size : sizes) words.push_back(std::to_string(size));
  return "available: " + join_words(words);
}

/// First dimensions of argument `i` over all modules.
std::vector<std::int64_t> sizes_of(const FunctionDef& def, std::size_t i) {
  std::vector<std::int64_t> sizes;
  for (const hlo::Module& module : def.modules)
    if (!module.signature.arguments[i].spec.shape.empty()) sizes.push_back(module.signature.arguments[i].spec.shape[0]);
  return sizes;
}

struct Bound {
  std::size_t input;
  const data::FieldSpec* field;
};

/// The function's inputs that come from `dataset` and have a first dimension.
std::vector<Bound> bound_to(const FunctionDef& def, const std::string& dataset, const data::ElementSpec& fields) {
  std::vector<Bound> bound;
  for (std::size_t i = 0; i < def.inputs.size(); ++i) {
    if (def.inputs[i].kind != InputKind::kDataset || def.inputs[i].name != dataset) continue;
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == def.inputs[i].field; });
    if (field != fields.end() && !field->shape.empty()) bound.push_back({i, &*field});
  }
  return bound;
}

/// True if a module takes batches of `size` rows in the fields whose first dimension is `batch`, or larger ones to
/// which a mask pads them. Errors of a template that can't be expanded to that size.
Result<bool> some_module_takes(const FunctionDef& def, const std::vector<Bound>& bound, std::int64_t batch,
                               std::int64_t size) {
  const auto takes = [&](std::int64_t rows) -> Result<bool> {
    std::map<std::size_t, tensor::TensorSpec> specs;
    for (const Bound& b : bound) {
      tensor::TensorSpec& spec = specs[b.input] = def.modules.front().signature.arguments[b.input].spec;
      spec.shape[0] = b.field->shape[0] == batch ? rows : b.field->shape[0];
    }
    const auto found = TFD_TRY(def.modules.find([&](std::size_t i) {
      const auto spec = specs.find(i);
      return spec == specs.end() ? nullptr : &spec->second;
    }));
    return found.has_value();
  };
  if (TFD_TRY(takes(size))) return true;
  const auto mask = std::ranges::find_if(bound, [](const Bound& b) { return b.field->is_mask; });
  if (mask == bound.end()) return false;
  for (const std::int64_t rows : sizes_of(def, mask->input))
    if (rows > size && TFD_TRY(takes(rows))) return true;
  return false;
}

/// Sizes of the shares if `replicas` split a batch, as data::split_rows() does.
std::set<std::int64_t> shares_of(std::int64_t batch, std::int64_t replicas) {
  const std::int64_t shares = std::max<std::int64_t>(std::min(batch, replicas), 1);
  return {batch / shares, (batch + shares - 1) / shares};
}

/// Requires a module for every share; if the number of replicas isn't known, for some number of them.
Result<void> check_shares(const FunctionDraft& draft, const std::string& dataset, const std::vector<Bound>& bound,
                          std::int64_t batch, std::int64_t size) {
  const auto missing = [&](std::int64_t replicas) -> Result<std::optional<std::int64_t>> {
    for (const std::int64_t share : shares_of(size, replicas))
      if (!TFD_TRY(some_module_takes(draft.def, bound, batch, share))) return share;
    return std::nullopt;
  };
  const std::string there = available(sizes_of(draft.def, bound.front().input));
  if (draft.replicas > 0) {
    const auto share = TFD_TRY(missing(draft.replicas), draft.node.path());
    if (!share) return {};
    return draft.node.fail("{} replicas share a batch of {} of dataset '{}', and no module accepts {} ({}){}",
                           draft.replicas, size, dataset, *share, there, kRemedies);
  }
  if (draft.def.modules.any_size() != nullptr) return {};
  for (std::int64_t replicas = 1; replicas <= std::min(size, kMostReplicas); ++replicas)
    if (!TFD_TRY(missing(replicas), draft.node.path())) return {};
  return draft.node.fail(
      "no module accepts a share of a batch of {} of dataset '{}', however many replicas there are ({}){}", size,
      dataset, there, kRemedies);
}

/// The common first dimension, -1 if it varies. nullopt: they differ, so it isn't a batch's.
std::optional<std::int64_t> batch_of(const std::vector<Bound>& bound) {
  for (const Bound& b : bound)
    if (b.field->shape[0] < 0) return -1;
  for (const Bound& b : bound)
    if (b.field->shape[0] != bound.front().field->shape[0]) return std::nullopt;
  return bound.front().field->shape[0];
}

/// Checks fields that form no batch: some module must take all of them together.
Result<void> check_fields(const FunctionDraft& draft, const std::string& dataset, const std::vector<Bound>& bound) {
  if (TFD_TRY(some_module_takes(draft.def, bound, -1, 0), draft.node.path())) return {};
  for (const Bound& b : bound) {
    const auto sizes = sizes_of(draft.def, b.input);
    if (std::find(sizes.begin(), sizes.end(), b.field->shape[0]) != sizes.end() && &b != &bound.back()) continue;
    const hlo::Module& module = draft.def.modules.front();
    const hlo::Parameter& argument = module.signature.arguments[b.input];
    return draft.inputs[b.input].fail("field '{}' of dataset '{}' is {}, but argument '{}' of {} is {}", b.field->name,
                                      dataset, format_field(*b.field), argument.name, module.name,
                                      format_spec(argument.spec));
  }
  return {};
}

Result<void> check_dataset(const FunctionDraft& draft, const std::string& dataset, const std::vector<Bound>& bound,
                           const DatasetFacts& facts) {
  if (bound.empty()) return {};
  const auto batch = batch_of(bound);
  if (!batch) return check_fields(draft, dataset, bound);
  const bool varies = *batch < 0;
  for (const auto& size : {varies ? facts.full_batch : batch, varies ? facts.remainder : std::nullopt}) {
    if (!size) continue;
    if (draft.splits) {
      TFD_TRY(check_shares(draft, dataset, bound, *batch, *size));
    } else if (!TFD_TRY(some_module_takes(draft.def, bound, *batch, *size), draft.node.path())) {
      return draft.node.fail("no module accepts batch size {} of dataset '{}' ({}){}", *size, dataset,
                             available(sizes_of(draft.def, bound.front().input)), kRemedies);
    }
  }
  return {};
}

}  // namespace

Result<void> check_batch_sizes(const FunctionDraft& draft, const Program& program, const Facts& facts) {
  for (const auto& [dataset, fields] : program.dataset_specs)
    TFD_TRY(check_dataset(draft, dataset, bound_to(draft.def, dataset, fields), facts.at(dataset)));
  return {};
}

Result<std::size_t> choose_module(const FunctionDef& function, const std::vector<tensor::TensorSpec>& arguments) {
  const auto& parameters = function.modules.front().signature.arguments;
  if (arguments.size() != parameters.size())
    return fail(Code::kInvalidArgument, "{}: {} argument(s), but the module takes {}", function.name, arguments.size(),
                parameters.size());
  if (const auto found = TFD_TRY(function.modules.find([&](std::size_t i) { return &arguments[i]; }), function.name))
    return *found;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const tensor::TensorSpec& given = arguments[i];
    const tensor::TensorSpec& taken = parameters[i].spec;
    const auto sizes = sizes_of(function, i);
    if (given == taken) continue;
    const bool only_batch = given.dtype == taken.dtype && !given.shape.empty() &&
                            given.shape.size() == taken.shape.size() && function.modules.any_size() == nullptr &&
                            std::equal(given.shape.begin() + 1, given.shape.end(), taken.shape.begin() + 1);
    if (!only_batch)
      return fail(Code::kInvalidArgument, "{}: argument {} ({}) is {}, but the module takes {}", function.name, i,
                  parameters[i].name, format_spec(given), format_spec(taken));
    if (std::find(sizes.begin(), sizes.end(), given.shape[0]) != sizes.end()) continue;  // another one is the odd one
    return fail(Code::kInvalidArgument, "{}: no module accepts batch size {} ({}): argument {} ({}) is {}",
                function.name, given.shape[0], available(sizes), i, parameters[i].name, format_spec(given));
  }
  return fail(Code::kInvalidArgument, "{}: the arguments' batch sizes differ, and no module accepts that combination",
              function.name);
}

}  // namespace tfd::program
