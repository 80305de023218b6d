#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// --format, of the tools that print a training's events. Thread rule: plain functions.
#include <string>

#include "option_sections.hpp"
#include "tfd/cli/tool.hpp"
#include "tfd/process/fd.hpp"

namespace tfd {

inline cli::Option format_option(std::string& format) {
  return {.names = "--format",
          .placeholder = "FORM",
          .help = "Format of a training's events on stdout: text or JSON lines; auto: text on a terminal, else JSON",
          .target = &format,
          .choices = {"auto", "text", "json"},
          .env = "TFD_FORMAT",
          .shown_default = "auto",
          .section = section::kOutput};
}

/// True if a tfd-launch on a terminal shows what stdout has.
inline bool is_shown_by_launch(const cli::Io& io) {
  const std::string shown = io.env.get("TFD_TEXT_STREAM");
  return !shown.empty() && shown == process::name_of_stream(io.out.fd());
}

/// True if stdout has lines for people: as stated, or where they read it, on a terminal or through a tfd-launch on one.
inline bool prints_text(const std::string& format, const cli::Io& io) {
  if (format != "auto") return format == "text";
  const bool is_mpirun =
      io.env.has("OMPI_COMM_WORLD_RANK");  // Open MPI's, which gives every rank a terminal of its own
  return (io.out.is_terminal() && !is_mpirun) || is_shown_by_launch(io);
}

}  // namespace tfd
