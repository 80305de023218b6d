#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// --cluster, the same in every tool that asks resolve::find_spec() for a spec. Thread rule: plain functions.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "option_sections.hpp"
#include "tfd/cli/tool.hpp"

namespace tfd {

/// `fallback`: description of the spec's source without --cluster.
inline cli::Option cluster_option(std::string& target, std::string_view fallback = "stdin, then TF_CONFIG") {
  return {.names = "--cluster",
          .placeholder = "FILE|-|KIND",
          .help = fmt::format("The cluster spec: a file, - for stdin, or where to look: auto, env, kubernetes, mpi, "
                              "none, slurm, tpu (default: {})",
                              fallback),
          .target = &target,
          .words = {"auto", "env", "kubernetes", "mpi", "none", "slurm", "tpu"},
          .section = section::kWhere,
          .essential = true};
}

inline cli::Option hostfile_option(std::string& target) {
  return {.names = "--hostfile",
          .placeholder = "FILE",
          .help = "With --cluster mpi: mpirun's hostfile, if the environment doesn't name the hosts of the ranks",
          .target = &target,
          .complete = "file",
          .section = section::kWhere};
}

}  // namespace tfd
