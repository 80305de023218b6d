// SPDX-License-Identifier: Apache-2.0
#include "tfd/task/epoch.hpp"

#include <unistd.h>

#include "tfd/base/environment.hpp"
#include "tfd/base/random.hpp"

namespace tfd::task {
namespace {

constexpr int kReignShift = 32;
constexpr std::uint64_t kMostReign = (std::uint64_t{1} << 20) - 1;  // so that an epoch is exact as a JSON number

}  // namespace

std::uint64_t make_first_epoch() { return ((random_bits() % kMostReign + 1) << kReignShift) | 1; }

bool has_same_issuer(std::uint64_t one, std::uint64_t other) { return one >> kReignShift == other >> kReignShift; }

bool is_older(std::uint64_t epoch, std::uint64_t than) { return has_same_issuer(epoch, than) && epoch < than; }

Claim make_claim() { return {.host = host_name(), .pid = ::getpid()}; }

}  // namespace tfd::task
