#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A password, token or private key. It can't be printed or formatted by accident, and its memory is overwritten when it
// goes. Whoever reads one first calls process::forbid_core_dumps(). Thread rule: plain value.
#include <string>
#include <string_view>

namespace tfd::resolve {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&);
  Secret(Secret&&) noexcept;
  Secret& operator=(Secret&&) noexcept;
  ~Secret();

  bool empty() const { return text_.empty(); }
  /// The text, for the one place that must have it: the header of a request, a key for OpenSSL. Don't keep copies.
  const std::string& reveal() const { return text_; }

 private:
  void wipe() noexcept;
  std::string text_;
};

}  // namespace tfd::resolve
