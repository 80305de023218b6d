// SPDX-License-Identifier: Apache-2.0
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "tfd/base/file.hpp"
#include "tfd/base/text.hpp"
#include "tfd/function/function.hpp"

namespace tfd::function {
namespace {

/// A plug-in that can be asked for by name, and where a package of Python's has it, within site-packages.
struct Named {
  const char* name;
  const char* in_site_packages;  // null: in none
  const char* package;           // that brings it, as a shell takes it
};
constexpr std::array<Named, 4> kNamed{{
    {"cpu", nullptr, "tfdist-pjrt-cpu"},
    {"cuda12", "jax_plugins/xla_cuda12/xla_cuda_plugin.so", "'jax-cuda12-plugin[with-cuda]'"},
    {"cuda13", "jax_plugins/xla_cuda13/xla_cuda_plugin.so", "'jax-cuda13-plugin[with-cuda]'"},
    {"tpu", "libtpu/libtpu.so", "libtpu"},
}};

std::vector<std::string> matching(const std::string& pattern) {
  std::vector<std::string> out;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return out;
}

/// Where the plug-in of a name may be: beside this executable, then in the site-packages of its environment, then in
/// those of the environment that is active.
std::vector<std::string> places_of(const Named& named, const Environment& env) {
  const std::string own = own_prefix().string(), file = fmt::format("/tfd/pjrt-{}.so", named.name);
  std::vector<std::string> out;
  if (!own.empty()) out = {own + "/lib" + file, own + "/" + TFD_LIBDIR + file};
  if (named.in_site_packages == nullptr) return out;
  for (const std::string& prefix : {own, env.get("VIRTUAL_ENV"), env.get("CONDA_PREFIX")})
    if (prefix.starts_with('/'))
      for (const char* library : {"lib", "lib64"})
        for (const char* packages : {"site-packages", "dist-packages"})
          std::ranges::move(
              matching(fmt::format("{}/{}/python3*/{}/{}", prefix, library, packages, named.in_site_packages)),
              std::back_inserter(out));
  return out;
}

/// Looks at one path after the other.
class Search {
 public:
  bool is_there(const std::string& path) {
    const bool readable = ::access(path.c_str(), R_OK) == 0;
    if (!readable && errno == EACCES) forbidden_ = path;
    return readable;
  }
  std::string first(const std::vector<std::string>& paths) {
    const auto found = std::ranges::find_if(paths, [&](const std::string& path) { return is_there(path); });
    return found == paths.end() ? "" : *found;
  }
  /// The last one that exists but isn't accessible to this user, as below /root.
  const std::string& forbidden() const { return forbidden_; }

 private:
  std::string forbidden_;
};

Result<std::string> find_asked(const std::string& asked, const Environment& env) {
  Search search;
  const auto named = std::ranges::find(kNamed, asked, &Named::name);
  if (named != kNamed.end()) {
    const auto places = places_of(*named, env);
    if (std::string path = search.first(places); !path.empty()) return path;
    if (asked == "cpu" && search.is_there(TFD_PJRT_CONFIGURED)) return std::string(TFD_PJRT_CONFIGURED);
    if (search.forbidden().empty())
      return fail(
          Code::kFailedPrecondition,
          "TFD_PJRT_PLUGIN={}: no such plug-in here, neither as {} nor in the site-packages of this environment: "
          "pip install {}, or set TFD_PJRT_PLUGIN to its path",
          asked, places.empty() ? "lib/tfd" : places.front(), named->package);
  }
  if (named == kNamed.end() && search.is_there(asked)) return asked;
  if (!search.forbidden().empty())
    return fail(Code::kFailedPrecondition, "this user may not read the PJRT plug-in {} (TFD_PJRT_PLUGIN)",
                search.forbidden());
  return fail(Code::kFailedPrecondition, "no PJRT plug-in at {} (TFD_PJRT_PLUGIN)", asked);
}

}  // namespace

Result<std::string> find_plugin(const Environment& env) {
  if (const std::string asked = env.get("TFD_PJRT_PLUGIN"); !asked.empty()) return find_asked(asked, env);
  Search search;
  auto places = places_of(kNamed.front(), env);
  const std::string beside = places.empty() ? "lib/tfd" : places.front(), configured = TFD_PJRT_CONFIGURED;
  if (!configured.empty()) places.push_back(configured);
  if (std::string path = search.first(places); !path.empty()) return path;
  if (!search.forbidden().empty())
    return fail(Code::kFailedPrecondition,
                "this user may not read the PJRT plug-in {}: set TFD_PJRT_PLUGIN to a copy that all users can read, or "
                "install tfd (./dev install)",
                search.forbidden());
  return fail(Code::kFailedPrecondition, "no PJRT plug-in at {}: {}, or set TFD_PJRT_PLUGIN to the path of one",
              configured.empty() ? beside : fmt::format("{} or {}", configured, beside),
              configured.empty() ? "pip install tfdist-pjrt-cpu" : "run ./dev setup");
}

std::string find_cache_directory(const Environment& env) {
  if (const auto own = env.find("TFD_CACHE_DIR")) return *own;
  const std::string cache_home = env.get("XDG_CACHE_HOME");
  if (cache_home.starts_with('/')) return cache_home + "/tfd";  // the XDG specification says to ignore relative ones
  const std::string home = env.get("HOME");
  return home.empty() ? "" : home + "/.cache/tfd";
}

}  // namespace tfd::function
