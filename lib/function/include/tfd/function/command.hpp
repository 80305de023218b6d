#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Functions that are commands: tensors as JSON lines on stdin and stdout. Run once per call, or kept as a filter that
// answers line by line. A line is the one argument bare, several as a list, none as null; so are the results.
// Thread rule: thread-safe; calls of one function run one at a time. A kept filter lives on a thread of its own.
#include <memory>

#include "tfd/command/command.hpp"
#include "tfd/function/function.hpp"

namespace tfd::function {

/// Nothing is started before the first call. call(): kCancelled where it was stopped; kInvalidArgument where the
/// command prints something else than results of this signature; kPermissionDenied where it may not be run;
/// kFailedPrecondition where it isn't found, exits with something else than 0, dies or ends early; kDeadlineExceeded;
/// kResourceExhausted where it prints far more than the results need. Each names the command, how it ended and the end
/// of its stderr. After an error a filter is started afresh for the next call.
std::shared_ptr<Function> make_command_function(command::CommandDef command, command::CommandPlace place,
                                                hlo::Signature signature);

}  // namespace tfd::function
