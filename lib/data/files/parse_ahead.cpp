// SPDX-License-Identifier: Apache-2.0
#include "parse_ahead.hpp"

#include <algorithm>

#include "tfd/base/cpus.hpp"

namespace tfd::data {
namespace {

constexpr std::size_t kStepsBeforeThreads = 2;  // small files aren't worth any

}  // namespace

std::size_t Parsing::default_threads() {
  const auto processors = static_cast<std::size_t>(usable_cpus());
  return processors < 2 ? 0 : std::min<std::size_t>(processors, 8);
}

ParseAhead::ParseAhead(FilePieces pieces, std::function<void(Step&)> parse, Parsing parsing)
    : parsing_(parsing),
      parse_(std::move(parse)),
      pieces_(std::move(pieces)),
      ahead_({.take = [this] { return pieces_.next(); },
              .make = parse_,
              .is_last = [](const Step& step) { return step.is_last || step.error; },
              .bytes = [](const Step& step) { return step.piece ? step.piece->end : 0; }},
             {.threads = parsing.threads, .bytes = parsing.ahead_bytes}) {}

Step ParseAhead::next() {
  if (parsing_.threads > 0 && begun_ >= kStepsBeforeThreads) return ahead_.next();
  ++begun_;
  Step step = pieces_.next();
  parse_(step);
  return step;
}

}  // namespace tfd::data
