// SPDX-License-Identifier: Apache-2.0
//
// Checks shardings of inputs and outputs over the logical devices of a replica. As in TensorFlow's
// experimental_split_to_logical_devices (2.21, tpu_strategy.py) a split has as many pieces as there are devices.
#include <algorithm>

#include "draft.hpp"
#include "tfd/base/text.hpp"

namespace tfd::program {
namespace {

constexpr std::int64_t kMaxDevices = 1 << 16;  // more than any slice of a pod has

struct Stated {
  const OpSharding* sharding;
  Node node;  // the sharding's own node
};

Result<Stated> stated(const std::optional<OpSharding>& sharding, const Node& binding) {
  Node node = TFD_TRY(binding.member("sharding"));
  return Stated{&*sharding, std::move(node)};
}

/// Requires a number of pieces for each dimension of every module's argument or result, which divides it.
Result<void> check_shape(const Stated& at, const hlo::Parameter& parameter, const hlo::Module& module) {
  if (at.sharding->kind != OpSharding::Kind::kSplit) return {};
  const auto fits = hlo::check_pieces(at.sharding->pieces, parameter.spec.shape);
  if (fits) return {};
  return TFD_TRY(at.node.member("split"))
      .fail("{}: '{}' of {} is {}", fits.error().message, parameter.name, module.name, format_spec(parameter.spec));
}

/// Checks a function's shardings together and returns the number of devices: all splits have as many pieces, no device
/// is beyond.
Result<std::int64_t> count_devices(const std::vector<Stated>& all) {
  std::optional<std::int64_t> split;
  std::int64_t devices = 1;
  for (const Stated& at : all) {
    if (at.sharding->kind == OpSharding::Kind::kSplit) {
      if (split && *split != at.sharding->devices())
        return at.node.fail(
            "splits into {}, but another sharding of this function splits into {}: each must cover all logical devices",
            at.sharding->devices(), *split);
      split = at.sharding->devices();
    }
    devices = std::max(devices, at.sharding->devices());
  }
  for (const Stated& at : all)
    if (split && at.sharding->devices() > *split)
      return at.node.fail(
          "assigns to logical device {}, but there are only {}: another sharding of this function splits into that "
          "many",
          at.sharding->device, *split);
  return devices;
}

/// Checks what TPUStrategy allows on the available devices.
Result<void> check_kinds(const std::vector<Stated>& all, int logical_devices, bool spmd) {
  const Stated* assigned = nullptr;
  for (const Stated& at : all) {
    if (at.sharding->kind == OpSharding::Kind::kAssign) {
      TFD_TRY(at_path(at.node.path(), hlo::check_assigned(at.sharding->device, logical_devices, spmd)));
      if (assigned != nullptr && assigned->sharding->device != at.sharding->device)
        return at.node.fail(
            "assigns to logical device {}, but another sharding of this function to {}: without SPMD partitioning a "
            "function runs on one",
            at.sharding->device, assigned->sharding->device);
      assigned = &at;
    }
    if (at.sharding->kind != OpSharding::Kind::kSplit || logical_devices == 1) continue;
    if (!spmd) return at.node.fail("splits over logical devices, which needs SPMD partitioning (tfd-run --spmd)");
    if (at.sharding->devices() != logical_devices)
      return at.node.fail("makes {}, but a replica has {} logical devices, and each has one",
                          counted(static_cast<std::uint64_t>(at.sharding->devices()), "piece"), logical_devices);
  }
  return {};
}

/// Stores the shardings in the modules, where the engine reads them.
Result<void> put_into_modules(FunctionDraft& draft, const std::vector<Stated>& all) {
  return draft.def.modules.change([&](hlo::Module& module) -> Result<void> {
    if (module.partitions > 1) {
      if (all.empty()) return {};
      return all.front().node.fail("{} is exported for {} partitions, with shardings of its own", module.name,
                                   module.partitions);
    }
    for (const Stated& at : all)
      if (at.sharding->kind == OpSharding::Kind::kAssign) module.logical_device = at.sharding->device;
    for (std::size_t i = 0; i < draft.def.inputs.size(); ++i)
      module.signature.arguments[i].sharding = draft.def.inputs[i].sharding;
    for (std::size_t i = 0; i < draft.def.outputs.size(); ++i)
      module.signature.results[i].sharding = draft.def.outputs[i].sharding;
    return {};
  });
}

std::string one_or(int number) { return number == 1 ? "one" : std::to_string(number); }

/// A module may be exported for several partitions, which are the logical devices of a replica; replicas are tfd's.
Result<void> check_partitions(const FunctionDraft& draft, int logical_devices, bool spmd) {
  const auto node = draft.node.find("module");
  for (std::size_t i = 0; node && i < draft.def.modules.size(); ++i) {
    const hlo::Module& module = draft.def.modules[i];
    const Node at = node->is_list() ? node->elements()[i] : *node;
    if (module.replicas != 1)
      return at.fail("{} is for {} replicas: export it for one; tfd runs it on each", module.name, module.replicas);
    if (module.partitions != 1 && module.partitions == logical_devices && !spmd)
      return at.fail("{} is for {} partitions, which needs SPMD partitioning (tfd-run --spmd)", module.name,
                     module.partitions);
    if (module.partitions != 1 && module.partitions != logical_devices)
      return at.fail("{} is for {} partitions, but a replica has {} logical device{} here", module.name,
                     module.partitions, one_or(logical_devices), logical_devices == 1 ? "" : "s");
  }
  return {};
}

}  // namespace

Result<OpSharding> parse_sharding(const Node& node) {
  OpSharding out;
  if (node.is_text()) {
    if (TFD_TRY(node.text()) == "replicate") return out;
    return node.fail("must be \"replicate\", {{\"split\": [2, 1]}} or {{\"assign\": 0}}, not {}", node.dump());
  }
  if (!node.is_object()) return node.fail_type("\"replicate\", {\"split\": [2, 1]} or {\"assign\": 0}");
  TFD_TRY(expect_object(node, {"split", "assign"}));
  if (node.has("split") == node.has("assign")) return node.fail("must have one of 'split' and 'assign'");
  if (const auto device = node.find("assign")) {
    const auto number = TFD_TRY(device->integer(0));
    if (number >= kMaxDevices) return device->fail("{} is too large", number);
    out.kind = OpSharding::Kind::kAssign;
    out.device = static_cast<int>(number);
    return out;
  }
  const Node split = TFD_TRY(node.member("split"));
  if (!split.is_list()) return split.fail_type("a list: into how many pieces each dimension is cut");
  out.kind = OpSharding::Kind::kSplit;
  for (const Node& pieces : split.elements()) {
    out.pieces.push_back(TFD_TRY(pieces.integer(1)));
    if (out.pieces.back() > kMaxDevices || out.devices() > kMaxDevices)
      return pieces.fail("{} is too large", out.pieces.back());
  }
  return out;
}

Result<void> check_shardings(FunctionDraft& draft, int logical_devices, bool spmd) {
  const FunctionDef& def = draft.def;
  TFD_TRY(check_partitions(draft, logical_devices, spmd));
  std::vector<Stated> all;
  for (std::size_t i = 0; i < def.inputs.size(); ++i) {
    if (!def.inputs[i].sharding) continue;
    all.push_back(TFD_TRY(stated(def.inputs[i].sharding, draft.inputs[i])));
    for (const hlo::Module* module : def.modules.expected())
      TFD_TRY(check_shape(all.back(), module->signature.arguments[i], *module));
  }
  for (std::size_t i = 0; i < def.outputs.size(); ++i) {
    if (!def.outputs[i].sharding) continue;
    all.push_back(TFD_TRY(stated(def.outputs[i].sharding, draft.outputs[i])));
    for (const hlo::Module* module : def.modules.expected())
      TFD_TRY(check_shape(all.back(), module->signature.results[i], *module));
  }
  const std::int64_t needed = TFD_TRY(count_devices(all));
  if (needed <= logical_devices) {
    TFD_TRY(put_into_modules(draft, all));
    return check_kinds(all, logical_devices, spmd);
  }
  const auto widest = std::max_element(all.begin(), all.end(), [](const Stated& a, const Stated& b) {
    return a.sharding->devices() < b.sharding->devices();
  });
  return widest->node.fail_text(Code::kUnimplemented,
                                fmt::format("needs {} logical devices per replica, but a replica has {} here: only the "
                                            "device assignment of TPUStrategy gives it more; without "
                                            "shardings it runs with --ignore-sharding",
                                            needed, one_or(logical_devices)));
}

}  // namespace tfd::program
