#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Facts about the bodies of a module: custom calls, operations that wait for others, and what @main does with jax's
// platform index. Fed with the tokens that the parser skips over. Thread rule: plain value.
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lexer.hpp"

namespace tfd::hlo {

/// An operation and its position in the text.
struct FoundOperation {
  std::string name;  // "stablehlo.infeed"
  std::size_t at = 0;
};

struct BodyFacts {
  std::vector<std::string> custom_calls;         // targets, each once, in the order of the text
  bool asks_platform = false;                    // @main does something with its platform index
  std::optional<std::size_t> platform_branches;  // of the first "stablehlo.case" over it
  std::optional<FoundOperation> host_transfer;   // the first one: it would wait for a host that gives it nothing
  std::optional<FoundOperation> collective;      // the first that waits for other devices than its own
};

/// StableHLO's operations that wait for the host, then those that wait for other devices.
inline constexpr std::array<std::string_view, 10> kWaitingOperations{"infeed",
                                                                     "outfeed",
                                                                     "send",
                                                                     "recv",
                                                                     "all_reduce",
                                                                     "all_gather",
                                                                     "all_to_all",
                                                                     "collective_permute",
                                                                     "collective_broadcast",
                                                                     "reduce_scatter"};
inline constexpr std::size_t kHostTransfers = 4;  // of them

class BodyScan {
 public:
  /// Enters @main, whose platform index is the value `platform` (without '%'; empty if it has none).
  void enter_main(std::string platform) { platform_ = std::move(platform); }
  void leave_main() { platform_.clear(); }
  /// Sees a token that the parser took; `behind` is the text after it.
  void see(const Token& token, const Lexer& behind);
  BodyFacts facts() && { return std::move(facts_); }

 private:
  void see_call(Lexer behind);
  void count_branches(Lexer behind);
  void see_operation(const Token& token);
  void see_groups(bool are_pairs, Lexer behind);
  void add_call(std::string target);

  std::string platform_;
  std::optional<FoundOperation> last_collective_;  // the groups of it may follow
  BodyFacts facts_;
};

}  // namespace tfd::hlo
