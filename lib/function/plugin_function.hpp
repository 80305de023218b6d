#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One function of a plug-in, with the instance that the plug-in made for it. Private to the room. Thread rule:
// thread-safe, by a lock if the plug-in isn't.
#include <memory>
#include <string>
#include <vector>

#include "tfd/base/thread_annotations.hpp"
#include "tfd/function/plugin.hpp"

struct tfd_call;

namespace tfd::function {

class PluginFunction final : public Function {
 public:
  static Result<std::shared_ptr<Function>> make(std::shared_ptr<const Plugin> plugin, const std::string& name,
                                                hlo::Signature signature);
  ~PluginFunction() override;

  const hlo::Signature& signature() const override { return signature_; }
  Result<std::vector<tensor::Tensor>> call(const std::vector<tensor::Tensor>& arguments) override;

 private:
  PluginFunction(std::shared_ptr<const Plugin> plugin, std::string name, hlo::Signature signature)
      : plugin_(std::move(plugin)), name_(std::move(name)), signature_(std::move(signature)) {}
  int invoke(tfd_call& call);

  std::shared_ptr<const Plugin> plugin_;  // shared with its other functions
  std::string name_;
  hlo::Signature signature_;
  void* instance_ = nullptr;
  bool is_open_ = false;
  Mutex mutex_;  // held by a call, if the plug-in isn't thread-safe
};

}  // namespace tfd::function
