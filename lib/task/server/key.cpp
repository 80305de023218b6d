// SPDX-License-Identifier: Apache-2.0
#include "tfd/task/key.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tfd/base/text.hpp"
#include "tfd/cluster/json_value.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::task {
namespace {

constexpr std::string_view kMark = "tfd-key-";  // a key file begins with this and its version
constexpr std::string_view kVersion = "2";
constexpr std::string_view kPublic = "public ", kSecret = "secret ";
constexpr std::string_view kNone = "none";
constexpr std::size_t kMostFile = 4096;

std::string key_directory(const Environment& env) {
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"})
    if (const std::string directory = env.get(name);
        directory.starts_with('/') && ::access(directory.c_str(), W_OK | X_OK) == 0)
      return directory;
  return "/tmp";
}

Result<void> write_key(int fd, const std::string& path, const transport::CurveKey& key) {
  const std::string text = key_to_text(key);
  if (::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0) return {};
  const int code = errno;
  ::unlink(path.c_str());
  return fail_errno(code, fmt::format("cannot write the key file {}", printable(path)));
}

/// Refuses a file that others may read or change.
Result<void> check_mode(int fd, const struct stat& info, const std::string& shown) {
  if ((info.st_mode & 0077) == 0) return {};
  const bool by_all = (info.st_mode & 0007) != 0;
  struct statvfs mount {};
  const bool is_read_only = ::fstatvfs(fd, &mount) == 0 && (mount.f_flag & ST_RDONLY) != 0;
  if (!by_all && is_read_only) return {};
  const std::string mode = fmt::format("key file {}: mode {:04o}", shown, info.st_mode & 07777);
  if (is_read_only)
    return fail(Code::kPermissionDenied, "{}: others can read it; for a Kubernetes Secret set defaultMode: 0440", mode);
  return fail(Code::kPermissionDenied, "{}: {} can read it: chmod 600 {}", mode, by_all ? "others" : "its group",
              shown);
}

/// Takes a line "NAME VALUE" and returns its value.
std::string_view take_line(std::string_view& text, std::string_view name) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line.starts_with(name) ? line.substr(name.size()) : std::string_view();
}

std::string absolute(const std::string& path) {
  std::error_code error;
  const auto full = std::filesystem::absolute(path, error);
  return error ? path : full.lexically_normal().string();
}

}  // namespace

std::string key_to_text(const transport::CurveKey& key) {
  return fmt::format("{}{}\n{}{}\n{}{}\n", kMark, kVersion, kPublic, key.public_key, kSecret, key.secret_key);
}

Result<transport::CurveKey> key_from_text(std::string_view text) {
  if (!text.starts_with(kMark)) return fail(Code::kInvalidArgument, "does not hold a tfd key");
  if (take_line(text, kMark) != kVersion)
    return fail(Code::kInvalidArgument,
                "holds a key of another version of tfd: make a new one with tfd-serve --generate-key");
  transport::CurveKey key;
  key.public_key = take_line(text, kPublic);
  key.secret_key = take_line(text, kSecret);
  if (key.public_key.empty() || key.secret_key.empty() || !text.empty())
    return fail(Code::kInvalidArgument, "the key is incomplete");
  TFD_TRY(transport::check_curve_key(key), "the key is incomplete");
  return key;
}

Result<transport::CurveKey> load_key(const std::string& path) {
  const std::string shown = printable(path);
  const process::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) return fail_errno(errno, fmt::format("cannot read the key file {}", shown));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return fail_errno(errno, fmt::format("cannot read the key file {}", shown));
  if (!S_ISREG(info.st_mode)) return fail(Code::kInvalidArgument, "key file {}: not a regular file", shown);
  TFD_TRY(check_mode(file.get(), info, shown));
  if (info.st_size > static_cast<off_t>(kMostFile))
    return fail(Code::kInvalidArgument, "key file {}: does not hold a tfd key", shown);
  const std::string text = TFD_TRY(process::read_all(file.get(), Deadline::never(), kMostFile), "key file " + shown);
  return TFD_TRY(key_from_text(text), "key file " + shown);
}

Result<void> save_new_key(const std::string& path, const transport::CurveKey& key) {
  const process::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file && errno == EEXIST)
    return fail(Code::kAlreadyExists,
                "{} already exists; not overwriting it (the cluster that uses it would be locked out)",
                printable(path));
  if (!file) return fail_errno(errno, fmt::format("cannot create the key file {}", printable(path)));
  return write_key(file.get(), path, key);
}

std::string default_key_path(const Environment& env) {
  if (const std::string config = env.get("XDG_CONFIG_HOME"); config.starts_with('/')) return config + "/tfd/key";
  const std::string home = env.get("HOME");
  return home.starts_with('/') ? home + "/.config/tfd/key" : "";
}

Result<void> make_key_directory(const std::string& key_path) {
  const std::string directory = std::filesystem::path(key_path).parent_path().string();
  if (directory.empty() || directory == "/") return {};
  if (::mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST) return {};
  if (errno != ENOENT) return fail_errno(errno, fmt::format("cannot create the directory {}", printable(directory)));
  TFD_TRY(make_key_directory(directory));
  if (::mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return fail_errno(errno, fmt::format("cannot create the directory {}", printable(directory)));
}

Result<std::optional<FoundKey>> find_key(const std::string& asked, const cluster::ClusterConfig& config,
                                         const Environment& env) {
  std::string path = asked.empty() ? env.get("TFD_KEY_FILE") : asked;
  if (path.empty()) path = cluster::stated_text(config, "key_file");
  if (path == kNone) return std::nullopt;
  const std::string usual = default_key_path(env);
  if (path.empty()) {
    if (usual.empty() || (::access(usual.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)))
      return std::nullopt;
    path = usual;
  }
  path = absolute(path);
  auto key = TFD_TRY(load_key(path));
  return FoundKey{path, std::move(key), path == usual};
}

bool is_key_declined(const std::string& asked, const Environment& env) {
  return (asked.empty() ? env.get("TFD_KEY_FILE") : asked) == kNone;
}

Result<transport::EndpointFactory> endpoints_under(const std::optional<FoundKey>& found, const Environment& env) {
  const auto transport = transport::parse_transport(env.get("TFD_TRANSPORT"));
  if (!transport) return fail(Code::kUsage, "TFD_TRANSPORT: {}", transport.error().message);
  return [key = found ? std::optional(found->key) : std::nullopt,
          transport = *transport](transport::EndpointOptions options) {
    if (key) options.key = key;
    options.transport = transport;
    return transport::make_zmq_endpoint(std::move(options));
  };
}

Result<RunKey> RunKey::make(const Environment& env, const std::optional<transport::CurveKey>& key) {
  const auto written = key ? *key : TFD_TRY(transport::make_curve_key());
  std::string path = key_directory(env) + "/tfd-key-XXXXXX";
  const process::Fd file(::mkostemp(path.data(), O_CLOEXEC));  // mode 0600, newly created
  if (!file) return fail_errno(errno, fmt::format("cannot create a key file in {}", key_directory(env)));
  TFD_TRY(write_key(file.get(), path, written));
  return RunKey(path);
}

RunKey::RunKey(RunKey&& other) noexcept : path_(std::exchange(other.path_, {})) {}

RunKey::~RunKey() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace tfd::task
