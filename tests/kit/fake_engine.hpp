#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// An engine whose functions are C++ lambdas, found by the name of the module: for tests that need no plug-in.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tfd/function/function.hpp"

namespace tfd::kit {

using Body = std::function<Result<std::vector<tensor::Tensor>>(const std::vector<tensor::Tensor>&)>;

class FakeFunction final : public function::Function {
 public:
  FakeFunction(hlo::Signature signature, Body body) : signature_(std::move(signature)), body_(std::move(body)) {}
  const hlo::Signature& signature() const override { return signature_; }
  Result<std::vector<tensor::Tensor>> call(const std::vector<tensor::Tensor>& arguments) override {
    TFD_TRY(hlo::check_arguments(signature_, arguments));
    return body_(arguments);
  }

 private:
  hlo::Signature signature_;
  Body body_;
};

class FakeEngine final : public function::Engine {
 public:
  explicit FakeEngine(std::map<std::string, Body> bodies, int devices = 1)
      : bodies_(std::move(bodies)), devices_(devices) {
    info_.platform = "fake";
  }
  int device_count() const override { return devices_; }
  const function::PluginInfo& plugin() const override { return info_; }
  Result<std::shared_ptr<function::Function>> compile(const hlo::Module& module) override {
    for (const auto& [name, body] : bodies_)
      if (module.name.ends_with(name)) return std::make_shared<FakeFunction>(module.signature, body);
    return fail(Code::kInvalidArgument, "{}: no such fake", module.name);
  }

 private:
  function::PluginInfo info_;
  std::map<std::string, Body> bodies_;
  int devices_;
};

}  // namespace tfd::kit
