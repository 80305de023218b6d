// SPDX-License-Identifier: Apache-2.0
#include "tfd/function/accelerators.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tfd::function {
namespace {

namespace fs = std::filesystem;

/// A file's hexadecimal number, "0x10de"; 0: none.
unsigned long number_of(const fs::path& file) {
  std::string text;
  std::ifstream(file) >> text;
  return std::strtoul(text.c_str(), nullptr, 16);
}

}  // namespace

std::optional<Accelerators> find_accelerators(const std::string& folder) {
  constexpr unsigned long kNvidia = 0x10de, kAmd = 0x1002, kGoogle = 0x1ae0;
  constexpr unsigned long kStorage = 0x01, kNetwork = 0x02, kDisplay = 0x03, kProcessing = 0x12;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  if (error) return std::nullopt;
  Accelerators out;
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    const unsigned long vendor = number_of(entry->path() / "vendor");
    const unsigned long base_class = number_of(entry->path() / "class") >> 16;
    const bool computes = base_class == kDisplay || base_class == kProcessing;  // not a GPU's audio or USB
    if (vendor == kNvidia && computes) ++out.nvidia;
    if (vendor == kAmd && computes) ++out.amd;
    if (vendor == kGoogle && base_class != kStorage && base_class != kNetwork) ++out.tpu;
  }
  return out;
}

Error wrong_kind(std::string_view plugin, std::string_view platform, std::string_view kind) {
  const std::string_view what =
      kind == "gpu"
          ? "pip install 'jax-cuda12-plugin[with-cuda]' and set TFD_PJRT_PLUGIN=cuda12, or the same with cuda13"
      : kind == "tpu" ? "pip install libtpu and set TFD_PJRT_PLUGIN=tpu"
                      : "set TFD_PJRT_PLUGIN to the path of another";
  return {Code::kFailedPrecondition,
          fmt::format("the PJRT plug-in {} is for {}, not for {}: {}", plugin, platform, kind, what),
          {}};
}

}  // namespace tfd::function
