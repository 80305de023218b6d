#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 over a list of texts (libmd). Thread rule: thread-compatible.
#include <sha2.h>

#include <string>
#include <string_view>

namespace tfd::function {

class Sha256 {
 public:
  Sha256() { SHA256Init(&context_); }
  void add(std::string_view bytes) {
    SHA256Update(&context_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  /// With its length in front, so that ("ab", "c") and ("a", "bc") differ.
  void add_part(std::string_view part) {
    add(std::to_string(part.size()) + ":");
    add(part);
  }
  /// 64 hexadecimal digits; ends the sum.
  std::string hex() {
    std::string out(SHA256_DIGEST_STRING_LENGTH, '\0');
    SHA256End(&context_, out.data());
    out.resize(SHA256_DIGEST_STRING_LENGTH - 1);
    return out;
  }

 private:
  SHA2_CTX context_;
};

}  // namespace tfd::function
