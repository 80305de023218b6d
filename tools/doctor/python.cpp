// SPDX-License-Identifier: Apache-2.0
#include "doctor/python.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

#include "general/programs.hpp"
#include "tfd/base/text.hpp"

namespace tfd::doctor {
namespace {

namespace fs = std::filesystem;

/// Prints the version, the executable, and where modules are looked for.
constexpr const char* kAbout = "import sys; print(sys.version.split()[0], sys.executable, *sys.path, sep='\\n')";

struct Python {
  std::string version, executable;
  std::vector<std::string> folders;
};

std::optional<Python> find_python(const Environment& env) {
  const auto text = general::output_of({"python3", "-c", kAbout}, env, std::chrono::minutes(1));
  if (!text) return std::nullopt;
  const auto lines = split(*text, '\n');
  if (lines.size() < 2) return std::nullopt;
  return Python{lines[0], lines[1], {lines.begin() + 2, lines.end()}};
}

/// The version of an installed package, by the name of its metadata: "keras-3.13.2.dist-info".
std::optional<std::string> find_package(const std::string& name, const Python& python) {
  for (const std::string& folder : python.folders) {
    std::error_code error;
    if (!folder.starts_with('/')) continue;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      const std::string file = entry->path().filename().string();
      constexpr std::string_view kSuffix = ".dist-info";
      if (file.starts_with(name + "-") && file.ends_with(kSuffix))
        return file.substr(name.size() + 1, file.size() - name.size() - 1 - kSuffix.size());
    }
  }
  return std::nullopt;
}

/// A missing framework: needed, if there is no other one.
Check absent(std::string name, bool has_other, std::string hint) {
  return {.name = std::move(name),
          .state = has_other ? State::kOptional : State::kMissing,
          .text = "not installed for this Python",
          .hint = std::move(hint)};
}

/// PyTorch, whose models are exported through torchax.
Check check_torch(const Python& python, bool has_other) {
  const auto torch = find_package("torch", python), torchax = find_package("torchax", python);
  if (!torch) return absent("torch", has_other, "to export PyTorch models: pip install torch torchax");
  if (torchax)
    return {.name = "torch", .text = fmt::format("{}, with torchax {}", printable(*torch), printable(*torchax))};
  return {.name = "torch",
          .state = has_other ? State::kOptional : State::kMissing,
          .text = fmt::format("{}, without torchax", printable(*torch)),
          .hint = "to export PyTorch models: pip install torchax"};
}

}  // namespace

void check_python(const Environment& env, std::vector<Check>& out) {
  const auto python = find_python(env);
  if (!python)
    return out.push_back({.name = "Python",
                          .state = State::kMissing,
                          .text = "no python3 in PATH",
                          .hint = "models are exported by it; trainings don't need it"});
  out.push_back({.name = "Python", .text = printable(fmt::format("{}, {}", python->version, python->executable))});
  const auto keras = find_package("keras", *python), jax = find_package("jax", *python);
  const bool has_torch = find_package("torch", *python) && find_package("torchax", *python);
  out.push_back(keras ? Check{.name = "keras", .text = printable(*keras)}
                      : absent("keras", jax || has_torch, "to export Keras models: pip install keras jax"));
  out.push_back(jax ? Check{.name = "jax", .text = printable(*jax)}
                    : absent("jax", has_torch && !keras, "to export JAX and Keras models: pip install jax"));
  out.push_back(check_torch(*python, jax.has_value()));
}

}  // namespace tfd::doctor
