// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/text.hpp"
#include "tfd/process/child.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/resolve/resolver.hpp"

namespace tfd::resolve {

Result<std::optional<int>> count_gpus(std::string_view output, int exit_code) {
  if (exit_code != 0)
    return fail(Code::kFailedPrecondition, "could not get the number of GPUs: nvidia-smi exited with {}: {}", exit_code,
                printable(output));
  int count = 0;
  for (const std::string& line : split(output, '\n')) count += line.starts_with("GPU ") ? 1 : 0;
  return count;
}

GpuLister nvidia_smi_lister(const Environment& env, Deadline deadline) {
  return [env, deadline]() -> Result<std::optional<int>> {
    process::Pipe pipe = TFD_TRY(process::make_pipe());
    process::ChildOptions options;
    options.argv = {"nvidia-smi", "--list-gpus"};
    options.environment = env;
    options.stdout_fd = pipe.write.get();
    auto child = process::Child::start(options);
    if (!child) {
      if (child.error().code == Code::kNotFound) return std::nullopt;
      return fail(std::move(child).error());
    }
    pipe.write.reset();
    const std::string output = TFD_TRY(process::read_all(pipe.read.get(), deadline, 1 << 20), "nvidia-smi");
    const process::ExitStatus status = TFD_TRY(child->wait(deadline), "nvidia-smi");
    return count_gpus(output, status.code);
  };
}

}  // namespace tfd::resolve
