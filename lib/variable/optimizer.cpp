// SPDX-License-Identifier: Apache-2.0
#include "tfd/variable/optimizer.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "optimizers.hpp"
#include "tfd/base/text.hpp"

namespace tfd::variable {
namespace {

struct Entry {
  std::string_view name;
  std::shared_ptr<const Optimizer> (*make)(Settings&);
};
constexpr std::array kOptimizers{Entry{"sgd", make_sgd}, Entry{"adam", make_adam}};

// Keys of Keras' optimizers that no optimizer here reads: named, so that nobody believes they had an effect.
void refuse_foreign_keys(Settings& settings) {
  for (const char* key : {"clipvalue", "clipnorm", "global_clipnorm"})
    settings.refuse(key, Code::kInvalidArgument,
                    "gradients are clipped by the worker, before they are pushed: not here");
  for (const char* key : {"weight_decay", "amsgrad", "use_ema", "ema_momentum", "ema_overwrite_frequency",
                          "loss_scale_factor", "gradient_accumulation_steps"})
    settings.refuse(key, Code::kUnimplemented, "not supported yet");
}

}  // namespace

Result<std::shared_ptr<const Optimizer>> make_optimizer(const nlohmann::ordered_json& optimizer) {
  const std::string name = TFD_TRY(only_key(optimizer, R"({"sgd": {"learning_rate": 0.01}})"));
  std::vector<std::string> names;
  for (const Entry& entry : kOptimizers) {
    names.emplace_back(entry.name);
    if (entry.name != name) continue;
    Settings settings(optimizer.begin().value(), name);
    auto made = entry.make(settings);
    refuse_foreign_keys(settings);
    TFD_TRY(settings.finish());
    return made;
  }
  const std::string hint = did_you_mean(name, names);
  return fail(Code::kInvalidArgument, "{}: no such optimizer{}", printable(name),
              hint.empty() ? fmt::format(" (there are {})", join_words(names)) : hint);
}

}  // namespace tfd::variable
