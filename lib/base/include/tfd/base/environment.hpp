#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The environment as a value: libraries never call getenv, tools hand this in, tests make their own.
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tfd {

class Environment {
 public:
  Environment() = default;
  explicit Environment(std::map<std::string, std::string, std::less<>> values) : values_(std::move(values)) {}
  /// The environment that this process was started with.
  static Environment of_process();

  /// Unset is nullopt; set but empty is "".
  std::optional<std::string> find(std::string_view name) const;
  std::string get(std::string_view name, std::string_view fallback = "") const;
  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  void set(std::string name, std::string value) { values_[std::move(name)] = std::move(value); }
  void unset(std::string_view name);
  const std::map<std::string, std::string, std::less<>>& values() const { return values_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

/// Host name of gethostname(2); empty if it fails.
std::string host_name();

}  // namespace tfd
