// SPDX-License-Identifier: Apache-2.0
#include "tfd/resolve/surroundings.hpp"

#include <unistd.h>

#include <array>

#include "tfd/base/file.hpp"

namespace tfd::resolve {

Surroundings make_surroundings(const Environment& env, Deadline deadline, const Log& log) {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) name.front() = '\0';
  return {.env = env,
          .fetcher = make_curl_fetcher(env),
          .gpus = nvidia_smi_lister(env, deadline),
          .devices = [](Deadline) -> Result<std::vector<std::string>> {
            return fail(Code::kUnimplemented, "this tool can't list devices");
          },
          .load_file = [](const std::string& path) { return load_file(path, std::size_t{64} << 20); },
          .now = [] { return std::chrono::system_clock::now(); },
          .pause = real_pause(),
          .hostname = name.data(),
          .log = log};
}

}  // namespace tfd::resolve
