// SPDX-License-Identifier: Apache-2.0
#include "tfd/function/topology.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "client.hpp"
#include "client_options.hpp"
#include "compiled.hpp"
#include "proto.hpp"
#include "system_name.hpp"
#include "tfd/base/text.hpp"

namespace tfd::function {
namespace {

Error not_here(const std::string& what) {
  return {Code::kFailedPrecondition, what + " was compiled for a topology without its devices", {}};
}

/// A system's description, made by the plug-in.
class SystemTopology {
 public:
  static Result<std::shared_ptr<const SystemTopology>> make(const std::string& plugin, const std::string& text) {
    const auto [name, options] = TFD_TRY(parse_system_name(text));
    const Api api = TFD_TRY(Api::load(plugin));
    for (const std::size_t needed :
         {offsetof(PJRT_Api, PJRT_TopologyDescription_Create), offsetof(PJRT_Api, PJRT_TopologyDescription_Destroy),
          offsetof(PJRT_Api, PJRT_TopologyDescription_GetDeviceDescriptions), offsetof(PJRT_Api, PJRT_Compile),
          offsetof(PJRT_Api, PJRT_TopologyDescription_PlatformName)})
      if (!api.has(needed))
        return fail(Code::kUnimplemented, "the PJRT plug-in {} can't compile for a topology without its devices",
                    plugin);
    TFD_PJRT_ARGS(PJRT_TopologyDescription_Create_Args, create);
    create.topology_name = name.data();
    create.topology_name_size = name.size();
    const auto values = named_values(options);
    create.create_options = values.data();
    create.num_options = values.size();
    TFD_TRY(api.check(api->PJRT_TopologyDescription_Create(&create), ""));
    std::shared_ptr<SystemTopology> out(new SystemTopology(api, create.topology));
    TFD_PJRT_ARGS(PJRT_TopologyDescription_PlatformName_Args, platform);
    platform.topology = create.topology;
    TFD_TRY(api.check(api->PJRT_TopologyDescription_PlatformName(&platform), "cannot ask for the platform"));
    out->platform_.assign(platform.platform_name, platform.platform_name_size);
    TFD_TRY(out->find_devices());
    return out;
  }
  SystemTopology(const SystemTopology&) = delete;
  SystemTopology& operator=(const SystemTopology&) = delete;
  ~SystemTopology() {
    TFD_PJRT_ARGS(PJRT_TopologyDescription_Destroy_Args, args);
    args.topology = handle_;
    (void)api_.check(api_->PJRT_TopologyDescription_Destroy(&args), "topology");
  }

  const Api& api() const { return api_; }
  PJRT_TopologyDescription* handle() const { return handle_; }
  const std::string& platform() const { return platform_; }
  const std::vector<DeviceInfo>& devices() const { return devices_; }         // by process and id
  std::optional<std::int64_t> memory_limit() const { return memory_limit_; }  // of a device, in bytes

 private:
  SystemTopology(const Api& api, PJRT_TopologyDescription* handle) : api_(api), handle_(handle) {}

  Result<void> find_devices() {
    TFD_PJRT_ARGS(PJRT_TopologyDescription_GetDeviceDescriptions_Args, listed);
    listed.topology = handle_;
    TFD_TRY(api_.check(api_->PJRT_TopologyDescription_GetDeviceDescriptions(&listed), "cannot list the devices"));
    for (std::size_t i = 0; i < listed.num_descriptions; ++i)
      devices_.push_back(TFD_TRY(describe_device(api_, listed.descriptions[i])));
    std::ranges::sort(devices_, {}, [](const DeviceInfo& one) { return std::tuple(one.process_index, one.id); });
    if (listed.num_descriptions > 0)
      memory_limit_ = find_attribute(api_, listed.descriptions[0], "device_memory_bytes_limit");
    return {};
  }

  const Api api_;
  PJRT_TopologyDescription* handle_;
  std::string platform_;
  std::vector<DeviceInfo> devices_;
  std::optional<std::int64_t> memory_limit_;
};

class PlannedProgram final : public DeviceProgram {
 public:
  static Result<std::shared_ptr<PlannedProgram>> compile(std::shared_ptr<const SystemTopology> system,
                                                         const hlo::Module& module,
                                                         const std::vector<std::vector<int>>& device_ids) {
    const std::string options = encode_compile_options(device_ids);
    ModuleCode code(module);
    TFD_PJRT_ARGS(PJRT_Compile_Args, args);
    args.topology = system->handle();
    args.program = code.program();
    args.compile_options = options.data();
    args.compile_options_size = options.size();
    if (const auto compiled = system->api().check(system->api()->PJRT_Compile(&args), ""); !compiled)
      return fail(compile_error(module, system->platform(), compiled.error()));
    std::vector<int> slots;
    for (const auto& replica : device_ids) slots.insert(slots.end(), replica.begin(), replica.end());
    auto out = std::shared_ptr<PlannedProgram>(
        new PlannedProgram(std::move(system), module, args.executable, std::move(slots)));
    out->specs_ = device_ids.front().size() > 1 ? TFD_TRY(out->compiled_.specs()) : out->compiled_.stated_specs();
    return out;
  }

