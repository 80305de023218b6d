#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The file of a cluster's key, readable by its owner only, the same for all servers and clients. The key itself is
// transport's (tfd/transport/curve_key.hpp); it is never sent, passed as an argument or printed, but its path may be.
// Thread rule: plain values; a RunKey belongs to one process, not to its forks.
#include <optional>
#include <string>
#include <string_view>

#include "tfd/base/environment.hpp"
#include "tfd/base/error.hpp"
#include "tfd/cluster/cluster_config.hpp"
#include "tfd/transport/curve_key.hpp"
#include "tfd/transport/endpoint.hpp"

namespace tfd::task {

/// Formats the lines of a key file.
std::string key_to_text(const transport::CurveKey& key);
/// Parses a key file. kInvalidArgument: truncated, not a key file, or of another version.
Result<transport::CurveKey> key_from_text(std::string_view text);

/// Loads a key. kPermissionDenied for a file that others can read or change; its group may read it on a read-only
/// mount, as Kubernetes mounts a Secret. kNotFound; kInvalidArgument for a file without a key.
Result<transport::CurveKey> load_key(const std::string& path);
/// Writes a new file of mode 0600. kAlreadyExists if the path exists: a key is never overwritten.
Result<void> save_new_key(const std::string& path, const transport::CurveKey& key);

/// "$XDG_CONFIG_HOME/tfd/key", else "$HOME/.config/tfd/key"; empty where neither is known.
std::string default_key_path(const Environment& env);
/// Makes missing directories of the default path, mode 0700.
Result<void> make_key_directory(const std::string& key_path);

struct FoundKey {
  std::string path;  // absolute, so that other processes can be told
  transport::CurveKey key;
  bool is_default = false;  // at the default path, where clients look
};
/// Finds the key: `asked` (--key-file), else TFD_KEY_FILE, else the spec's "key_file", else the default path if there
/// is a file. "none" as one of the first three: no key, and the rest is ignored.
Result<std::optional<FoundKey>> find_key(const std::string& asked, const cluster::ClusterConfig& config,
                                         const Environment& env);
/// True if `asked` or TFD_KEY_FILE is "none".
bool is_key_declined(const std::string& asked, const Environment& env);

/// A factory of endpoints with that key, unencrypted ones without one, and with the transport that TFD_TRANSPORT names.
/// kUsage: it names none.
Result<transport::EndpointFactory> endpoints_under(const std::optional<FoundKey>& found, const Environment& env);

/// A key for one run, in a file that is removed with this object.
class RunKey {
 public:
  /// Writes a new key, or this one, in XDG_RUNTIME_DIR, else TMPDIR, else /tmp.
  static Result<RunKey> make(const Environment& env, const std::optional<transport::CurveKey>& key = {});
  RunKey(RunKey&& other) noexcept;
  RunKey& operator=(RunKey&&) = delete;
  ~RunKey();
  const std::string& path() const { return path_; }

 private:
  explicit RunKey(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace tfd::task
