// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "text.hpp"
#include "tfd/base/text.hpp"

namespace tfd::hlo {
namespace {

constexpr std::string_view kGpu = "gpu";
constexpr std::array<std::string_view, 5> kPlatforms{"cpu", "cuda", "rocm", "tpu", kGpu};

bool is_gpu(std::string_view name) { return name == kGpu || name == "cuda" || name == "rocm"; }

/// Its own name first; then "gpu" on either side matches cuda and rocm.
std::optional<std::size_t> find_platform(const std::vector<std::string>& platforms, const std::string& platform) {
  const auto own = std::find(platforms.begin(), platforms.end(), platform);
  if (own != platforms.end()) return static_cast<std::size_t>(own - platforms.begin());
  if (!is_gpu(platform)) return std::nullopt;
  const auto fits = [&](const std::string& name) { return platform == kGpu ? is_gpu(name) : name == kGpu; };
  const auto found = std::find_if(platforms.begin(), platforms.end(), fits);
  if (found == platforms.end() || std::find_if(found + 1, platforms.end(), fits) != platforms.end())
    return std::nullopt;
  return static_cast<std::size_t>(found - platforms.begin());
}

Parameter index_argument() {
  Parameter index;
  index.name = "_platform_index";
  index.spec = {tensor::DType::kS32, {}};
  return index;
}

}  // namespace

Result<void> check_platform_name(std::string_view name) {
  if (std::find(kPlatforms.begin(), kPlatforms.end(), name) != kPlatforms.end()) return {};
  const std::vector<std::string> known(kPlatforms.begin(), kPlatforms.end());
  return fail(Code::kInvalidArgument, "platform '{}' is unknown (available: {})", printable(name), join_words(known));
}

Result<void> check_platforms(const Module& module) {
  if (!module.asks_platform) return {};
  if (module.platforms.empty())
    return fail(Code::kInvalidArgument,
                "{} is a jax.export for several platforms that asks which one it runs on, but it doesn't say which "
                "they are: list them in the order of the export, e.g. \"platforms\": [\"cpu\", \"cuda\"]",
                printable(module.name));
  if (module.platform_branches && *module.platform_branches != module.platforms.size())
    return fail(Code::kInvalidArgument, "{} chooses among {} platforms, but {} listed", printable(module.name),
                *module.platform_branches,
                module.platforms.size() == 1 ? "1 is" : fmt::format("{} are", module.platforms.size()));
  return {};
}

std::size_t platform_index(const Module& module, const std::string& platform) {
  return find_platform(module.platforms, platform).value_or(0);
}

Result<Module> for_platform(const Module& module, const std::string& platform) {
  if (!module.platforms.empty() && !find_platform(module.platforms, platform))
    return fail(Code::kFailedPrecondition, "{} is for {} (its 'platforms'), but this task's plug-in is for {}",
                printable(module.name), join_words(module.platforms), printable(platform));
  if (!module.takes_platform) return module;
  TFD_TRY(check_platforms(module));
  Module own = module;
  own.takes_platform = own.asks_platform = false;
  if (!module.is_text) {
    own.signature.arguments.insert(own.signature.arguments.begin(), index_argument());
    return own;
  }
  const ModuleFacts facts = TFD_TRY(parse_mlir_text(module.code), printable(module.name));
  const PlatformArgument& index = facts.platform.value();
  const std::string_view text = module.code;
  own.code = fmt::format("{}{} %{} = stablehlo.constant dense<{}> : tensor<i32> {}", text.substr(0, index.begin),
                         text.substr(index.end, facts.body_at - index.end), index.value,
                         platform_index(module, platform), text.substr(facts.body_at));
  return own;
}

}  // namespace tfd::hlo
