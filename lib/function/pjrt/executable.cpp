// SPDX-License-Identifier: Apache-2.0
#include "executable.hpp"

#include <cstddef>

namespace tfd::function {
namespace {

PJRT_Executable* executable_of(const Api& api, PJRT_LoadedExecutable* loaded) {
  TFD_PJRT_ARGS(PJRT_LoadedExecutable_GetExecutable_Args, args);
  args.loaded_executable = loaded;
  return api.check(api->PJRT_LoadedExecutable_GetExecutable(&args), "executable") ? args.executable : nullptr;
}

}  // namespace

Executable::Executable(std::shared_ptr<const Client> client, const hlo::Module& module, PJRT_LoadedExecutable* loaded)
    : client_(std::move(client)),
      loaded_(loaded),
      compiled_(client_->api(), client_->platform(), module, executable_of(client_->api(), loaded)) {}

Executable::~Executable() {
  const Api& api = client_->api();
  TFD_PJRT_ARGS(PJRT_LoadedExecutable_Destroy_Args, args);
  args.executable = loaded_;
  (void)api.check(api->PJRT_LoadedExecutable_Destroy(&args), "executable");
}

Result<std::shared_ptr<Executable>> Executable::compile(std::shared_ptr<const Client> client, const hlo::Module& module,
                                                        const std::string& options) {
  const Api& api = client->api();
  ModuleCode code(module);
  TFD_PJRT_ARGS(PJRT_Client_Compile_Args, args);
  args.client = client->handle();
  args.program = code.program();
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  if (const auto compiled = api.check(api->PJRT_Client_Compile(&args), ""); !compiled)
    return fail(compile_error(module, client->platform(), compiled.error()));
  return std::shared_ptr<Executable>(new Executable(std::move(client), module, args.executable));
}

Result<std::shared_ptr<Executable>> Executable::load(std::shared_ptr<const Client> client, const hlo::Module& module,
                                                     const std::string& bytes, bool is_whole) {
  const Api& api = client->api();
  if (!api.has(offsetof(PJRT_Api, PJRT_Executable_DeserializeAndLoad)))
    return fail(Code::kUnimplemented, "the plug-in can't load compiled executables");
  TFD_PJRT_ARGS(PJRT_Executable_DeserializeAndLoad_Args, args);
  args.client = client->handle();
  args.serialized_executable = bytes.data();
  args.serialized_executable_size = bytes.size();
  TFD_TRY(api.check(api->PJRT_Executable_DeserializeAndLoad(&args), "cannot load an executable"));
  std::shared_ptr<Executable> loaded(new Executable(std::move(client), module, args.loaded_executable));
  TFD_TRY(is_whole ? loaded->compiled().check_results() : loaded->compiled().check_result_count());
  return loaded;
}

}  // namespace tfd::function
