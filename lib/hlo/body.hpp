#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What is looked for in the bodies of a module: custom calls, and what @main does with jax's platform index. Fed with
// the tokens that the parser skips over. Thread rule: plain value.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lexer.hpp"

namespace tfd::hlo {

struct BodyFacts {
  std::vector<std::string> custom_calls;         // targets, each once, in the order of the text
  bool asks_platform = false;                    // @main does something with its platform index
  std::optional<std::size_t> platform_branches;  // of the first "stablehlo.case" over it
};

class BodyScan {
 public:
  /// From here on `platform` (without '%'; empty: there is none) is what @main calls its platform index.
  void enter_main(std::string platform) { platform_ = std::move(platform); }
  void leave_main() { platform_.clear(); }
  /// A token that was taken; `behind` is what follows.
  void see(const Token& token, const Lexer& behind);
  BodyFacts facts() && { return std::move(facts_); }

 private:
  void see_call(Lexer behind);
  void count_branches(Lexer behind);
  void add_call(std::string target);

  std::string platform_;
  BodyFacts facts_;
};

}  // namespace tfd::hlo
