// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "sample.hpp"

using namespace std::chrono_literals;
using tfd::Bytes;
using tfd::cli::Sample;
using tfd::cli::with;
using Words = std::vector<std::string>;

TEST_CASE("cli: every kind of target takes its value") {
  Sample s;
  s.run({"local",   "a",      "b",         "--cluster", "x.json",    "-f",
         "table",   "-w",     "--no-keep", "-n",        "7",         "--big=-9000000000",
         "--rate",  "1e-3",   "--set",     "a=1",       "--set=b=2", "--name",
         "n",       "--port", "0",         "--timeout", "1m30s",     "--grace=5s",
         "--limit", "4KiB"});
  CHECK(s.err == "");
  CHECK(s.code == 0);
  CHECK(s.kind == "local");
  CHECK(s.files == Words{"a", "b"});
  CHECK(s.cluster == "x.json");
  CHECK(s.format == "table");
  CHECK(s.wait);
  CHECK_FALSE(s.keep);
  CHECK(s.count == 7);
  CHECK(s.big == -9000000000);
  CHECK(s.rate == doctest::Approx(0.001));
  CHECK(s.set == Words{"a=1", "b=2"});
  CHECK(s.name == "n");
  CHECK(s.port == 0);
  CHECK(s.timeout == 90s);
  CHECK(s.grace == 5s);
  CHECK(s.limit == Bytes{4096});
}

TEST_CASE("cli: without options every target keeps its default") {
  Sample s;
  s.run({});
  CHECK(s.code == 0);
  CHECK(s.format == "json");
  CHECK(s.keep);
  CHECK(s.count == 3);
  CHECK(s.timeout == 30s);
  CHECK_FALSE(s.port.has_value());
  CHECK_FALSE(s.limit.has_value());
}

TEST_CASE("cli: the last of several values wins, negated switches too") {
  Sample s;
  s.run({"-f", "table", "--format=json", "--no-keep", "--keep", "-n1", "-n", "2"});
  CHECK(s.code == 0);
  CHECK(s.format == "json");
  CHECK(s.keep);
  CHECK(s.count == 2);
}

TEST_CASE("cli: short switches and a value may be joined") {
  Sample s;
  s.run({"-wn5", "-vvq"});
  CHECK(s.code == 0);
  CHECK(s.wait);
  CHECK(s.count == 5);
  CHECK(s.io.quiet);
}

TEST_CASE("cli: an empty value is refused, as that of a variable that is unset, unless it means something") {
  for (const Words& line : {Words{"--name", ""}, {"--name="}, {"--set", "a=1", "--set", ""}}) {
    Sample s;
    CHECK(s.run(line).code == 64);
    CHECK(s.err.find(": the value is empty: give ") != std::string::npos);
  }
  Sample s;
  tfd::cli::Tool tool = s.tool();
  for (tfd::cli::Option& option : tool.options)
    if (option.names == "--name") option.allows_empty = true;
  CHECK(tfd::cli::run_tool_with(tool, {"--name", ""}, s.io) == 0);
  CHECK(s.name == "");
}

TEST_CASE("cli: a value is taken as it is, whatever it looks like") {
  Sample s;
  for (const char* value : {"-5", "--wait", "[1,2]", "{}", "a,b", "\"x\"", "a=b", "%%", "-", "'q'", "\\n", " sp "}) {
    CAPTURE(value);
    CHECK(s.run({"--name", value}).code == 0);
    CHECK(s.name == std::string(value));
    CHECK(s.run({std::string("--name=") + value, "local"}).code == 0);
    CHECK(s.name == std::string(value));
    CHECK(s.kind == "local");
    CHECK(s.run({"--set", value, "--set", value}).code == 0);
    CHECK(s.set == Words{value, value});
    CHECK(s.run({"local", value[0] == '-' && value[1] != '\0' ? "x" : value}).code == 0);
  }
  CHECK_FALSE(s.wait);
  s.run({"local", "[1,2]", "-", ""});
  CHECK(s.files == Words{"[1,2]", "-", ""});
}

TEST_CASE("cli: -- ends the options before a command") {
  Sample s;
  CHECK(s.run({"local", "-w", "--", "prog", "--wait", "--", "-x", ""}).code == 0);
  CHECK(s.io.command == Words{"prog", "--wait", "--", "-x", ""});
  CHECK(s.wait);
  CHECK(s.files.empty());
  CHECK(s.run({"local", "--"}).code == 64);
  CHECK(s.err == "tfd-sample: a command is missing after -- (see tfd-sample --help)\n");
  CHECK(s.run({"local"}).code == 0);
  CHECK(s.io.command.empty());
}

