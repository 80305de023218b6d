// SPDX-License-Identifier: Apache-2.0
#include "tfd/resolve/hostlist.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "tfd/base/text.hpp"

namespace tfd::resolve {
namespace {

constexpr std::size_t kLongestName = 255;
constexpr std::ptrdiff_t kMostGroups = 8;

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // below `first`: nothing
  std::size_t width = 0;
  std::uint64_t step = 1;
  std::uint64_t size() const { return last < first ? 0 : (last - first) / step + 1; }
};

/// A piece of an item: fixed text, or the ranges of a bracket group.
struct Piece {
  std::string_view text;
  std::vector<Range> ranges;
  bool group = false;
};

std::string shown(std::string_view text) {
  return printable(text.size() > 60 ? std::string(text.substr(0, 57)) + "…" : std::string(text));
}

/// Reads one hostlist; all messages quote the whole of it.
class Expander {
 public:
  Expander(std::string_view whole, Compat compat, const HostSink& sink) : whole_(whole), compat_(compat), sink_(sink) {}

  Result<void> run() {
    std::size_t start = skip_space(0);
    while (start < whole_.size()) {  // one trailing comma is accepted
      const std::size_t end = TFD_TRY(find_end(start));
      if (end == start) return wrong("an item is empty");
      TFD_TRY(expand_item(whole_.substr(start, end - start)));
      start = skip_space(end);
      if (start < whole_.size() && whole_[start] == ',') start = skip_space(start + 1);
    }
    return {};
  }

 private:
  tl::unexpected<Error> wrong(std::string_view why) const {
    return fail(Code::kInvalidArgument, "invalid hostlist '{}': {}", shown(whole_), why);
  }
  tl::unexpected<Error> wrong_part(std::string_view part, std::string_view why) const {
    return wrong(fmt::format("'{}' {}", shown(part), why));
  }

  std::size_t skip_space(std::size_t at) const {
    while (compat_ == Compat::kNone && at < whole_.size() && is_space(whole_[at])) ++at;
    return at;
  }

  /// The comma or space outside brackets that ends the item, or the end of the text.
  Result<std::size_t> find_end(std::size_t start) const {
    bool inside = false;
    for (std::size_t i = start; i < whole_.size(); ++i) {
      const char c = whole_[i];
      if (c == '[') {
        if (inside) return wrong("a '[' within brackets");
        inside = true;
      } else if (c == ']') {
        if (!inside) return wrong("a ']' without '['");
        inside = false;
      } else if (!inside && (c == ',' || (compat_ == Compat::kNone && is_space(c)))) {
        return i;
      }
    }
    if (inside) return wrong("a '[' without ']'");
    return whole_.size();
  }

  Result<Range> parse_range(std::string_view text) const {
    const std::size_t dash = text.find('-');
    // ClusterShell writes steps with '/', Slurm (in its array indices) with ':'.
    const bool may_step = compat_ == Compat::kNone && dash != std::string_view::npos;
    const std::size_t slash = may_step ? text.find_first_of("/:", dash) : std::string_view::npos;
    const std::string_view first = text.substr(0, dash);
    const std::string_view last = dash == std::string_view::npos ? first : text.substr(0, slash).substr(dash + 1);
    const std::string_view step = slash == std::string_view::npos ? "1" : text.substr(slash + 1);
    if (!all_digits(first) || !all_digits(last)) return wrong_part(text, "is neither N nor N-M");
    if (!all_digits(step)) return wrong_part(text, "has a step that is not a number");
    Range range;
    range.width = first.size();
    const auto read = [](std::string_view digits, std::uint64_t& value) {
      return std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc{} &&
             value < std::numeric_limits<std::int64_t>::max();
    };
    if (!read(first, range.first) || !read(last, range.last) || !read(step, range.step))
      return wrong_part(text, "is too large");
    if (range.step == 0) return wrong_part(text, "has a step of zero");
    if (range.last < range.first && compat_ == Compat::kNone) return wrong_part(text, "runs backwards");
    return range;
  }

  Result<std::vector<Piece>> parse_item(std::string_view item) const {
    std::vector<Piece> pieces;
    std::size_t at = 0;
    while (at < item.size()) {
      if (item[at] != '[') {
        const std::size_t end = std::min(item.find('[', at), item.size());
        pieces.push_back({item.substr(at, end - at), {}, false});
        at = end;
        continue;
      }
      const std::size_t close = item.find(']', at);
      Piece group{{}, {}, true};
      std::string_view inside = item.substr(at + 1, close - at - 1);
      if (inside.empty()) return wrong_part(item, "has empty brackets");
      for (bool more = true; more;) {
        const std::size_t comma = inside.find(',');
        group.ranges.push_back(TFD_TRY(parse_range(inside.substr(0, comma))));
        more = comma != std::string_view::npos;
        if (more) inside.remove_prefix(comma + 1);
      }
      pieces.push_back(std::move(group));
      at = close + 1;
    }
    return pieces;
  }

