// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <thread>

#include "tfd/base/by_number.hpp"
#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/idle_time.hpp"
#include "tfd/base/names.hpp"
#include "tfd/base/random.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

using namespace tfd;
using namespace std::chrono_literals;

namespace {
Result<std::unique_ptr<int>> half_of(int value) {
  if (value % 2 != 0) return fail(Code::kInvalidArgument, "{} is odd", value);
  return std::make_unique<int>(value / 2);
}
Result<int> quarter_of(int value) {
  const auto half = TFD_TRY(half_of(value), "first half");
  return *TFD_TRY(half_of(*half));
}
}  // namespace

TEST_CASE("error: TFD_TRY passes values on, and errors with their context") {
  CHECK(*quarter_of(8) == 2);
  CHECK(quarter_of(7).error().message == "first half: 7 is odd");
  CHECK(quarter_of(6).error().message == "3 is odd");
  CHECK(quarter_of(6).error().code == Code::kInvalidArgument);
}

TEST_CASE("error: every code has a name that reads back") {
  for (int i = 0; i <= static_cast<int>(Code::kProtocolMismatch); ++i)
    CHECK(parse_code(code_name(static_cast<Code>(i))) == static_cast<Code>(i));
  CHECK(parse_code("NO_SUCH_CODE") == Code::kUnknown);
}

TEST_CASE("error: errno becomes a code and a lower-case text") {
  const Result<> gone = fail_errno(ENOENT, "cannot open x");
  CHECK(gone.error().code == Code::kNotFound);
  CHECK(gone.error().message == "cannot open x: no such file or directory");
  CHECK(Result<>(fail_errno(ENOSPC, "x")).error().code == Code::kResourceExhausted);
}

TEST_CASE("units: durations") {
  CHECK(*parse_duration("30s") == 30s);
  CHECK(*parse_duration("1m30s") == 90s);
  CHECK(*parse_duration("250ms") == 250ms);
  CHECK(*parse_duration("1.5h") == 90min);
  CHECK(*parse_duration("2") == 2s);
  CHECK(*parse_duration("0") == 0s);
  for (const char* bad : {"", "s", "-1s", "1x", "1m30", "nan", "1e3s", "999999999d"}) CHECK_FALSE(parse_duration(bad));
  CHECK(format_duration(90s) == "1m30s");
  CHECK(format_duration(250ms) == "250ms");
  CHECK(format_duration(0s) == "0s");
  CHECK(*parse_duration(format_duration(90061001ms)) == 90061001ms);
}

