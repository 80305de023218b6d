// SPDX-License-Identifier: Apache-2.0
#include "tfd/function/replica_engine.hpp"

#include <optional>
#include <utility>

#include "tfd/base/text.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/hlo/partition.hpp"

namespace tfd::function {
namespace {

using hlo::OpSharding;
using tensor::Tensor;
using tensor::TensorSpec;

Result<void> check_piece(const hlo::Parameter& parameter, const TensorSpec& compiled, int partitions) {
  const OpSharding& sharding = sharding_of(parameter);
  const std::string who = fmt::format("'{}'", printable(parameter.name));
  if (sharding.kind == OpSharding::Kind::kSplit) {
    TFD_TRY(hlo::check_pieces(sharding.pieces, parameter.spec.shape), who);
    if (sharding.devices() != partitions)
      return fail(Code::kInvalidArgument, "{} is split over {} devices, not over {}", who, sharding.devices(),
                  partitions);
  }
  const TensorSpec piece{parameter.spec.dtype, hlo::shape_of_piece(sharding, parameter.spec.shape)};
  if (piece == compiled) return {};
  return fail(Code::kUnimplemented,
              "{} is {} on each device by its sharding, but XLA makes it {}: state a sharding of every argument and "
              "result in the module",
              who, format_spec(piece), format_spec(compiled));
}

/// The logical devices of a replica, one after the other.
std::vector<int> devices_of(int replica, int logical_devices) {
  std::vector<int> out;
  for (int i = 0; i < logical_devices; ++i) out.push_back(replica * logical_devices + i);
  return out;
}

/// A value of one replica: a host tensor until a program splits it, then pieces. Thread rule: as DeviceBuffer.
class ReplicaBuffer final : public DeviceBuffer {
 public:
  ReplicaBuffer(Tensor value, int replica, bool is_own)
      : spec_(value.spec()), replica_(replica), is_own_(is_own), host_(std::move(value)) {}
  ReplicaBuffer(TensorSpec spec, int replica, OpSharding sharding, DeviceBuffers pieces)
      : spec_(std::move(spec)), replica_(replica), sharding_(std::move(sharding)), pieces_(std::move(pieces)) {}

  const TensorSpec& spec() const override { return spec_; }
  int device() const override { return replica_; }
  Result<void> await() const override {
    const MutexLock lock(mutex_);
    for (const auto& piece : pieces_) TFD_TRY(piece->await());
    return {};
  }
  Result<Tensor> to_host() const override {
    const MutexLock lock(mutex_);
    return read();
  }

  /// The pieces by logical device, according to `sharding`.
  Result<DeviceBuffers> pieces(Engine& engine, const OpSharding& sharding, int logical_devices) {
    const MutexLock lock(mutex_);
    if (!pieces_.empty() && sharding == sharding_) return pieces_;
    const Tensor whole = TFD_TRY(read());
    DeviceBuffers cut;
    const auto devices = devices_of(replica_, logical_devices);
    for (int i = 0; i < logical_devices; ++i) {
      const Tensor piece = hlo::piece_of(whole, sharding, i);
      const int device = devices[static_cast<std::size_t>(i)];
      cut.push_back(TFD_TRY(is_own_ ? engine.put(piece, device) : engine.lend(piece, device)));
    }
    pieces_ = std::move(cut);
    sharding_ = sharding;
    host_.reset();
    return pieces_;
  }

 private:
  Result<Tensor> read() const TFD_REQUIRES(mutex_) {
    if (host_) return *host_;
    std::vector<Tensor> all;
    for (const auto& piece : pieces_) all.push_back(TFD_TRY(piece->to_host()));
    return hlo::join_pieces(all, sharding_, spec_);
  }

  const TensorSpec spec_;
  const int replica_;
  const bool is_own_ = true;  // its memory isn't the caller's tensor's
  mutable Mutex mutex_;
  std::optional<Tensor> host_ TFD_GUARDED_BY(mutex_);
  OpSharding sharding_ TFD_GUARDED_BY(mutex_);
  DeviceBuffers pieces_ TFD_GUARDED_BY(mutex_);  // by logical device; empty: not cut yet
};

class ReplicaProgram final : public DeviceProgram {
 public:
  ReplicaProgram(std::shared_ptr<Engine> engine, const hlo::Module& module, std::shared_ptr<DeviceProgram> program,
                 std::vector<int> replicas, int logical_devices)
      : engine_(std::move(engine)),
        name_(module.name),
        program_(std::move(program)),
        replicas_(std::move(replicas)),
        logical_devices_(logical_devices),
        signature_(module.signature) {
    for (const hlo::Parameter& one : signature_.arguments) arguments_.push_back(one.spec);
    for (const hlo::Parameter& one : signature_.results) results_.push_back(one.spec);
  }

  const std::vector<int>& devices() const override { return replicas_; }
  const std::vector<TensorSpec>& arguments() const override { return arguments_; }
  const std::vector<TensorSpec>& results() const override { return results_; }
  std::optional<ProgramMemory> memory() const override { return program_->memory(); }
  std::optional<double> flops() const override { return program_->flops(); }