  const std::vector<int>& devices() const override { return slots_; }
  const std::vector<tensor::TensorSpec>& arguments() const override { return specs_.arguments; }
  const std::vector<tensor::TensorSpec>& results() const override { return specs_.results; }
  std::optional<ProgramMemory> memory() const override { return compiled_.memory(); }
  std::optional<double> flops() const override { return compiled_.flops(); }
  Result<std::vector<DeviceBuffers>> execute(const std::vector<DeviceBuffers>&, std::span<const std::size_t>) override {
    return fail(not_here(compiled_.name()));
  }

 private:
  PlannedProgram(std::shared_ptr<const SystemTopology> system, const hlo::Module& module, PJRT_Executable* handle,
                 std::vector<int> slots)
      : system_(std::move(system)),
        slots_(std::move(slots)),
        compiled_(system_->api(), system_->platform(), module, handle) {}

  std::shared_ptr<const SystemTopology> system_;  // with the engine and the other programs
  std::vector<int> slots_;
  Compiled compiled_;
  Compiled::Specs specs_;
};

class PlanningEngine final : public Engine {
 public:
  PlanningEngine(PluginInfo info, std::shared_ptr<const SystemTopology> system, const PlanningOptions& options)
      : info_(std::move(info)), system_(std::move(system)), logical_devices_(options.logical_devices) {
    for (const int position : options.positions)
      devices_.push_back(system_->devices()[static_cast<std::size_t>(position)]);
  }

  const PluginInfo& plugin() const override { return info_; }
  int device_count() const override { return static_cast<int>(devices_.size()) / logical_devices_; }
  const std::vector<DeviceInfo>& devices() const override { return devices_; }
  std::optional<DeviceMemory> memory(int) const override { return DeviceMemory{.limit = system_->memory_limit()}; }

  Result<std::shared_ptr<Function>> compile(const hlo::Module& module) override {
    return fail(not_here(printable(module.name)));
  }
  Result<DeviceBufferPtr> put(const tensor::Tensor&, int) override { return fail(not_here("the program")); }

  Result<std::shared_ptr<DeviceProgram>> compile_program(const hlo::Module& module,
                                                         const ProgramOptions& options) override {
    TFD_TRY(check_assignment(options.assignment, devices_.size()), printable(module.name));
    TFD_TRY(check_counts(module, options.assignment));
    std::vector<std::vector<int>> ids = options.assignment;
    for (auto& replica : ids)
      for (int& device : replica) device = devices_[static_cast<std::size_t>(device)].id;
    return PlannedProgram::compile(system_, TFD_TRY(hlo::for_platform(module, info_.platform)), ids);
  }

  Result<std::vector<std::shared_ptr<DeviceProgram>>> compile_for_each_device(const hlo::Module& module) override {
    const auto program = TFD_TRY(compile_program(module, {}));  // it is the same on each
    return std::vector<std::shared_ptr<DeviceProgram>>(devices_.size(), program);
  }

 private:
  PluginInfo info_;
  std::shared_ptr<const SystemTopology> system_;
  int logical_devices_;
  std::vector<DeviceInfo> devices_;
};

}  // namespace

Result<std::vector<DeviceInfo>> list_topology_devices(const std::string& plugin, const std::string& topology) {
  return TFD_TRY(SystemTopology::make(plugin, topology))->devices();
}

Result<std::shared_ptr<Engine>> make_planning_engine(const PlanningOptions& options) {
  auto system = TFD_TRY(SystemTopology::make(options.plugin, options.topology));
  const auto count = static_cast<int>(system->devices().size());
  for (const int position : options.positions)
    if (position < 0 || position >= count)
      return fail(Code::kInvalidArgument, "there is no device {} (of {})", position, count);
  TFD_TRY(check_logical_devices(options.positions.size(), options.logical_devices));
  PluginInfo info = describe_plugin(system->api(), options.plugin, system->platform());
  return std::make_shared<PlanningEngine>(std::move(info), std::move(system), options);
}

}  // namespace tfd::function
