#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Messages between launchers, as bytes (base/bytes.hpp) in a message's metadata. A change of their fields needs another
// transport::kProtocolVersion. Thread rule: pure functions.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/rendezvous/agreement.hpp"

namespace tfd::rendezvous {

/// Requests of a launcher to the one that holds the rendezvous.
enum class Kind : std::uint16_t {
  kJoin = 1,    // a Joining; answered with nothing
  kNext = 2,    // N; answered with the commands behind the Nth, as soon as there is one
  kReport = 3,  // a Report; answered with nothing
  kBye = 4,     // it has got kEnd; answered with nothing
};

/// Commands by their number, from 1.
using Commands = std::vector<std::pair<std::uint64_t, Command>>;

std::string format_joining(const Joining& joining);
std::string format_report(const Report& report);
std::string format_commands(const Commands& commands);
std::string format_seen(std::uint64_t seen);
/// kInvalidArgument: "a malformed message of a launcher: …".
Result<Joining> parse_joining(std::string_view bytes);
Result<Report> parse_report(std::string_view bytes);
Result<Commands> parse_commands(std::string_view bytes);
Result<std::uint64_t> parse_seen(std::string_view bytes);

}  // namespace tfd::rendezvous
