#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The trained part of a program, as a group's members compare it. Private to the room. Thread rule: a pure function.
#include <string>

#include "tfd/program/program.hpp"

namespace tfd::strategy {

/// A value of GroupOptions::agreement: the program's document and files, whoever's paths and part of the data it has.
/// Members that differ are told in what: the key of the document, or the file, with its size.
std::string agreement_of(const program::Program& program);

}  // namespace tfd::strategy