TEST_CASE("cli: without a command, what follows -- are positionals") {
  Sample s;
  auto tool = s.tool();
  tool.takes_command = false;
  CHECK(s.run(tool, {"local", "--", "--wait", "-x", "--"}).code == 0);
  CHECK(s.files == Words{"--wait", "-x", "--"});
  CHECK_FALSE(s.wait);
}

TEST_CASE("cli: a positional command ends the options and is passed on untouched") {
  Sample s;
  tfd::cli::Tool tool = s.tool();
  tool.options.erase(tool.options.begin(), tool.options.begin() + 2);
  tool.takes_command = false;
  tool.command_is_positional = true;
  CHECK(s.run(tool, {"-w", "convert", "--name=", "-w", "--", "--x", "", "--help"}).code == 0);
  CHECK(s.io.command == Words{"convert", "--name=", "-w", "--", "--x", "", "--help"});
  CHECK(s.run(tool, {"--", "-strange"}).code == 0);
  CHECK(s.io.command == Words{"-strange"});
  CHECK(s.run(tool, {"--wiat", "convert"}).code == 64);
  CHECK(s.err == "tfd-sample: unknown option '--wiat', did you mean '--wait'? (see tfd-sample --help)\n");
}

TEST_CASE("cli: an option of a like tool's says where that is here, with dashes or underscores") {
  Sample s;
  tfd::cli::Tool tool = s.tool();
  tool.elsewhere = {{"--batch-size", "it is in the program"}};
  for (const std::string option : {"--batch-size", "--batch_size", "--batch-size=3"}) {
    CHECK(s.run(tool, {option, "3"}).code == 64);
    CHECK(s.err ==
          "tfd-sample: no option '" + option.substr(0, 12) + "': it is in the program (see tfd-sample --help)\n");
  }
}

TEST_CASE("cli: a usage error is one line that names the nearest option, and 64") {
  Sample s;
  const auto error = [&](const Words& arguments) {
    CHECK(s.run(arguments).code == 64);
    CHECK(s.out.empty());
    CHECK(s.err.ends_with(" (see tfd-sample --help)\n"));
    return s.err.substr(12, s.err.size() - 12 - 25);
  };
  CHECK(error({"--clutser", "x"}) == "unknown option '--clutser', did you mean '--cluster'?");
  CHECK(error({"--bar"}) == "unknown option '--bar'");  // the dashes are no likeness
  CHECK(error({"--clutser=x"}) == "unknown option '--clutser', did you mean '--cluster'?");
  CHECK(error({"--secrets"}) == "unknown option '--secrets'");  // hidden ones are not suggested
  CHECK(error({"-x"}) == "unknown option '-x'");
  CHECK(error({"-wait"}) == "unknown option '-wait', did you mean '--wait'?");
  CHECK(error({"local", "--name"}) == "--name needs a value: NAME");
  CHECK(error({"-n"}) == "-n needs a value: N");
  CHECK(error({"-wn"}) == "-n needs a value: N");
  CHECK(error({"--wait=maybe"}) == "--wait: takes no value, got 'maybe'");
  CHECK(error({"-f", "tfconfig"}) == "--format: invalid value 'tfconfig', did you mean 'tf-config'?");
  CHECK(error({"-f", "xml-and-more"}) == "--format: invalid value 'xml-and-more' (one of json, tf-config and table)");
  CHECK(error({"lokal"}) == "KIND: invalid value 'lokal', did you mean 'local'?");
  CHECK(error({"--timeout", "soon"}) == "--timeout: 'soon' is not a duration (e.g. 250ms, 30s, 1m30s)");
  CHECK(error({"-f", "TfConfig"}) == "--format: invalid value 'TfConfig', did you mean 'tf-config'?");
  CHECK(error({"-f", "TFConfigStrategy"}) == "--format: invalid value 'TFConfigStrategy', did you mean 'tf-config'?");
  CHECK(error({"-f", ""}) == "--format: invalid value '' (one of json, tf-config and table)");
  for (const Words& bad : {Words{"-n", "0"},
                           {"-n", "101"},
                           {"-n", "x"},
                           {"-n", "99999999999"},
                           {"-n", "1.5"},
                           {"-n", ""},
                           {"--port", "70000"},
                           {"--port", "-1"},
                           {"--big", "99999999999999999999"},
                           {"--rate", "fast"},
                           {"--rate", ""},
                           {"--limit", "4XB"},
                           {"--limit", "-1"},
                           {"--timeout", "-1s"},
                           {"--timeout", ""}}) {
    CAPTURE(bad[0] + " " + bad[1]);
    CHECK(error(bad).find(bad[0] == "-n" ? "--count: " : bad[0] + ": ") == 0);
  }
}

