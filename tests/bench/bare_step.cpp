// SPDX-License-Identifier: Apache-2.0
//
// The least that a training step costs: a loop over the PJRT C API and nothing else. The module is a whole step
// (gradients and Adam, its state donated), written by strategies/export.py; every step has its batch and its rate put
// on the device, and its loss read. Prints steps/s, the median of some rounds, and the first 50 losses: bare-step DIR
// STEPS
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "pjrt_c_api.h"
#include "tfd/base/environment.hpp"
#include "tfd/function/function.hpp"
#include "tfd/program/program.hpp"
#include "tfd/tensor/npy.hpp"
#include "tfd/variable/initializer.hpp"

namespace {

using namespace tfd;
using tensor::Tensor;

constexpr int kRounds = 5;
constexpr int kLosses = 50;

const PJRT_Api* api;

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "bare-step: {}\n", why);
  std::exit(70);
}

void check(PJRT_Error* error) {
  if (error == nullptr) return;
  PJRT_Error_Message_Args message{};
  message.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE;
  message.error = error;
  api->PJRT_Error_Message(&message);
  give_up(std::string(message.message, message.message_size));
}

#define CALL(function, arguments) \
  ((arguments).struct_size = PJRT_##function##_Args_STRUCT_SIZE, check(api->PJRT_##function(&(arguments))))

template <class T>
T must(Result<T> result) {
  if (!result) give_up(result.error().message);
  return std::move(*result);
}

struct Device {
  PJRT_Client* client;
  PJRT_Device* device;
};

Device open_device(const std::string& plugin) {
  void* library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) give_up(dlerror());
  api = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"))();
  PJRT_Plugin_Initialize_Args initialize{};
  CALL(Plugin_Initialize, initialize);
  PJRT_NamedValue synchronous{};
  synchronous.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  synchronous.name = "asynchronous";
  synchronous.name_size = 12;
  synchronous.type = PJRT_NamedValue_kBool;
  synchronous.bool_value = false;
  synchronous.value_size = 1;
  PJRT_Client_Create_Args create{};
  create.create_options = &synchronous;
  create.num_options = 1;
  CALL(Client_Create, create);
  PJRT_Client_AddressableDevices_Args devices{};
  devices.client = create.client;
  CALL(Client_AddressableDevices, devices);
  return {create.client, devices.addressable_devices[0]};
}

PJRT_LoadedExecutable* compile(const Device& on, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string code((std::istreambuf_iterator<char>(file)), {});
  // CompileOptionsProto: executable_build_options { device_ordinal: -1, num_replicas: 1, num_partitions: 1 }
  const std::string options("\x1a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01", 17);
  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  program.code = code.data();
  program.code_size = code.size();
  program.format = "mlir";
  program.format_size = 4;
  PJRT_Client_Compile_Args compile{};
  compile.client = on.client;
  compile.program = &program;
  compile.compile_options = options.data();
  compile.compile_options_size = options.size();
  CALL(Client_Compile, compile);
  return compile.executable;
}

PJRT_Buffer* put(const Device& on, const void* data, tensor::DType dtype, const tensor::Shape& shape) {
  PJRT_Client_BufferFromHostBuffer_Args put{};
  put.client = on.client;
  put.data = data;
  put.type = dtype == tensor::DType::kF32 ? PJRT_Buffer_Type_F32 : PJRT_Buffer_Type_S32;
  put.dims = shape.data();
  put.num_dims = shape.size();
  put.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  put.device = on.device;
  CALL(Client_BufferFromHostBuffer, put);
  PJRT_Event_Destroy_Args event{};
  event.event = put.done_with_host_buffer;
  CALL(Event_Destroy, event);
  return put.buffer;
}

void drop(PJRT_Buffer* buffer) {
  PJRT_Buffer_Destroy_Args destroy{};
  destroy.buffer = buffer;
  CALL(Buffer_Destroy, destroy);
}

