// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tfd/base/text.hpp"
#include "tfd/resolve/hostlist.hpp"

using namespace tfd;
using namespace tfd::resolve;

namespace {
std::string expand(std::string_view text, Compat compat = Compat::kNone) {
  const auto hosts = expand_hostlist(text, compat);
  if (!hosts) {
    CHECK(hosts.error().code == Code::kInvalidArgument);
    return "error: " + hosts.error().message;
  }
  std::string out;
  for (const std::string& host : *hosts) out += (out.empty() ? "" : " ") + host;
  return out;
}
std::string why(std::string_view text, Compat compat = Compat::kNone) {
  const std::string out = expand(text, compat);
  REQUIRE(out.starts_with("error: "));
  return out.substr(out.find("': ") + 3);
}
std::string counts(std::string_view text) {
  const auto all = expand_tasks_per_node(text);
  if (!all) return "error: " + all.error().message;
  std::string out;
  for (const int count : *all) out += (out.empty() ? "" : " ") + std::to_string(count);
  return out;
}
}  // namespace

TEST_CASE("hostlist: the width of a range's first number pads it") {
  for (const Compat compat : {Compat::kNone, Compat::kTensorflow}) {
    CHECK(expand("n[8-010]", compat) == "n8 n9 n10");
    CHECK(expand("n[008-10]", compat) == "n008 n009 n010");
    CHECK(expand("n[9-11,099-101]", compat) == "n9 n10 n11 n099 n100 n101");
    CHECK(expand("n[1-2],m5,o[3-4,6],n1,", compat) == "n1 n2 m5 o3 o4 o6 n1");
    CHECK(expand("[1-3]", compat) == "1 2 3");
    CHECK(expand("", compat).empty());
  }
}

TEST_CASE("hostlist: of several groups the last varies fastest, a suffix stays") {
  CHECK(expand("rack[1-2]n[01-03]-ib") == "rack1n01-ib rack1n02-ib rack1n03-ib rack2n01-ib rack2n02-ib rack2n03-ib");
  CHECK(expand("[1-2][3,5]") == "13 15 23 25");
  CHECK(why("n[1-2]-ib", Compat::kTensorflow) ==
        "'n[1-2]-ib' continues after its brackets, which TensorFlow doesn't understand");
}

TEST_CASE("hostlist: a range that runs backwards is nothing for TensorFlow and an error for Slurm") {
  CHECK(expand("n[3-1]", Compat::kTensorflow).empty());
  CHECK(why("n[3-1]") == "'3-1' runs backwards");
}

TEST_CASE("hostlist: a range may have a step, after a slash as ClusterShell has it or a colon as Slurm's arrays") {
  CHECK(expand("n[1-10/3]") == "n1 n4 n7 n10");
  CHECK(expand("n[01-10:4,7]") == "n01 n05 n09 n7");
  CHECK(expand("r[1-3/2]n[0-1]") == "r1n0 r1n1 r3n0 r3n1");
  CHECK(expand("n[5-6/9223372036854775806]") == "n5");
  CHECK(why("n[1-4/0]") == "'1-4/0' has a step of zero");
  CHECK(why("n[1-4/x]") == "'1-4/x' has a step that is not a number");
  CHECK(why("n[1-4/]") == "'1-4/' has a step that is not a number");
  CHECK(why("n[1-4/2/2]") == "'1-4/2/2' has a step that is not a number");
  CHECK(why("n[4/2]") == "'4/2' is neither N nor N-M");
  CHECK(why("n[1-4/2]", Compat::kTensorflow) == "'1-4/2' is neither N nor N-M");
}

TEST_CASE("hostlist: white space separates items too, except for TensorFlow") {
  CHECK(expand("n[1-2] m\tx\n") == "n1 n2 m x");
  CHECK(expand(" a , b ") == "a b");
  CHECK(expand(" ") == "");
  CHECK(why("a, ,b") == "an item is empty");
  CHECK(expand_hostlist("a b", Compat::kTensorflow)->size() == 1);
}

TEST_CASE("hostlist: says what is wrong") {
  for (const Compat compat : {Compat::kNone, Compat::kTensorflow}) {
    CHECK(why("a,,b", compat) == "an item is empty");
    CHECK(why(",a", compat) == "an item is empty");
    CHECK(why(",", compat) == "an item is empty");
    CHECK(why("n[]", compat) == "'n[]' has empty brackets");
    CHECK(why("n[1-2", compat) == "a '[' without ']'");
    CHECK(why("n1-2]", compat) == "a ']' without '['");
    CHECK(why("n[[1]]", compat) == "a '[' within brackets");
    CHECK(why("n[1-2-3]", compat) == "'1-2-3' is neither N nor N-M");
    CHECK(why("n[1-a]", compat) == "'1-a' is neither N nor N-M");
    CHECK(why("n[-3]", compat) == "'-3' is neither N nor N-M");
    CHECK(why("n[1,]", compat) == "'' is neither N nor N-M");
    CHECK(why("n[ 1]", compat) == "' 1' is neither N nor N-M");
  }
}

TEST_CASE("hostlist: expansion is bounded in number, length and depth") {
  CHECK(why("n[1-999999999]") == "more than 1048576 hosts");
  CHECK(why("n[1-18446744073709551615]") == "'1-18446744073709551615' is too large");
  CHECK(why("n[1-99999999999999999999]") == "'1-99999999999999999999' is too large");
  CHECK(why("a[1-1024]b[1-1024],c") == "more than 1048576 hosts");
  CHECK(why("n[" + std::string(1000, '0') + "-1000000]").ends_with("is a name of more than 255 characters"));
  CHECK(why(std::string(300, 'n')).ends_with("is a name of more than 255 characters"));
  std::string many;
  for (int i = 0; i < 100000; ++i) many += "[1]";
  CHECK(why(many).ends_with("has more than 8 bracket groups"));
  CHECK(expand_hostlist("n[1-1048576]", Compat::kNone)->size() == 1048576);
  CHECK(why("n\x1b[1]\x07,,").find('\x07') == std::string::npos);
}

