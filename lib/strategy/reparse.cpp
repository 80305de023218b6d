// SPDX-License-Identifier: Apache-2.0
#include "reparse.hpp"

namespace tfd::strategy {

Result<program::Program> reparse(const program::Program& program, std::string_view document, bool look_at_files) {
  const auto read_file = [&program](const std::string& path) -> Result<std::string> {
    const auto found = program.files.find(path);
    if (found == program.files.end()) return fail(Code::kNotFound, "cannot open {}", path);
    return found->second;
  };
  return program::parse_program(
      document, program.path, program.directory, read_file,
      {.overrides = {}, .look_at_files = look_at_files, .data_elsewhere = !program.missing_data.empty()});
}

}  // namespace tfd::strategy
