// SPDX-License-Identifier: Apache-2.0
#include "tfd/function/plugin.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "plugin_function.hpp"
#include "tfd/base/text.hpp"
#include "tfd/function.h"
#include "tfd/process/fd.hpp"

namespace tfd::function {
namespace {

constexpr const char* kEntry = "tfd_plugin";

/// Size of the required entries; a later ABI appends to them.
constexpr std::size_t kLeastTable = sizeof(tfd_plugin_table);

Result<void> check_table(const std::string& name, const tfd_plugin_table* table) {
  if (table == nullptr) return fail(Code::kInvalidArgument, "{}: {}() returned nothing", name, kEntry);
  if (table->magic != TFD_FUNCTION_MAGIC)
    return fail(Code::kInvalidArgument, "{}: {}() returned no plug-in table (it begins with {:#x}, not {:#x})", name,
                kEntry, table->magic, TFD_FUNCTION_MAGIC);
  if (table->abi != TFD_FUNCTION_ABI)
    return fail(Code::kFailedPrecondition,
                "{}: built for ABI {} of tfd/function.h, but this tfd has ABI {}: rebuild it with this tfd's header",
                name, table->abi, TFD_FUNCTION_ABI);
  if (table->struct_size < kLeastTable)
    return fail(Code::kFailedPrecondition, "{}: its table has {} bytes, but ABI {} needs {}", name, table->struct_size,
                TFD_FUNCTION_ABI, kLeastTable);
  if (table->signature == nullptr || table->call == nullptr)
    return fail(Code::kInvalidArgument, "{}: its table lacks {}", name,
                table->signature == nullptr ? "'signature'" : "'call'");
  return {};
}

}  // namespace

Result<std::shared_ptr<const Plugin>> Plugin::open(const std::string& name, const std::string& path) {
  const std::string shown = printable(name);
  // Never closed (see the header). RTLD_LOCAL: two plug-ins may use the same names.
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    std::string why = ::dlerror();
    if (why.starts_with(path + ": ")) why.erase(0, path.size() + 2);
    return fail(Code::kInvalidArgument, "{}: not a shared object that can be loaded here: {}", shown, printable(why));
  }
  void* symbol = ::dlsym(handle, kEntry);
  if (symbol == nullptr)
    return fail(Code::kInvalidArgument, "{}: not a plug-in for tfd: it has no symbol {}", shown, kEntry);
  const auto entry = reinterpret_cast<const tfd_plugin_table* (*)()>(symbol);
  const tfd_plugin_table* table = entry();
  TFD_TRY(check_table(shown, table));
  return std::shared_ptr<const Plugin>(new Plugin(shown, table));
}

Result<std::shared_ptr<const Plugin>> Plugin::load(const std::string& path) {
  if (::access(path.c_str(), R_OK) != 0) return fail_errno(errno, fmt::format("cannot read {}", printable(path)));
  // A name without a slash would be looked for on the library path.
  return open(path, path.find('/') == std::string::npos ? "./" + path : path);
}

Result<std::shared_ptr<const Plugin>> Plugin::load_bytes(const std::string& name, std::string_view bytes) {
  const process::Fd file(::memfd_create("tfd-plugin", MFD_CLOEXEC));
  if (!file) return fail_errno(errno, fmt::format("cannot store {}", printable(name)));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return fail_errno(errno, fmt::format("cannot store {}", printable(name)));
    done += static_cast<std::size_t>(wrote);
  }
  return open(name, fmt::format("/proc/self/fd/{}", file.get()));
}

Result<std::string> Plugin::signature_text(const std::string& function) const {
  const char* text = table_->signature(function.c_str());
  if (text == nullptr) return fail(Code::kNotFound, "{} has no function '{}'", name_, printable(function));
  return std::string(text);
}

Result<hlo::Signature> Plugin::signature(const std::string& function) const {
  return TFD_TRY(hlo::parse_signature(TFD_TRY(signature_text(function))),
                 fmt::format("{}: the signature of '{}'", name_, printable(function)));
}

Result<std::shared_ptr<Function>> Plugin::make_function(const std::string& function,
                                                        const hlo::Signature& expected) const {
  const hlo::Signature own = TFD_TRY(signature(function));
  if (!hlo::same_specs(own, expected))
    return fail(Code::kInvalidArgument, "{}: '{}' is {}, but the program declares it as {}", name_, printable(function),
                hlo::format_signature(own), hlo::format_signature(expected));
  return PluginFunction::make(shared_from_this(), function, expected);
}

}  // namespace tfd::function