float read_scalar(PJRT_Buffer* buffer) {
  PJRT_Buffer_ReadyEvent_Args ready{};
  ready.buffer = buffer;
  CALL(Buffer_ReadyEvent, ready);
  PJRT_Event_Await_Args await{};
  await.event = ready.event;
  CALL(Event_Await, await);
  PJRT_Event_Destroy_Args event{};
  event.event = ready.event;
  CALL(Event_Destroy, event);
  PJRT_Buffer_UnsafePointer_Args pointer{};
  pointer.buffer = buffer;
  CALL(Buffer_UnsafePointer, pointer);
  return *reinterpret_cast<const float*>(pointer.buffer_pointer);
}

class Training {
 public:
  explicit Training(const std::string& directory)
      : program_(must(program::load_program(directory + "/program.json", {}))),
        device_(open_device(must(function::find_plugin(Environment::of_process())))),
        step_(compile(device_, directory + "/whole.mlir")) {
    variable::CheckpointFiles files;
    for (int kind = 0; kind < 3; ++kind)  // values, m, v
      for (const program::VariableDef& one : program_.variables) {
        const Tensor value = kind == 0 ? must(variable::make_initial_value(one.init, one.spec, files))
                                       : Tensor::zeros(one.spec.dtype, one.spec.shape);
        arguments_.push_back(put(device_, value.data(), one.spec.dtype, one.spec.shape));
      }
    states_ = arguments_.size();
    for (const program::InputBinding& input : program_.find_function("step")->inputs)
      if (input.kind == program::InputKind::kDataset)
        fields_.push_back(must(tensor::load_npy(directory + "/field_" + *input.field + ".npy")));
    arguments_.resize(states_ + 1 + fields_.size());
    results_.resize(states_ + 1);
    batch_ = program_.find_function("step")->modules.front().signature.arguments.back().spec.shape[0];
  }

  float step() {
    ++number_;
    const auto t = static_cast<float>(number_);
    const float rate = 1e-3F * std::sqrt(1 - std::pow(0.999F, t)) / (1 - std::pow(0.9F, t));  // as Keras computes it
    arguments_[states_] = put(device_, &rate, tensor::DType::kF32, {});
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      tensor::Shape shape = fields_[i].shape();
      const std::int64_t batches = shape[0] / batch_;
      shape[0] = batch_;
      const Tensor rows = fields_[i].slice_rows((number_ - 1) % batches * batch_, batch_);
      arguments_[states_ + 1 + i] = put(device_, rows.data(), rows.dtype(), shape);
    }
    PJRT_ExecuteOptions options{};
    options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
    PJRT_Buffer* const* const arguments = arguments_.data();
    PJRT_Buffer** const results = results_.data();
    PJRT_LoadedExecutable_Execute_Args execute{};
    execute.executable = step_;
    execute.options = &options;
    execute.argument_lists = &arguments;
    execute.num_devices = 1;
    execute.num_args = arguments_.size();
    execute.output_lists = &results;
    CALL(LoadedExecutable_Execute, execute);
    for (PJRT_Buffer* one : arguments_) drop(one);
    std::copy_n(results_.begin(), states_, arguments_.begin());
    const float loss = read_scalar(results_.back());
    drop(results_.back());
    return loss;
  }

 private:
  program::Program program_;
  Device device_;
  PJRT_LoadedExecutable* step_;
  std::vector<PJRT_Buffer*> arguments_, results_;
  std::size_t states_ = 0;
  std::vector<Tensor> fields_;
  std::int64_t batch_ = 0, number_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) give_up("usage: bare-step DIR STEPS");
  Training training(argv[1]);
  const int steps = std::atoi(argv[2]);
  std::vector<float> losses;
  for (int i = 0; i < kLosses; ++i) losses.push_back(training.step());
  std::vector<double> rates;
  for (int round = 0; round < kRounds; ++round) {
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) training.step();
    rates.push_back(steps / std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  }
  std::ranges::sort(rates);
  fmt::print("{{\"peer\": \"bare\", \"steps_per_s\": {}, \"losses\": [{}]}}\n", rates[kRounds / 2],
             fmt::join(losses, ", "));
}
