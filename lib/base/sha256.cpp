// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/sha256.hpp"

#include <sha2.h>

#include <cstdint>

namespace tfd {

struct Sha256::Context {
  SHA2_CTX sum;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) { SHA256Init(&context_->sum); }

Sha256::Sha256(const Sha256& other) : context_(std::make_unique<Context>(*other.context_)) {}

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  SHA256Update(&context_->sum, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

void Sha256::add_part(std::string_view part) {
  add(std::to_string(part.size()) + ":");
  add(part);
}

std::string Sha256::hex() {
  std::string out(SHA256_DIGEST_STRING_LENGTH, '\0');
  SHA256End(&context_->sum, out.data());
  out.resize(SHA256_DIGEST_STRING_LENGTH - 1);
  return out;
}

std::array<std::byte, 32> Sha256::digest() {
  std::array<std::byte, 32> out;
  SHA256Final(reinterpret_cast<std::uint8_t*>(out.data()), &context_->sum);
  return out;
}

}  // namespace tfd