TEST_CASE("cli: control characters of the command line don't reach the terminal") {
  Sample s;
  CHECK(s.run({"--\x1b[31mred"}).code == 64);
  CHECK(s.err.find('\x1b') == std::string::npos);
  CHECK(s.run({"local", "-f", "\x1b]0;x\n"}).code == 64);
  CHECK(s.err.find('\x1b') == std::string::npos);
  CHECK(s.err.find('\n') == s.err.size() - 1);
}

TEST_CASE("cli: missing and superfluous arguments are usage errors") {
  Sample s;
  auto tool = s.tool();
  tool.options[0].required = true;
  CHECK(s.run(tool, {}).code == 64);
  CHECK(s.err == "tfd-sample: KIND is missing (see tfd-sample --help)\n");
  tool.options.erase(tool.options.begin() + 1);  // FILES
  CHECK(s.run(tool, {"local", "more"}).code == 64);
  CHECK(s.err ==
        "tfd-sample: unexpected argument 'more': put -- before a command: tfd-sample local -- more (see tfd-sample "
        "--help)\n");
  tool.takes_command = false;
  CHECK(s.run(tool, {"local", "more"}).code == 64);
  CHECK(s.err == "tfd-sample: unexpected argument 'more' (see tfd-sample --help)\n");
  tool.options[1].required = true;  // --cluster
  CHECK(s.run(tool, {"local"}).code == 64);
  CHECK(s.err == "tfd-sample: --cluster is missing: --cluster FILE|- (see tfd-sample --help)\n");
}

TEST_CASE("cli: a command without -- before it is answered with where that goes") {
  Sample s;
  auto tool = s.tool();
  tool.options.erase(tool.options.begin(), tool.options.begin() + 2);  // KIND and FILES
  const auto told = [&](const Words& words, const std::string& line) {
    CHECK(s.run(tool, words).code == 64);
    CHECK(s.err.find("put -- before a command: tfd-sample " + line + " (see") != std::string::npos);
  };
  told({"-n", "2", "./train", "--strategy", "mirrored"}, "-n 2 -- ./train --strategy mirrored");
  told({"-wn2", "./train", "--count=x"}, "-wn2 -- ./train --count=x");
  told({"./train", "it's", "a b", "", "-z"}, "-- ./train 'it'\\''s' 'a b' '' -z");
  told({"--set=a=1", "env", "X=1", "./train", "--", "more"}, "--set=a=1 -- env X=1 ./train -- more");
  CHECK(s.run(tool, {"--cont", "2", "./train"}).code == 64);  // an option of the tool's own, mistyped
  CHECK(s.err == "tfd-sample: unknown option '--cont', did you mean '--count'? (see tfd-sample --help)\n");
  told({"./train", "--help"}, "-- ./train --help");  // the command's own
  CHECK(s.run(tool, {"--help", "./train"}).code == 0);
}

TEST_CASE("cli: an environment variable stands between option and default") {
  Sample s;
  CHECK(s.run({}, with("TFD_TIMEOUT", "7s")).code == 0);
  CHECK(s.timeout == 7s);
  CHECK(s.run({"--timeout", "2s"}, with("TFD_TIMEOUT", "7s")).code == 0);
  CHECK(s.timeout == 2s);
  Sample fresh;
  CHECK(fresh.run({}, with("TFD_TIMEOUT", "")).code == 0);
  CHECK(fresh.timeout == 30s);
  CHECK(fresh.run({}, with("TFD_TIMEOUT", "x")).code == 64);
  CHECK(fresh.err ==
        "tfd-sample: TFD_TIMEOUT: 'x' is not a duration (e.g. 250ms, 30s, 1m30s) (see tfd-sample --help)\n");
}

TEST_CASE("cli: a mistake in the option table is a bug, not the user's fault") {
  Sample s;
  auto tool = s.tool();
  tool.options.push_back(tool.options[3]);
  CHECK(s.run(tool, {}).code == 70);
}

TEST_CASE("cli: a tool may use a short name that is otherwise a common option's") {
  Sample s;
  bool own = false;
  auto tool = s.tool();
  tool.options.push_back({"-q,--queue", "", "Its own", &own});
  CHECK(s.run(tool, {"-q"}).code == 0);
  CHECK(own);
  CHECK_FALSE(s.io.quiet);
  CHECK(s.run(tool, {"--quiet"}).code == 0);
  CHECK(s.io.quiet);
}
