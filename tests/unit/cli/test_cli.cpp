// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include "tfd/cli/tool.hpp"
using namespace tfd; using namespace tfd::cli;
TEST_CASE("cli: smoke") {
  std::string c; bool w=false; std::string out, err;
  Tool t{.name="tfd-x", .summary="does x", .options={{"--cluster","FILE|-","The spec",&c},{"--wait","","Wait until",&w}}, .run=[](Io&io)->Result<ExitCode>{io.log.warning("hello");return ExitCode::kDone;}};
  Io io; io.out=Output(&out); io.err=Output(&err);
  CHECK(run_tool_with(t, {"--clustr","x"}, io)==64);
  CHECK(run_tool_with(t, {"--cluster"}, io)==64);
  CHECK(run_tool_with(t, {"--cluster=", "--wait"}, io)==0);
  CHECK(w); CHECK(c.empty());
  CHECK(run_tool_with(t, {"--help"}, io)==0);
  CHECK(run_tool_with(t, {"--dump-cli"}, io)==0);
  MESSAGE(out); MESSAGE(err);
}
