// SPDX-License-Identifier: Apache-2.0
#include "tfd/resolve/secret.hpp"

#include <cstring>

namespace tfd::resolve {

Secret& Secret::operator=(const Secret& other) {
  if (this == &other) return *this;
  wipe();
  text_ = other.text_;
  return *this;
}

Secret::Secret(Secret&& other) noexcept { *this = std::move(other); }

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this == &other) return *this;
  wipe();
  text_ = other.text_;  // moving a short string would leave its characters behind
  other.wipe();
  return *this;
}

Secret::~Secret() { wipe(); }

void Secret::wipe() noexcept {
  ::explicit_bzero(text_.data(), text_.size());
  text_.clear();
}

}  // namespace tfd::resolve
