// SPDX-License-Identifier: Apache-2.0
//
// DeviceProgram behind PJRT: one Execute for all devices. Thread rule: thread-safe.
#include <algorithm>
#include <set>

#include "buffer.hpp"
#include "executable.hpp"
#include "tfd/base/text.hpp"

namespace tfd::function {
namespace {

class PjrtProgram final : public DeviceProgram {
 public:
  PjrtProgram(std::shared_ptr<const Executable> executable, std::vector<int> devices, std::size_t all,
              Compiled::Specs specs, PJRT_Device* runs_on)
      : executable_(std::move(executable)),
        devices_(std::move(devices)),
        all_(all),
        specs_(std::move(specs)),
        runs_on_(runs_on) {}

  const std::vector<int>& devices() const override { return devices_; }
  const std::vector<tensor::TensorSpec>& arguments() const override { return specs_.arguments; }
  const std::vector<tensor::TensorSpec>& results() const override { return specs_.results; }
  std::optional<ProgramMemory> memory() const override { return executable_->compiled().memory(); }
  std::optional<double> flops() const override { return executable_->compiled().flops(); }
  Result<std::vector<DeviceBuffers>> execute(const std::vector<DeviceBuffers>& arguments,
                                             std::span<const std::size_t> donated) override;

 private:
  /// The inputs by slot, and owners that keep them alive during the call.
  struct Inputs {
    std::vector<std::vector<SharedBuffer*>> shared;
    std::vector<std::vector<PJRT_Buffer*>> handles;
  };
  Result<Inputs> take_inputs(const std::vector<DeviceBuffers>& arguments) const;
  Result<void> check_argument(const SharedBuffer* buffer, std::size_t slot, std::size_t index) const;
  std::vector<std::int64_t> kept(const Inputs& inputs, std::span<const std::size_t> donated) const;
  bool has_several() const { return all_ > 1; }

