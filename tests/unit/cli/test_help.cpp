// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sample.hpp"
#include "tfd/base/text.hpp"

using tfd::cli::Sample;
using Words = std::vector<std::string>;

namespace {

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (const std::string& line : tfd::split(text, '\n'))
    widest = std::max(widest, static_cast<std::size_t>(
                                  std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; })));
  return widest;
}

}  // namespace

TEST_CASE("cli: help goes to stdout, fits 80 columns and ends with 0") {
  Sample s;
  for (const Words& arguments :
       {Words{"--help"}, {"-h"}, {"local", "--wait", "--help"}, {"--help", "-n", "0"}, {"nonsense", "--help"}}) {
    CHECK(s.run(arguments).code == 0);
    CHECK(s.err.empty());
    CHECK(s.out.starts_with(
        "tfd-sample: show one option of every kind\n\nUsage: tfd-sample [OPTIONS] [KIND] [FILES…] [-- CMD [ARG…]]\n"));
    CHECK(widest_line(s.out) <= 80);
  }
}

TEST_CASE("cli: help shows defaults, choices, environment variables and examples, and hides what is hidden") {
  Sample s;
  s.run({"--help"});
  const auto shows = [&](const std::string& text) { return s.out.find(text) != std::string::npos; };
  CHECK(shows("\n  KIND                  Which kind (local, slurm)\n"));
  CHECK(shows("\n      --cluster FILE|-  The cluster spec\n"));
  CHECK(
      shows("\n  -f, --format FORMAT   How the result is printed (json, tf-config, table)\n                        "
            "(default: json)\n"));
  CHECK(shows("\n  -w, --wait            Wait until every task is ready\n"));
  CHECK(shows("\n      --[no-]keep       Keep the servers\n"));
  CHECK(shows("Give up after this (default: 30s) [TFD_TIMEOUT]"));
  CHECK(shows("(repeatable)"));
  CHECK(shows(
      "\n  tfd-sample slurm --wait --timeout 5m --cluster spec.json --set \\\n      train.steps=10 --format table\n"));
  CHECK_FALSE(shows("--secret"));
  CHECK_FALSE(shows("--dump-cli"));
}

TEST_CASE("cli: options stand under their sections, in the tool's order, and words are offered with files") {
  Sample s;
  auto tool = s.tool();
  std::string value;
  tool.options.push_back(
      {.names = "--nodes", .placeholder = "N", .help = "Nodes", .target = &value, .section = "Slurm"});
  tool.options.push_back({.names = "--zone",
                          .placeholder = "Z",
                          .help = "Zone",
                          .target = &value,
                          .section = "Google",
                          .essential = true});
  tool.options.push_back({.names = "--last", .placeholder = "N", .help = "Last", .target = &value, .words = {"auto"}});
  tool.sections = {"Google", "Slurm"};
  s.run(tool, {"--help"});
  const auto at = [&](const std::string& text) { return s.out.find(text); };
  CHECK(at("\nOptions:\n") < at("      --last N"));
  CHECK(at("      --last N") < at("\nGoogle:\n"));
  CHECK(at("\nGoogle:\n") < at("      --zone Z"));
  CHECK(at("      --zone Z") < at("\nSlurm:\n"));
  CHECK(at("\nSlurm:\n") < at("      --nodes N"));
  CHECK(at("      --nodes N") < at("\nOptions of every tool:\n"));
  s.run(tool, {"--dump-cli"});
  CHECK(at("\"words\": [\n        \"auto\"\n      ]") != std::string::npos);
}

TEST_CASE("cli: -h shows the essential options of a tool with sections, --help all") {
  Sample s;
  auto tool = s.tool();
  const auto shows = [&](const std::string& text) { return s.out.find(text) != std::string::npos; };
  s.run(tool, {"-h"});
  CHECK(shows("\n  -h, --help "));
  CHECK(shows("Override a value of the program"));

  std::string value;
  tool.options.push_back(
      {.names = "--zone", .placeholder = "Z", .help = "Zone", .target = &value, .section = "Google"});
  tool.options.push_back(
      {.names = "--job", .placeholder = "J", .help = "Job", .target = &value, .section = "Slurm", .essential = true});
  tool.sections = {"Google", "Slurm"};
  CHECK(s.run(tool, {"-h"}).code == 0);
  CHECK(shows("\nOptions used most:\n      --job J  Job\n"));
  CHECK(shows("\nArguments:\n"));
  CHECK(shows("\nExamples:\n"));
  CHECK(shows("\nAll options: tfd-sample --help; more: man tfd-sample\n"));
  CHECK_FALSE(shows("--zone"));
  CHECK_FALSE(shows("--color"));
  CHECK(widest_line(s.out) <= 80);
  s.run(tool, {"-vh"});
  CHECK_FALSE(shows("--zone"));
  s.run(tool, {"--help"});
  CHECK(shows("--zone"));
  CHECK(shows("\n  -h                    Print the options used most and exit\n"));
  s.run(tool, {"-h", "--help"});
  CHECK(shows("--zone"));
  s.run(tool, {"--dump-cli"});
  const auto dump = nlohmann::json::parse(s.out);
  CHECK(dump["sections"] == Words{"Google", "Slurm"});
  for (const auto& option : dump["options"])
    if (option["names"][0] == "--job") CHECK((option["section"] == "Slurm" && option["essential"] == true));
}

TEST_CASE("cli: a long label gets a line of its own") {
  Sample s;
  auto tool = s.tool();
  std::string value;
  tool.options.push_back({"--a-really-very-long-option-name", "PLACEHOLDER", "Its help", &value});
  s.run(tool, {"--help"});
  CHECK(s.out.find("\n      --a-really-very-long-option-name PLACEHOLDER\n                        Its help\n") !=
        std::string::npos);
  CHECK(widest_line(s.out) <= 80);
}

TEST_CASE("cli: version names the tool and the project's version") {
  Sample s;
  CHECK(s.run({"--version"}).code == 0);
  CHECK(s.err.empty());
  CHECK((s.out == "tfd-sample " + tfd::cli::version() + "\n" ||
         s.out.starts_with("tfd-sample " + tfd::cli::version() + " (")));
}

TEST_CASE("cli: the dump holds the whole interface") {
  Sample s;
  CHECK(s.run({"--dump-cli"}).code == 0);
  const auto dump = nlohmann::json::parse(s.out);
  CHECK(dump["name"] == "tfd-sample");
  CHECK(dump["group"] == "training");
  CHECK(dump["takes_command"] == true);
  CHECK(dump["examples"].size() == 3);
  const auto option = [&](const std::string& name) {
    for (const auto& entry : dump["options"])
      for (const auto& own : entry["names"])
        if (own == name) return entry;
    return nlohmann::json();
  };
  CHECK(option("KIND")["positional"] == true);
  CHECK(option("--format")["names"] == Words{"-f", "--format"});
  CHECK(option("-f")["choices"] == Words{"json", "tf-config", "table"});
  CHECK(option("--format")["default"] == "json");
  CHECK(option("--timeout")["env"] == "TFD_TIMEOUT");
  CHECK(option("--cluster")["complete"] == "file");
  CHECK(option("--keep")["negatable"] == true);
  CHECK(option("--set")["repeatable"] == true);
  CHECK(option("--wait")["switch"] == true);
  CHECK(option("--secret")["hidden"] == true);
  CHECK(option("--help")["common"] == true);
}
