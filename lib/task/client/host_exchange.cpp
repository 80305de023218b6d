// SPDX-License-Identifier: Apache-2.0
#include "tfd/task/host_exchange.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::task {
namespace {

constexpr std::chrono::seconds kAnswers{60};          // timeout for a connected service
constexpr std::size_t kPart = std::size_t{60} << 10;  // bytes of a value; the service's limit is 64 KiB
constexpr std::int64_t kMostPieces = 1 << 20;

// Values above the service's limit are stored in parts: "KEY#1", "KEY#2", …, then KEY itself, whose value is the number
// of these, "2:", and the first part.
class CoordinatedExchange final : public function::HostExchange {
 public:
  CoordinatedExchange(CoordinationClient client, std::string prefix)
      : client_(std::move(client)), prefix_(std::move(prefix)) {}

  Result<void> put(const std::string& key, const std::string& value) override {
    std::size_t parts = 0;
    for (std::size_t at = kPart; at < value.size(); at += kPart)
      TFD_TRY(client_.put(part_of(key, ++parts), value.substr(at, kPart), Deadline::after(kAnswers)), printable(key));
    const std::string first = fmt::format("{}:", parts) + value.substr(0, kPart);
    TFD_TRY(client_.put(prefix_ + key, first, Deadline::after(kAnswers)), printable(key));
    return {};
  }
  Result<std::string> get(const std::string& key, Deadline deadline) override {
    auto state = TFD_TRY(client_.wait_for_key(prefix_ + key, 0, deadline), printable(key));
    if (state.version == 0) return fail(Code::kDeadlineExceeded, "no host has put '{}'", printable(key));
    return whole(key, state.value);
  }
  Result<std::string> try_get(const std::string& key) override {
    auto state = TFD_TRY(client_.get(prefix_ + key, Deadline::after(kAnswers)), printable(key));
    if (state.version == 0) return fail(Code::kNotFound, "no host has put '{}'", printable(key));
    return whole(key, state.value);
  }

 private:
  std::string part_of(const std::string& key, std::size_t part) const {
    return fmt::format("{}{}#{}", prefix_, key, part);
  }
  Result<std::string> whole(const std::string& key, const std::string& first) {
    const std::size_t colon = std::min(first.find(':'), first.size());
    const auto parts = TFD_TRY(parse_integer(first.substr(0, colon), 0, kMostPieces), printable(key));
    std::string value = first.substr(colon + 1);
    for (std::size_t part = 1; part <= static_cast<std::size_t>(parts); ++part) {
      const auto state = TFD_TRY(client_.get(part_of(key, part), Deadline::after(kAnswers)), printable(key));
      if (state.version == 0)
        return fail(Code::kDataLoss, "part {} of {} of '{}' is missing", part, parts, printable(key));
      value += state.value;
    }
    return value;
  }

  const CoordinationClient client_;
  const std::string prefix_;
};

}  // namespace

std::shared_ptr<function::HostExchange> make_host_exchange(CoordinationClient client, std::string prefix) {
  return std::make_shared<CoordinatedExchange>(std::move(client), std::move(prefix) + "/");
}

}  // namespace tfd::task
