// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/environment.hpp"

#include <unistd.h>

#include <array>

namespace tfd {

Environment Environment::of_process() {
  Environment out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      out.set(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
  }
  return out;
}

std::optional<std::string> Environment::find(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

std::string Environment::get(std::string_view name, std::string_view fallback) const {
  return find(name).value_or(std::string(fallback));
}

void Environment::unset(std::string_view name) {
  const auto found = values_.find(name);
  if (found != values_.end()) values_.erase(found);
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace tfd
