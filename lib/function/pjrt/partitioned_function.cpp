// SPDX-License-Identifier: Apache-2.0
#include "partitioned_function.hpp"

#include <algorithm>

#include "buffer.hpp"
#include "tfd/base/text.hpp"
#include "tfd/function/replica_engine.hpp"
#include "tfd/hlo/sharding.hpp"

namespace tfd::function {
namespace {

using tensor::Tensor;
using tensor::TensorSpec;

/// A value sharded over the devices of one replica. Kept among a resident tensor's copies.
class Pieces final : public DeviceBuffer {
 public:
  Pieces(TensorSpec spec, hlo::OpSharding sharding, DeviceBuffers all)
      : spec_(std::move(spec)), sharding_(std::move(sharding)), all_(std::move(all)) {}

  const TensorSpec& spec() const override { return spec_; }
  int device() const override { return all_.front()->device(); }
  Result<void> await() const override {
    for (const auto& piece : all_) TFD_TRY(piece->await());
    return {};
  }
  Result<Tensor> to_host() const override {
    std::vector<Tensor> pieces;
    for (const auto& piece : all_) pieces.push_back(TFD_TRY(piece->to_host()));
    return hlo::join_pieces(pieces, sharding_, spec_);
  }

  const DeviceBuffers& all() const { return all_; }
  bool is_cut(const hlo::OpSharding& sharding, const Client& client, const std::vector<int>& devices) const {
    const auto& first = dynamic_cast<const SharedBuffer&>(*all_.front());
    return sharding_ == sharding && &first.buffer()->client() == &client &&
           std::ranges::equal(all_, devices, {}, [](const auto& piece) { return piece->device(); });
  }

 private:
  TensorSpec spec_;
  hlo::OpSharding sharding_;
  DeviceBuffers all_;
};

class PartitionedFunction final : public Function {
 public:
  PartitionedFunction(std::shared_ptr<const Client> client, const hlo::Module& module,
                      std::shared_ptr<DeviceProgram> program)
      : client_(std::move(client)), name_(module.name), signature_(module.signature), program_(std::move(program)) {}

  const hlo::Signature& signature() const override { return signature_; }

  Result<std::vector<Tensor>> call(const std::vector<Tensor>& arguments) override {
    TFD_TRY(hlo::check_arguments(signature_, arguments), name_);
    std::vector<DeviceBuffers> buffers(program_->devices().size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto pieces = TFD_TRY(pieces_of(arguments[i], sharding_of(signature_.arguments[i])), name_);
      for (std::size_t slot = 0; slot < buffers.size(); ++slot) buffers[slot].push_back(pieces[slot]);
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
  /// The pieces by slot; a resident tensor keeps them.
  Result<DeviceBuffers> pieces_of(const Tensor& value, const hlo::OpSharding& sharding) const {
    const ResidentStorage* const resident = ResidentStorage::find(value);
    if (resident == nullptr) return cut(value, sharding);
    const auto is_cut = [&](const DeviceBuffer& one) {
      const auto* const pieces = dynamic_cast<const Pieces*>(&one);
      return pieces != nullptr && pieces->is_cut(sharding, *client_, program_->devices());
    };
    const auto make = [&](const Tensor& host) -> Result<DeviceBufferPtr> {
      return std::make_shared<Pieces>(value.spec(), sharding, TFD_TRY(cut(host, sharding)));
    };
    const DeviceBufferPtr found = TFD_TRY(resident->find_or_make(is_cut, make));
    return dynamic_cast<const Pieces&>(*found).all();
  }

  Result<DeviceBuffers> cut(const Tensor& value, const hlo::OpSharding& sharding) const {
    DeviceBuffers out;
    for (const int device : program_->devices()) {
      const Tensor piece = hlo::piece_of(value, sharding, static_cast<int>(out.size()));
      PJRT_Device* const at = client_->devices()[static_cast<std::size_t>(device)];
      out.push_back(std::make_shared<SharedBuffer>(TFD_TRY(Buffer::of(client_, at, piece)), device));
    }
    return out;
  }

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
