#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Functions of a shared object with the C ABI of tfd/function.h. A loaded plug-in stays mapped until the process ends:
// threads that it started would crash otherwise. Its memory errors are this process's. Thread rule: thread-safe; calls
// are made one at a time unless the plug-in states that they may overlap.
//
//   auto plugin = TFD_TRY(Plugin::load("scale.so"));
//   auto function = TFD_TRY(plugin->make_function("scale", TFD_TRY(plugin->signature("scale"))));
#include <memory>
#include <string>
#include <string_view>

#include "tfd/function/function.hpp"

struct tfd_plugin_table;

namespace tfd::function {

class Plugin : public std::enable_shared_from_this<Plugin> {
 public:
  /// kNotFound; kInvalidArgument: no shared object for this machine, or one without tfd_plugin(); kFailedPrecondition:
  /// another ABI, a table that is too small.
  static Result<std::shared_ptr<const Plugin>> load(const std::string& path);
  /// Loads a plug-in from its file's bytes, as they came with a program; `name` is for messages.
  static Result<std::shared_ptr<const Plugin>> load_bytes(const std::string& name, std::string_view bytes);

  /// Returns a function's signature. kNotFound: no such function; kInvalidArgument: a malformed signature.
  Result<hlo::Signature> signature(const std::string& function) const;
  /// Returns the signature's lines unparsed.
  Result<std::string> signature_text(const std::string& function) const;
  /// Makes a function. kInvalidArgument if `expected` isn't its signature.
  Result<std::shared_ptr<Function>> make_function(const std::string& function, const hlo::Signature& expected) const;

  const std::string& name() const { return name_; }
  const tfd_plugin_table& table() const { return *table_; }

 private:
  Plugin(std::string name, const tfd_plugin_table* table) : name_(std::move(name)), table_(table) {}
  static Result<std::shared_ptr<const Plugin>> open(const std::string& name, const std::string& path);

  std::string name_;
  const tfd_plugin_table* table_;  // the shared object's
};

}  // namespace tfd::function