  Result<void> expand_item(std::string_view item) {
    const std::vector<Piece> pieces = TFD_TRY(parse_item(item));
    const auto group = std::find_if(pieces.begin(), pieces.end(), [](const Piece& piece) { return piece.group; });
    if (compat_ == Compat::kTensorflow && group != pieces.end() && group + 1 != pieces.end())
      return wrong_part(item, "continues after its brackets, which TensorFlow doesn't understand");
    if (std::count_if(pieces.begin(), pieces.end(), [](const Piece& piece) { return piece.group; }) > kMostGroups)
      return wrong_part(item, fmt::format("has more than {} bracket groups", kMostGroups));
    std::size_t total = 1, longest = 0;
    for (const Piece& piece : pieces) {
      std::uint64_t count = 0;
      std::size_t width = piece.text.size();
      for (const Range& range : piece.ranges) {
        count = std::min<std::uint64_t>(count + range.size(), kMostHosts + 1);
        width = std::max(width, range.width);
      }
      if (piece.group) total = std::min<std::size_t>(total * count, kMostHosts + 1);
      longest += width;
    }
    if (longest > kLongestName)
      return wrong_part(item, fmt::format("is a name of more than {} characters", kLongestName));
    if (count_ + total > kMostHosts) return wrong(fmt::format("more than {} hosts", kMostHosts));
    if (total == 0) return {};
    count_ += total;
    std::string name;
    append(pieces, 0, name);
    return {};
  }

  /// One level a piece: kMostGroups bounds the depth.
  void append(const std::vector<Piece>& pieces, std::size_t at, std::string& name) {
    if (at == pieces.size()) {
      sink_(name);
      return;
    }
    const std::size_t length = name.size();
    if (!pieces[at].group) {
      name += pieces[at].text;
      append(pieces, at + 1, name);
      name.resize(length);
      return;
    }
    for (const Range& range : pieces[at].ranges) {
      for (std::uint64_t number = range.first; number <= range.last; number += range.step) {
        append_number(name, number, range.width);
        append(pieces, at + 1, name);
        name.resize(length);
      }
    }
  }

  static void append_number(std::string& name, std::uint64_t number, std::size_t width) {
    char digits[24];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
    const auto length = static_cast<std::size_t>(end - digits);
    if (length < width) name.append(width - length, '0');
    name.append(digits, length);
  }

  std::string_view whole_;
  Compat compat_;
  const HostSink& sink_;
  std::size_t count_ = 0;
};

}  // namespace

Result<void> each_host(std::string_view text, Compat compat, const HostSink& sink) {
  return Expander(text, compat, sink).run();
}

Result<std::vector<std::string>> expand_hostlist(std::string_view text, Compat compat) {
  std::vector<std::string> hosts;
  TFD_TRY(each_host(text, compat, [&](const std::string& host) { hosts.push_back(host); }));
  return hosts;
}

Result<std::vector<int>> expand_tasks_per_node(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return fail(Code::kInvalidArgument, "invalid tasks per node '{}': {}", shown(text), why);
  };
  std::vector<int> counts;
  std::string_view rest = text;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    std::string_view part = rest.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);

    const std::string whole_part = shown(part);
    std::string_view times = "1";
    if (const std::size_t open = part.find("(x"); open != std::string_view::npos && part.ends_with(')')) {
      times = part.substr(open + 2, part.size() - open - 3);
      part = part.substr(0, open);
    }
    if (!all_digits(part) || !all_digits(times)) return wrong(fmt::format("'{}' is neither N nor N(xM)", whole_part));
    int count = 0;
    std::uint64_t repeat = 0;
    if (std::from_chars(part.data(), part.data() + part.size(), count).ec != std::errc{} ||
        std::from_chars(times.data(), times.data() + times.size(), repeat).ec != std::errc{})
      return wrong(fmt::format("'{}' is too large", whole_part));
    if (repeat > kMostHosts || counts.size() + repeat > kMostHosts)
      return wrong(fmt::format("more than {} nodes", kMostHosts));
    counts.insert(counts.end(), repeat, count);
  }
  return counts;
}

}  // namespace tfd::resolve
