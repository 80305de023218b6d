#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Commands for the tests of this room. Thread rule: main thread.
#include <chrono>
#include <cstddef>
#include <string>

#include "tfd/command/command_process.hpp"

namespace tfd::command::test {

constexpr std::size_t kMost = 1000;  // bytes of an answer

inline CommandDef shell(const std::string& script) { return {.argv = {"sh", "-c", script}}; }
inline CommandPlace here() { return {.directory = "/", .environment = Environment::of_process(), .guard = nullptr}; }
/// Long enough for any command that ends.
inline Deadline soon() { return Deadline::after(std::chrono::seconds(20)); }

}  // namespace tfd::command::test
