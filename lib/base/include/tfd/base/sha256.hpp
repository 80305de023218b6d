#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 over a list of texts (libmd). Thread rule: thread-compatible.
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tfd {

class Sha256 {
 public:
  Sha256();
  Sha256(const Sha256& other);  // copies the state so far
  Sha256& operator=(const Sha256&) = delete;
  ~Sha256();
  void add(std::string_view bytes);
  /// Adds the text prefixed by its length, so that ("ab", "c") and ("a", "bc") differ.
  void add_part(std::string_view part);
  /// Returns 64 hexadecimal digits; the object can't be used after that.
  std::string hex();
  /// Returns the same as bytes; the object can't be used after that.
  std::array<std::byte, 32> digest();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace tfd