  std::shared_ptr<const Executable> executable_;  // with the results
  std::vector<int> devices_;
  std::size_t all_;  // devices that it runs on, other hosts' too
  Compiled::Specs specs_;
  PJRT_Device* runs_on_;  // null: the devices that it was compiled for
};

// XLA compares sizes in bytes only, and on several devices a wrong argument leaves the others waiting.
Result<void> PjrtProgram::check_argument(const SharedBuffer* buffer, std::size_t slot, std::size_t index) const {
  const auto refuse = [&](const std::string& why) {
    return fail(Code::kInvalidArgument, "{}: argument {} of slot {} {}", executable_->name(), index, slot, why);
  };
  if (buffer == nullptr) return refuse("is no buffer of a PJRT client");
  if (buffer->buffer() == nullptr) return refuse("was taken over by an earlier program");
  if (&buffer->buffer()->client() != executable_->client().get()) return refuse("is of another client");
  if (buffer->device() != devices_[slot])
    return refuse(fmt::format("is on device {}, not {}", buffer->device(), devices_[slot]));
  if (buffer->spec() != specs_.arguments[index])
    return refuse(fmt::format("is {}, not {}", tensor::format_spec(buffer->spec()),
                              tensor::format_spec(specs_.arguments[index])));
  return {};
}

Result<PjrtProgram::Inputs> PjrtProgram::take_inputs(const std::vector<DeviceBuffers>& arguments) const {
  if (arguments.size() != devices_.size())
    return fail(Code::kInvalidArgument, "{}: arguments were made for {}, but the program runs on {}",
                executable_->name(), counted(arguments.size(), "device"), devices_.size());
  Inputs inputs;
  for (std::size_t slot = 0; slot < arguments.size(); ++slot) {
    if (arguments[slot].size() != specs_.arguments.size())
      return fail(Code::kInvalidArgument, "{}: slot {} has {}, but it takes {}", executable_->name(), slot,
                  counted(arguments[slot].size(), "argument"), specs_.arguments.size());
    auto& shared = inputs.shared.emplace_back();
    auto& handles = inputs.handles.emplace_back();
    for (std::size_t i = 0; i < arguments[slot].size(); ++i) {
      SharedBuffer* const buffer = dynamic_cast<SharedBuffer*>(arguments[slot][i].get());
      TFD_TRY(check_argument(buffer, slot, i));
      shared.push_back(buffer);
      handles.push_back(buffer->buffer()->handle());
    }
  }
  return inputs;
}

/// Arguments that XLA must not take over: not donated, still shared, or passed twice.
std::vector<std::int64_t> PjrtProgram::kept(const Inputs& inputs, std::span<const std::size_t> donated) const {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < specs_.arguments.size(); ++i) {
    const auto is_free = [&](const std::vector<SharedBuffer*>& slot) {
      return slot[i]->buffer().use_count() == 1 && std::ranges::count(slot, slot[i]) == 1;
    };
    if (std::ranges::find(donated, i) == donated.end() || !std::ranges::all_of(inputs.shared, is_free))
      out.push_back(static_cast<std::int64_t>(i));
  }
  return out;
}

Result<std::vector<DeviceBuffers>> PjrtProgram::execute(const std::vector<DeviceBuffers>& arguments,
                                                        std::span<const std::size_t> donated) {
  const Inputs inputs = TFD_TRY(take_inputs(arguments));
  std::vector<std::int64_t> kept_arguments;
  if (executable_->may_donate()) kept_arguments = kept(inputs, donated);
  const std::size_t slots = devices_.size();
  std::vector<std::vector<PJRT_Buffer*>> outputs(slots, std::vector<PJRT_Buffer*>(specs_.results.size()));
  std::vector<PJRT_Buffer* const*> input_lists;
  std::vector<PJRT_Buffer**> output_lists;
  for (std::size_t slot = 0; slot < slots; ++slot) {
    input_lists.push_back(inputs.handles[slot].data());
    output_lists.push_back(outputs[slot].data());
  }
  TFD_PJRT_ARGS(PJRT_ExecuteOptions, options);
  options.non_donatable_input_indices = kept_arguments.data();
  options.num_non_donatable_input_indices = kept_arguments.size();
  const auto& client = executable_->client();
  const Api& api = client->api();
  TFD_PJRT_ARGS(PJRT_LoadedExecutable_Execute_Args, args);
  args.executable = executable_->handle();
  args.options = &options;
  args.argument_lists = input_lists.data();
  args.num_devices = slots;
  args.num_args = specs_.arguments.size();
  args.output_lists = output_lists.data();
  args.execute_device = runs_on_;
  const auto begun = api.check(api->PJRT_LoadedExecutable_Execute(&args), executable_->name());
  if (!begun && has_several()) end_process(*executable_, begun.error());
  TFD_TRY(begun);
  if (executable_->may_donate())
    for (const std::size_t index : donated)
      if (!std::ranges::binary_search(kept_arguments, static_cast<std::int64_t>(index)))
        for (const auto& slot : inputs.shared) slot[index]->give_away();
  std::vector<DeviceBuffers> results(slots);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    PJRT_Device* const device = client->devices()[static_cast<std::size_t>(devices_[slot])];
    for (std::size_t i = 0; i < outputs[slot].size(); ++i) {
      auto buffer = std::make_shared<Buffer>(client, device, outputs[slot][i], specs_.results[i]);
      results[slot].push_back(
          std::make_shared<SharedBuffer>(std::move(buffer), devices_[slot], has_several() ? executable_ : nullptr));
    }
  }
  return results;
}

}  // namespace

Result<std::shared_ptr<DeviceProgram>> make_program(std::shared_ptr<const Executable> executable,
                                                    const std::vector<std::vector<int>>& assignment, std::size_t all,
                                                    PJRT_Device* runs_on) {
  std::vector<int> devices;
  for (const auto& replica : assignment) devices.insert(devices.end(), replica.begin(), replica.end());
  Compiled::Specs specs =
      assignment.front().size() > 1 ? TFD_TRY(executable->compiled().specs()) : executable->compiled().stated_specs();
  return std::make_shared<PjrtProgram>(std::move(executable), std::move(devices), all, std::move(specs), runs_on);
}

}  // namespace tfd::function
