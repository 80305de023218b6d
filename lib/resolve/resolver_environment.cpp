// SPDX-License-Identifier: Apache-2.0
#include "tfd/resolve/resolver_environment.hpp"

#include "tfd/base/file.hpp"

namespace tfd::resolve {

ResolverEnvironment make_resolver_environment(const Environment& env, Deadline deadline, const Log& log) {
  return {.env = env,
          .fetcher = make_curl_fetcher(env),
          .gpus = nvidia_smi_lister(env, deadline),
          .devices = [](Deadline) -> Result<std::vector<std::string>> {
            return fail(Code::kUnimplemented, "this tool can't list devices");
          },
          .load_file = [](const std::string& path) { return load_file(path, std::size_t{64} << 20); },
          .now = [] { return std::chrono::system_clock::now(); },
          .pause = real_pause(),
          .hostname = host_name(),
          .log = log};
}

}  // namespace tfd::resolve
