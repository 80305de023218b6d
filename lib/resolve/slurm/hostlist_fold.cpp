// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "tfd/resolve/hostlist.hpp"

namespace tfd::resolve {
namespace {

/// prefix + digits + suffix; the digits are the last run of them, empty where there is none that folds.
struct Name {
  std::string_view prefix, digits, suffix;
  std::uint64_t number = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

Name take_apart(std::string_view host) {
  std::size_t end = host.size();
  while (end > 0 && !is_digit(host[end - 1])) --end;
  std::size_t start = end;
  while (start > 0 && is_digit(host[start - 1])) --start;
  if (start == end || end - start > 18) return {host, {}, {}, 0};
  Name name{host.substr(0, start), host.substr(start, end - start), host.substr(end), 0};
  std::from_chars(name.digits.data(), name.digits.data() + name.digits.size(), name.number);
  return name;
}

/// Whether expand_hostlist() prints `number` like this in a range that began with `first`.
bool is_written_like(const Name& name, std::string_view first) {
  return name.digits.size() == first.size() || (name.digits.size() > first.size() && name.digits.front() != '0');
}

struct Run {
  Name first;
  std::uint64_t last = 0;
  std::string_view last_digits;
};

void append_group(std::string& out, const std::vector<Run>& runs) {
  if (!out.empty()) out += ',';
  const Name& name = runs.front().first;
  out += name.prefix;
  const bool single = runs.size() == 1 && runs.front().last == name.number;
  if (!single) out += '[';
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i > 0) out += ',';
    out += runs[i].first.digits;
    if (runs[i].last == runs[i].first.number) continue;
    out += '-';
    out += runs[i].last_digits;
  }
  if (!single) out += ']';
  out += name.suffix;
}

}  // namespace

std::string fold_hostlist(std::span<const std::string> hosts) {
  std::string out;
  std::vector<Run> runs;  // of one prefix and suffix
  for (const std::string& host : hosts) {
    const Name name = take_apart(host);
    const bool same = !runs.empty() && !name.digits.empty() && !runs.front().first.digits.empty() &&
                      runs.front().first.prefix == name.prefix && runs.front().first.suffix == name.suffix;
    if (same && name.number == runs.back().last + 1 && is_written_like(name, runs.back().first.digits)) {
      runs.back().last = name.number;
      runs.back().last_digits = name.digits;
      continue;
    }
    if (!same && !runs.empty()) {
      append_group(out, runs);
      runs.clear();
    }
    runs.push_back({name, name.number, name.digits});
  }
  if (!runs.empty()) append_group(out, runs);
  return out;
}

}  // namespace tfd::resolve
