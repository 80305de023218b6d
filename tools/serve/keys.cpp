// SPDX-License-Identifier: Apache-2.0
#include "keys.hpp"

#include "tfd/base/text.hpp"

namespace tfd::serve {

Result<int> generate_key(const std::string& asked, cli::Io& io) {
  const std::string stated = asked.empty() ? io.env.get("TFD_KEY_FILE") : asked;
  if (stated == "none") return fail(Code::kUsage, "--generate-key: no place to write the key: --key-file is none");
  const auto key = TFD_TRY(transport::make_curve_key());
  if (stated == "-") {
    TFD_TRY(io.out.write(task::key_to_text(key)));
    return 0;
  }
  const std::string path = stated.empty() ? task::default_key_path(io.env) : stated;
  if (path.empty())
    return fail(Code::kFailedPrecondition,
                "--generate-key: no place to write the key: give --key-file, or set XDG_CONFIG_HOME or HOME");
  if (stated.empty()) TFD_TRY(task::make_key_directory(path));
  TFD_TRY(task::save_new_key(path, key));
  if (!io.quiet) (void)io.err.write(fmt::format("tfd-serve: wrote the key file {}\n", printable(path)));
  return 0;
}

ServedKey run_key(const task::RunKey& key) { return {key.path(), key.path(), key.path()}; }

ServedKey served_key(const std::optional<task::FoundKey>& found, const cluster::ClusterConfig& config, bool declined) {
  if (declined) return {"", "none", "none"};
  if (!found) return {};
  // The default path may differ between hosts: each finds its own.
  const bool is_known = found->is_default && config.extra.find("\"key_file\"") == std::string::npos;
  return {found->path, is_known ? "" : found->path, found->path};
}

}  // namespace tfd::serve
