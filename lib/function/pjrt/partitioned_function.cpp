// SPDX-License-Identifier: Apache-2.0
#include "partitioned_function.hpp"

#include "buffer.hpp"
#include "tfd/base/text.hpp"
#include "tfd/function/replica_engine.hpp"
#include "tfd/hlo/sharding.hpp"

namespace tfd::function {
namespace {

using tensor::Tensor;

class PartitionedFunction final : public Function {
 public:
  PartitionedFunction(std::shared_ptr<const Client> client, const hlo::Module& module,
                      std::shared_ptr<DeviceProgram> program)
      : client_(std::move(client)), name_(module.name), signature_(module.signature), program_(std::move(program)) {}

  const hlo::Signature& signature() const override { return signature_; }

  Result<std::vector<Tensor>> call(const std::vector<Tensor>& arguments) override {
    TFD_TRY(hlo::check_arguments(signature_, arguments), name_);
    std::vector<DeviceBuffers> buffers(program_->devices().size());
    for (std::size_t i = 0; i < arguments.size(); ++i)
      for (std::size_t slot = 0; slot < buffers.size(); ++slot) {
        const Tensor piece = hlo::piece_of(arguments[i], sharding_of(signature_.arguments[i]), static_cast<int>(slot));
        const int device = program_->devices()[slot];
        PJRT_Device* const at = client_->devices()[static_cast<std::size_t>(device)];
        buffers[slot].push_back(std::make_shared<SharedBuffer>(TFD_TRY(Buffer::of(client_, at, piece), name_), device));
      }
    const auto results = TFD_TRY(program_->execute(buffers));
    std::vector<Tensor> out;
    for (std::size_t i = 0; i < signature_.results.size(); ++i) {
      std::vector<Tensor> pieces;
      for (const DeviceBuffers& slot : results) pieces.push_back(TFD_TRY(slot[i]->to_host()));
      out.push_back(hlo::join_pieces(pieces, sharding_of(signature_.results[i]), signature_.results[i].spec));
    }
    return out;
  }

 private:
  std::shared_ptr<const Client> client_;  // with the other functions
  std::string name_;
  hlo::Signature signature_;
  std::shared_ptr<DeviceProgram> program_;
};

}  // namespace

Result<std::shared_ptr<Function>> make_partitioned_function(std::shared_ptr<const Client> client,
                                                            const hlo::Module& module,
                                                            std::shared_ptr<DeviceProgram> program) {
  TFD_TRY(check_pieces(module, *program, static_cast<int>(program->devices().size())), printable(module.name));
  return std::make_shared<PartitionedFunction>(std::move(client), module, std::move(program));
}

}  // namespace tfd::function