TEST_CASE("hostlist: folding is undone by expanding") {
  const auto folded = [](std::string_view list) { return fold_hostlist(split(list, ' ')); };
  CHECK(folded("n1 n2 n3") == "n[1-3]");
  CHECK(folded("n1 n3 n4") == "n[1,3-4]");
  CHECK(folded("n08 n09 n10 n11") == "n[08-11]");
  CHECK(folded("n8 n9 n10") == "n[8-10]");
  CHECK(folded("n8 n09 n10") == "n[8,09-10]");
  CHECK(folded("a1-ib a2-ib b a3") == "a[1-2]-ib,b,a3");
  CHECK(folded("n3 n2 n1") == "n[3,2,1]");
  CHECK(folded("login") == "login");
  CHECK(fold_hostlist({}).empty());
  for (const char* list : {"n1 n2 n02 n003 n4", "99 100 101", "a b c", "r1n1 r1n2 r2n1", "n1 n1 n2", "n0 n00 n000",
                           "n999999999999999999 n1000000000000000000", "x12345678901234567890123"}) {
    CAPTURE(list);
    CHECK(expand(folded(list)) == list);
  }
}

TEST_CASE("tasks per node: N and N(xM) and nothing else") {
  CHECK(counts("2(x3),1") == "2 2 2 1");
  CHECK(counts("3(x0),1") == "1");
  CHECK(counts("0") == "0");
  CHECK(counts("010") == "10");
  for (const char* bad : {"", ",", "1,", ",1", "2(x", "2(x)", "2(3)", "(x3)", "two", "2, 3", "-1", "+1", "2(x-1)",
                          "2(x3)4", "1(x2)(x3)", "99999999999", "1(x99999999999999999999999)"}) {
    CAPTURE(bad);
    CHECK(counts(bad).starts_with("error: invalid tasks per node"));
  }
  CHECK(counts("1(x999999999)") == "error: invalid tasks per node '1(x999999999)': more than 1048576 nodes");
  CHECK(counts("1(x1048576),1(x18446744073709551615)").starts_with("error: "));
}

TEST_CASE("slurm jobs: counts, and components of a heterogeneous job") {
  SlurmOptions options;
  REQUIRE(parse_slurm_jobs("worker=het:1+2,chief=1,ps=het:0", options));
  CHECK(options.jobs == JobCounts{{"chief", 1}});
  CHECK(options.job_components == JobComponents{{"worker", {1, 2}}, {"ps", {0}}});
  REQUIRE(parse_slurm_jobs("worker=2", options));
  CHECK(options.jobs == JobCounts{{"worker", 2}});
  CHECK(options.job_components.empty());
  const auto refused = [&](std::string_view text) {
    const auto result = parse_slurm_jobs(text, options);
    REQUIRE_FALSE(result);
    CHECK(result.error().code == Code::kInvalidArgument);
    return result.error().message;
  };
  CHECK(refused("a=het:x") == "job 'a': 'x' is not a component of a heterogeneous job, het:N or het:N+M");
  CHECK(refused("a=het:") == "job 'a': '' is not a component of a heterogeneous job, het:N or het:N+M");
  CHECK(refused("a=het:1+").starts_with("job 'a': ''"));
  CHECK(refused("a=het:1024").starts_with("job 'a': '1024'"));
  CHECK(refused("a=het:1,b=het:1") == "component 1 is given twice");
  CHECK(refused("a=het:1+1") == "component 1 is given twice");
  CHECK(refused("a=het:1,a=1") == "job 'a' is given twice");
  CHECK(refused("a=het:1,a=het:2") == "job 'a' is given twice");
  CHECK(refused("=het:1") == "'=het:1' is not NAME=COUNT");
  CHECK(refused("") == "no jobs (expected NAME=COUNT,…)");
  CHECK(refused("a=het:1,") == "'' is not NAME=COUNT");
  CHECK(options.jobs == JobCounts{{"worker", 2}});  // untouched by what failed
}

TEST_CASE("job counts: NAME=COUNT in the order given") {
  CHECK(*parse_job_counts("worker=3,ps=0") == JobCounts{{"worker", 3}, {"ps", 0}});
  CHECK(parse_job_counts("worker").error().message == "'worker' is not NAME=COUNT");
  CHECK(parse_job_counts("worker=-1").error().message ==
        "job 'worker': '-1' is not a number of tasks from 0 to 4194304");
  CHECK(parse_job_counts("a=1,a=2").error().message == "job 'a' is given twice");
  for (const char* bad : {"", "=1", "a=1,", "a=1.5", "a=", "a=99999999999"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_job_counts(bad));
  }
}

TEST_CASE("job counts: a name that is nearly a known one is noticed, and a user's own isn't") {
  CHECK(nearly_known_jobs("workers=2,ps=1") ==
        std::vector<std::string>{"--jobs: 'workers' is no job that tfd knows, did you mean 'worker'?"});
  CHECK(nearly_known_jobs("wroker=2,cheif=1").size() == 2);
  CHECK(nearly_known_jobs("worker=2,ps=1,chief=1,evaluator=1,trainer=1,p=1,pss,,=").empty());
  CHECK(nearly_known_jobs("").empty());
}
