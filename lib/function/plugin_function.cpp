// SPDX-License-Identifier: Apache-2.0
#include "plugin_function.hpp"

#include <exception>
#include <optional>

#include "tfd/base/text.hpp"
#include "tfd/function.h"

namespace tfd::function {
namespace {

using tensor::DType;

constexpr std::size_t kMostMessage = 2000;

// The header's numbers are the tensor room's, so that a dtype needs no conversion.
static_assert(TFD_BOOL == static_cast<int>(DType::kBool) && TFD_S8 == static_cast<int>(DType::kS8) &&
              TFD_S64 == static_cast<int>(DType::kS64) && TFD_U8 == static_cast<int>(DType::kU8) &&
              TFD_U64 == static_cast<int>(DType::kU64) && TFD_F16 == static_cast<int>(DType::kF16) &&
              TFD_BF16 == static_cast<int>(DType::kBF16) && TFD_F32 == static_cast<int>(DType::kF32) &&
              TFD_F64 == static_cast<int>(DType::kF64));

/// Results and error that the plug-in's call reports through its two callbacks. Nothing is thrown through the plug-in's
/// frames.
struct Host {
  const hlo::Signature* signature = nullptr;
  std::vector<std::optional<tensor::Tensor>> outputs;
  std::string failure;

  void note(std::string text) {
    if (failure.empty()) failure = std::move(text);
  }
};

std::string given_spec(int32_t dtype, int32_t rank, const int64_t* shape) {
  if (dtype < TFD_BOOL || dtype > TFD_F64) return fmt::format("of dtype number {}", dtype);
  if (rank < 0 || rank > 64 || (rank > 0 && shape == nullptr)) return fmt::format("of rank {}", rank);
  return tensor::format_spec({static_cast<DType>(dtype), tensor::Shape(shape, shape + rank)});
}

bool is_spec(const tensor::TensorSpec& wanted, int32_t dtype, int32_t rank, const int64_t* shape) {
  if (dtype != static_cast<int32_t>(wanted.dtype) || rank != static_cast<int32_t>(wanted.shape.size())) return false;
  return rank == 0 || (shape != nullptr && std::equal(wanted.shape.begin(), wanted.shape.end(), shape));
}

void* take_output(tfd_call* call, uint32_t index, int32_t dtype, int32_t rank, const int64_t* shape) noexcept {
  Host& host = *static_cast<Host*>(call->host);
  try {
    if (index >= host.outputs.size()) {
      host.note(fmt::format("it asked for output {}, but has {}", index, host.outputs.size()));
      return nullptr;
    }
    const tensor::TensorSpec& wanted = host.signature->results[index].spec;
    if (!is_spec(wanted, dtype, rank, shape)) {
      host.note(fmt::format("it made output {} {}, but its signature says {}", index, given_spec(dtype, rank, shape),
                            tensor::format_spec(wanted)));
      return nullptr;
    }
    if (host.outputs[index]) {
      host.note(fmt::format("it asked for output {} twice", index));
      return nullptr;
    }
    host.outputs[index] = tensor::Tensor::uninitialized(wanted.dtype, wanted.shape);
    return host.outputs[index]->mutable_data();
  } catch (const std::exception& error) {
    host.failure = error.what();
    return nullptr;
  }
}

void take_failure(tfd_call* call, const char* message) noexcept {
  Host& host = *static_cast<Host*>(call->host);
  try {
    if (message != nullptr && *message != '\0') host.note(printable(std::string_view(message).substr(0, kMostMessage)));
  } catch (const std::exception&) {  // out of memory: the return value still reports failure
  }
}

}  // namespace

Result<std::shared_ptr<Function>> PluginFunction::make(std::shared_ptr<const Plugin> plugin, const std::string& name,
                                                       hlo::Signature signature) {
  std::shared_ptr<PluginFunction> out(new PluginFunction(std::move(plugin), name, std::move(signature)));
  const tfd_plugin_table& table = out->plugin_->table();
  if (table.open != nullptr) {
    const int code = table.open(name.c_str(), &out->instance_);
    if (code != 0)
      return fail(Code::kFailedPrecondition, "{}: open() of '{}' failed with {}", out->plugin_->name(), printable(name),
                  code);
    out->is_open_ = true;
  }
  return out;
}

PluginFunction::~PluginFunction() {
  const tfd_plugin_table& table = plugin_->table();
  if (is_open_ && table.close != nullptr) table.close(name_.c_str(), instance_);
}

int PluginFunction::invoke(tfd_call& call) {
  const tfd_plugin_table& table = plugin_->table();
  if ((table.flags & TFD_THREAD_SAFE) != 0) return table.call(name_.c_str(), instance_, &call);
  const MutexLock lock(mutex_);
  return table.call(name_.c_str(), instance_, &call);
}

Result<std::vector<tensor::Tensor>> PluginFunction::call(const std::vector<tensor::Tensor>& arguments) {
  TFD_TRY(hlo::check_arguments(signature_, arguments));
  std::vector<tfd_tensor> inputs;
  inputs.reserve(arguments.size());
  for (const tensor::Tensor& argument : arguments)
    inputs.push_back({static_cast<int32_t>(argument.dtype()), static_cast<int32_t>(argument.shape().size()),
                      argument.shape().data(), argument.data()});
  Host host{&signature_, std::vector<std::optional<tensor::Tensor>>(signature_.results.size()), {}};
  tfd_call call{};
  call.struct_size = sizeof call;
  call.input_count = static_cast<uint32_t>(inputs.size());
  call.inputs = inputs.data();
  call.output_count = static_cast<uint32_t>(host.outputs.size());
  call.output = take_output;
  call.fail = take_failure;
  call.host = &host;
  int code = 0;
  try {
    code = invoke(call);
  } catch (...) {  // a C++ plug-in that throws
    return fail(Code::kInternal, "{}: '{}' threw an exception", plugin_->name(), printable(name_));
  }
  if (code != 0 || !host.failure.empty())
    return fail(Code::kInvalidArgument, "{}: '{}' {}", plugin_->name(), printable(name_),
                host.failure.empty() ? fmt::format("failed with {}", code) : "failed: " + host.failure);
  std::vector<tensor::Tensor> results;
  for (std::size_t i = 0; i < host.outputs.size(); ++i) {
    if (!host.outputs[i])
      return fail(Code::kInvalidArgument, "{}: '{}' made no output {}", plugin_->name(), printable(name_), i);
    results.push_back(std::move(*host.outputs[i]));
  }
  return results;
}

}  // namespace tfd::function
