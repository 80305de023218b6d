// SPDX-License-Identifier: Apache-2.0
//
// Function behind PJRT: one call on one device, with values of the host. Thread rule: thread-safe.
#include <numeric>

#include "buffer.hpp"
#include "executable.hpp"

namespace tfd::function {
namespace {

class ModuleFunction final : public Function {
 public:
  ModuleFunction(std::shared_ptr<const Executable> executable, PJRT_Device* device)
      : executable_(std::move(executable)), device_(device) {
    if (!executable_->may_donate()) return;
    kept_arguments_.resize(executable_->signature().arguments.size());
    std::iota(kept_arguments_.begin(), kept_arguments_.end(), 0);
  }

  const hlo::Signature& signature() const override { return executable_->signature(); }
  Result<std::vector<tensor::Tensor>> call(const std::vector<tensor::Tensor>& arguments) override {
    const auto results = TFD_TRY(run(arguments));
    return TFD_TRY(to_host({results.begin(), results.end()}), executable_->name());
  }
  Result<std::vector<tensor::Tensor>> call_there(const std::vector<tensor::Tensor>& arguments) override {
    std::vector<tensor::Tensor> out;
    for (auto& one : TFD_TRY(run(arguments))) {
      const int position = executable_->client()->position_of(one->device());
      out.push_back(resident(DeviceBuffers{std::make_shared<SharedBuffer>(std::move(one), position)}));
    }
    return out;
  }

 private:
  /// Runs it and returns its results, which are ready.
  Result<std::vector<std::shared_ptr<Buffer>>> run(const std::vector<tensor::Tensor>& arguments) const;

  std::shared_ptr<const Executable> executable_;  // with the functions for the other devices
  PJRT_Device* device_;
  std::vector<std::int64_t> kept_arguments_;  // indices that must not be donated although the module allows it
};

Result<std::vector<std::shared_ptr<Buffer>>> ModuleFunction::run(const std::vector<tensor::Tensor>& arguments) const {
  const std::string& name = executable_->name();
  TFD_TRY(hlo::check_arguments(signature(), arguments), name);
  const auto& client = executable_->client();
  const Api& api = client->api();
  PJRT_Device* const runs_on = device_ != nullptr ? device_ : client->device();
  std::vector<std::shared_ptr<Buffer>> held;  // releases the wrapped arguments at every return
  std::vector<PJRT_Buffer*> inputs;
  held.reserve(arguments.size());
  inputs.reserve(arguments.size());
  for (const tensor::Tensor& argument : arguments) {
    held.push_back(TFD_TRY(Buffer::of(client, runs_on, argument), name));
    inputs.push_back(held.back()->handle());
  }
  std::vector<PJRT_Buffer*> outputs(signature().results.size());
  PJRT_Buffer* const* input_list = inputs.data();
  PJRT_Buffer** output_list = outputs.data();
  PJRT_Event* done = nullptr;
  TFD_PJRT_ARGS(PJRT_ExecuteOptions, options);
  options.non_donatable_input_indices = kept_arguments_.data();
  options.num_non_donatable_input_indices = kept_arguments_.size();
  TFD_PJRT_ARGS(PJRT_LoadedExecutable_Execute_Args, args);
  args.executable = executable_->handle();
  args.options = &options;
  args.argument_lists = &input_list;
  args.num_devices = 1;
  args.num_args = inputs.size();
  args.output_lists = &output_list;
  args.device_complete_events = &done;
  args.execute_device = device_;
  TFD_TRY(api.check(api->PJRT_LoadedExecutable_Execute(&args), name));
  const Result<void> ended = api.await(done, name);
  std::vector<std::shared_ptr<Buffer>> results;
  results.reserve(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    results.push_back(std::make_shared<Buffer>(client, runs_on, outputs[i], signature().results[i].spec));
  if (!ended) return fail(ended.error());
  return results;
}

}  // namespace

std::shared_ptr<Function> make_function(std::shared_ptr<const Executable> executable, PJRT_Device* device) {
  return std::make_shared<ModuleFunction>(std::move(executable), device);
}

}  // namespace tfd::function