TEST_CASE("units: durations rounded for people") {
  CHECK(rounded_duration(std::chrono::milliseconds(257)) == "250ms");
  CHECK(rounded_duration(std::chrono::microseconds(1'524'600)) == "1s520ms");
  CHECK(rounded_duration(std::chrono::milliseconds(10'061)) == "10s");
  CHECK(rounded_duration(std::chrono::milliseconds(61'700)) == "1m2s");
}

TEST_CASE("units: sizes") {
  CHECK(parse_bytes("256KiB")->count == 262144);
  CHECK(parse_bytes("1GB")->count == 1000000000);
  CHECK(parse_bytes("17")->count == 17);
  for (const char* bad : {"", "KiB", "-1", "1KiBs", "1e30TB"}) CHECK_FALSE(parse_bytes(bad));
  CHECK(format_bytes(Bytes{262144}) == "256KiB");
  CHECK(format_bytes(Bytes{1000}) == "1000");
  CHECK(format_bytes(Bytes{0}) == "0");
}

TEST_CASE("rates: large ones have their digits in groups") {
  CHECK(rounded_rate(0) == "0");
  CHECK(rounded_rate(0.12342) == "0.1234");
  CHECK(rounded_rate(650.54) == "650.5");
  CHECK(rounded_rate(999.6) == "1 000");
  CHECK(rounded_rate(13810.4) == "13 810");
  CHECK(rounded_rate(2'000'000) == "2 000 000");
  CHECK(rounded_rate(-1234) == "-1 234");
  CHECK(rounded_rate(1e20) == "1e+20");
  CHECK(rounded_rate(HUGE_VAL) == "inf");
}

TEST_CASE("units: integers") {
  CHECK(*parse_integer("42", 0, 100) == 42);
  CHECK(parse_integer("70000", 0, 65535).error().message == "70000 is out of range (0 to 65535)");
  CHECK(parse_integer("99999999999999999999", 0, 65535).error().message.find("out of range") != std::string::npos);
  for (const char* bad : {"", "1x", " 1", "0x10", "1.0"}) CHECK_FALSE(parse_integer(bad, 0, 100));
}

TEST_CASE("deadline: never, passed, and the earlier of two") {
  CHECK(Deadline::never().poll_ms() == -1);
  CHECK_FALSE(Deadline::never().expired());
  CHECK(Deadline::after(Duration::max()).is_never());
  CHECK(Deadline::after(-1s).expired());
  CHECK(Deadline::after(-1s).poll_ms() == 0);
  CHECK(Deadline::after(1h).earlier_of(Deadline::never()) != Deadline::never());
}

TEST_CASE("text: the nearest name, if it is near enough") {
  const std::vector<std::string> known{"learning_rate", "momentum", "nesterov"};
  CHECK(did_you_mean("learning_rat", known) == ", did you mean 'learning_rate'?");
  CHECK(did_you_mean("xyz", known).empty());
  const std::vector<std::string> words{"tag", "join", "set"};
  CHECK(did_you_mean("bar", words).empty());  // two letters of three are others
  CHECK(did_you_mean("eta", words).empty());
  CHECK(did_you_mean("jion", words) == ", did you mean 'join'?");  // swapped letters are one mistake
  CHECK(did_you_mean("sett", words) == ", did you mean 'set'?");
  CHECK(counted(0, "closure") == "0 closures");
  CHECK(counted(1, "closure") == "1 closure");
  CHECK(counted(2, "closure") == "2 closures");
  CHECK(join_words(known) == "learning_rate, momentum and nesterov");
}

TEST_CASE("text: initials stand for the words of a name") {
  const std::vector<std::string> names{"loss", "learning_rate", "log-every", "late_rounds"};
  CHECK(tfd::find_abbreviated("lr", names) == "learning_rate");
  CHECK(tfd::find_abbreviated("le", names) == "log-every");
  for (const char* const none : {"", "l", "lo", "learning", "xy"}) CHECK_FALSE(tfd::find_abbreviated(none, names));
}

TEST_CASE("text: globs, splitting, and what a terminal must not see") {
  CHECK(matches_glob("enc/*", "enc/w"));
  CHECK(matches_glob("*", ""));
  CHECK(matches_glob("a*b*c", "aXXbYYc"));
  CHECK_FALSE(matches_glob("enc/*", "dec/w"));
  CHECK(split("a,,b", ',') == std::vector<std::string>{"a", "", "b"});
  CHECK(printable("a\x1b[31mb\n") == "a?[31mb ");
  CHECK(printable("\xC2\x9B"
                  "31m caf\xC3\xA9 \xE2\x82\xAC") == "?31m caf\xC3\xA9 \xE2\x82\xAC");  // the C1 form of ESC [
  CHECK(printable("\xff\xfe{\xC3") == "??{?");
}

TEST_CASE("idle time: work has a thread of that kind, until it is done, its time is over or somebody is in a hurry") {
  std::atomic<bool> is_hurried{false};
  int policy = -1;
  std::thread::id thread;
  in_idle_time(1h, is_hurried, [&](const std::atomic<bool>& is_over) {
    CHECK(!is_over);
    policy = ::sched_getscheduler(0);
    thread = std::this_thread::get_id();
  });
  CHECK(policy == SCHED_IDLE);
  CHECK(thread != std::this_thread::get_id());
  CHECK(::sched_getscheduler(0) != SCHED_IDLE);
  in_idle_time(1ms, is_hurried, [](const std::atomic<bool>& is_over) {
    while (!is_over) std::this_thread::yield();
  });
  in_idle_time(1h, is_hurried, [&](const std::atomic<bool>& is_over) {
    is_hurried = true;
    while (!is_over) std::this_thread::yield();
  });
  is_hurried = false;
  CHECK_THROWS_AS(in_idle_time(1h, is_hurried, [](const auto&) { throw std::bad_alloc(); }), std::bad_alloc);
}

TEST_CASE("random: texts have two digits for each byte, and no two are the same") {
  CHECK(random_text().size() == 32);
  CHECK(random_text(3).size() == 6);
  CHECK(random_text().find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(random_text() != random_text());
  CHECK(random_bits() != random_bits());
  CHECK(hex_of(std::as_bytes(std::span("\x0a\xf3", 2))) == "0af3");
}

TEST_CASE("by number: what is put in and taken out in any order is what is there") {
  std::minstd_rand random(7);
  NumberSet numbers;
  NumberMap<std::shared_ptr<int>> pointers;
  std::set<std::uint64_t> expected;
  for (std::uint64_t next = 5; next < 30'000; ++next) {
    CHECK(numbers.insert(next));
    CHECK(!numbers.insert(next));
    pointers.put(next, std::make_shared<int>(static_cast<int>(next)));
    expected.insert(next);
    while (expected.size() > 6'000 || (random() % 3 == 0 && !expected.empty())) {
      const auto taken = random() % 4 == 0 ? std::prev(expected.end()) : expected.begin();
      CHECK(numbers.contains(*taken));
      CHECK(numbers.erase(*taken));
      CHECK(!numbers.erase(*taken));
      CHECK(*pointers.take(*taken) == static_cast<int>(*taken));
      CHECK(!pointers.find(*taken));
      CHECK(!pointers.take(*taken));
      expected.erase(taken);
    }
    CHECK(numbers.size() == expected.size());
  }
  std::vector<std::uint64_t> all = numbers.all(), pointed;
  pointers.for_each([&](const std::shared_ptr<int>& value) { pointed.push_back(static_cast<std::uint64_t>(*value)); });
  std::ranges::sort(all);
  std::ranges::sort(pointed);
  const std::vector<std::uint64_t> sorted(expected.begin(), expected.end());
  CHECK(!sorted.empty());
  CHECK(all == sorted);
  CHECK(pointed == sorted);
  CHECK(*pointers.find(sorted.front()) == static_cast<int>(sorted.front()));
  numbers.clear();
  CHECK(numbers.empty());
  CHECK(!numbers.contains(sorted.front()));
}