  Result<std::vector<DeviceBuffers>> execute(const std::vector<DeviceBuffers>& arguments,
                                             std::span<const std::size_t> donated) override {
    const auto each = static_cast<std::size_t>(logical_devices_);
    std::vector<DeviceBuffers> pieces(arguments.size() * each);
    for (std::size_t slot = 0; slot < arguments.size(); ++slot)
      for (std::size_t i = 0; i < arguments[slot].size(); ++i) {
        const auto own = TFD_TRY(pieces_of(arguments[slot][i].get(), slot, i));
        for (std::size_t p = 0; p < each; ++p) pieces[slot * each + p].push_back(own[p]);
      }
    const auto made = TFD_TRY(program_->execute(pieces, donated));
    std::vector<DeviceBuffers> out(arguments.size());
    for (std::size_t slot = 0; slot < out.size(); ++slot)
      for (std::size_t i = 0; i < results_.size(); ++i) {
        DeviceBuffers own;
        for (std::size_t p = 0; p < each; ++p) own.push_back(made[slot * each + p][i]);
        out[slot].push_back(std::make_shared<ReplicaBuffer>(results_[i], replicas_[slot],
                                                            sharding_of(signature_.results[i]), std::move(own)));
      }
    return out;
  }

 private:
  Result<DeviceBuffers> pieces_of(DeviceBuffer* argument, std::size_t slot, std::size_t index) const {
    auto* const buffer = dynamic_cast<ReplicaBuffer*>(argument);
    if (buffer == nullptr || slot >= replicas_.size() || index >= arguments_.size() ||
        buffer->device() != replicas_[slot] || buffer->spec() != arguments_[index])
      return fail(Code::kInvalidArgument, "{}: argument {} of replica {} is none of this program's", name_, index,
                  slot);
    return buffer->pieces(*engine_, sharding_of(signature_.arguments[index]), logical_devices_);
  }

  std::shared_ptr<Engine> engine_;  // shared with its maker
  std::string name_;
  std::shared_ptr<DeviceProgram> program_;  // on the logical devices
  std::vector<int> replicas_;               // by slot
  int logical_devices_;
  hlo::Signature signature_;
  std::vector<TensorSpec> arguments_, results_;
};

class ReplicaEngine final : public Engine {
 public:
  ReplicaEngine(std::shared_ptr<Engine> engine, int logical_devices)
      : engine_(std::move(engine)), logical_devices_(logical_devices) {
    for (std::size_t i = 0; i < engine_->devices().size(); i += static_cast<std::size_t>(logical_devices_))
      devices_.push_back(engine_->devices()[i]);
  }

  const PluginInfo& plugin() const override { return engine_->plugin(); }
  Result<std::shared_ptr<Function>> compile(const hlo::Module& module) override { return engine_->compile(module); }
  int device_count() const override { return static_cast<int>(devices_.size()); }
  CompileStats compile_stats() const override { return engine_->compile_stats(); }
  Transfers transfers() const override { return engine_->transfers(); }
  const std::vector<DeviceInfo>& devices() const override { return devices_; }
  const std::vector<DeviceInfo>& system_devices() const override { return engine_->system_devices(); }
  std::optional<DeviceMemory> memory(int replica) const override { return engine_->memory(replica * logical_devices_); }
  Result<DeviceBufferPtr> put(const Tensor& value, int replica) override {
    return std::make_shared<ReplicaBuffer>(value, replica, true);
  }
  Result<DeviceBufferPtr> lend(const Tensor& value, int replica) override {
    return std::make_shared<ReplicaBuffer>(value, replica, false);
  }

  Result<std::shared_ptr<DeviceProgram>> compile_program(const hlo::Module& module,
                                                         const ProgramOptions& options) override {
    const hlo::Module made = TFD_TRY(hlo::partitioned(module, logical_devices_, hlo::Aliases::kKept));
    ProgramOptions spread{.assignment = {}, .system = options.system};
    std::vector<int> replicas;
    for (const auto& replica : options.assignment) {
      replicas.push_back(replica.front());
      spread.assignment.push_back(devices_of(replica.front(), logical_devices_));
    }
    auto program = TFD_TRY(engine_->compile_program(made, spread));
    TFD_TRY(check_pieces(made, *program, logical_devices_), printable(module.name));
    return std::make_shared<ReplicaProgram>(engine_, made, std::move(program), std::move(replicas), logical_devices_);
  }

  Result<std::vector<std::shared_ptr<DeviceProgram>>> compile_for_each_device(const hlo::Module& module) override {
    std::vector<std::shared_ptr<DeviceProgram>> out;
    for (int replica = 0; replica < device_count(); ++replica)
      out.push_back(TFD_TRY(compile_program(module, {.assignment = {{replica}}})));
    return out;
  }

 private:
  std::shared_ptr<Engine> engine_;  // with its programs
  const int logical_devices_;
  std::vector<DeviceInfo> devices_;  // the first of each replica
};

}  // namespace

const OpSharding& sharding_of(const hlo::Parameter& parameter) {
  static const OpSharding kWhole;
  return parameter.sharding ? *parameter.sharding : kWhole;
}

Result<void> check_pieces(const hlo::Module& module, const DeviceProgram& program, int partitions) {
  const auto& [arguments, results] = module.signature;
  if (arguments.size() != program.arguments().size() || results.size() != program.results().size())
    return fail(Code::kInvalidArgument, "the compiled program takes {} arguments and gives {} results, not {} and {}",
                program.arguments().size(), program.results().size(), arguments.size(), results.size());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    TFD_TRY(check_piece(arguments[i], program.arguments()[i], partitions));
  for (std::size_t i = 0; i < results.size(); ++i) TFD_TRY(check_piece(results[i], program.results()[i], partitions));
  return {};
}

std::shared_ptr<Engine> make_replica_engine(std::shared_ptr<Engine> engine, int logical_devices) {
  return std::make_shared<ReplicaEngine>(std::move(engine), logical_devices);
}

}  // namespace tfd::function
