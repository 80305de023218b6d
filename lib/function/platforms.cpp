// SPDX-License-Identifier: Apache-2.0
#include "platforms.hpp"

namespace tfd::function {
namespace {

class WithPlatform final : public Function {
 public:
  WithPlatform(std::shared_ptr<Function> function, hlo::Signature signature, std::int32_t index)
      : function_(std::move(function)),
        signature_(std::move(signature)),
        index_(tensor::Tensor::scalar(tensor::DType::kS32, index)) {}
  const hlo::Signature& signature() const override { return signature_; }
  Result<std::vector<tensor::Tensor>> call(const std::vector<tensor::Tensor>& arguments) override {
    return function_->call(TFD_TRY(with_index(arguments)));
  }
  Result<std::vector<tensor::Tensor>> call_there(const std::vector<tensor::Tensor>& arguments) override {
    return function_->call_there(TFD_TRY(with_index(arguments)));
  }

 private:
  /// Checked before they are shifted.
  Result<std::vector<tensor::Tensor>> with_index(const std::vector<tensor::Tensor>& arguments) const {
    TFD_TRY(hlo::check_arguments(signature_, arguments));
    std::vector<tensor::Tensor> all{index_};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }

  std::shared_ptr<Function> function_;  // the engine gives functions away shared
  hlo::Signature signature_;
  tensor::Tensor index_;
};

}  // namespace

std::vector<std::shared_ptr<Function>> fill_platform_in(std::vector<std::shared_ptr<Function>> functions,
                                                        const hlo::Module& module, const std::string& platform) {
  if (!module.takes_platform || module.is_text) return functions;
  const auto index = static_cast<std::int32_t>(hlo::platform_index(module, platform));
  for (auto& function : functions)
    function = std::make_shared<WithPlatform>(std::move(function), module.signature, index);
  return functions;
}

}  // namespace tfd::function
