// SPDX-License-Identifier: Apache-2.0
#include "reparse.hpp"

namespace tfd::strategy {

Result<program::Program> reparse(const program::Program& program, std::string_view document,
                                 program::ProgramOptions options) {
  const auto read_file = [&program](const std::string& path) -> Result<std::string> {
    const auto found = program.files.find(path);
    if (found == program.files.end()) return fail(Code::kNotFound, "cannot open {}", path);
    return found->second;
  };
  options.data_elsewhere = !program.missing_data.empty();
  options.data_root = program.data_root;
  auto out = TFD_TRY(program::parse_program(document, program.path, program.directory, read_file, options));
  if (out.train && out.train->checkpoint && program.train && program.train->checkpoint)
    out.train->checkpoint->directory = program.train->checkpoint->directory;  // as it is shown
  return out;
}

}  // namespace tfd::strategy
